//===- LlmVJPCollectives.cpp - Gradients of what ranks do together ---------===//
//
// A value that is one for all ranks of a group has one gradient for all; of any other, each rank
// has the gradient of its own contribution (docs/Design/Ranks.md). So all_reduce and replica are
// each other's, and the other rules are transposes: sum over ranks of <dy, y> = sum over ranks of
// <dx, x>.
//
//===----------------------------------------------------------------------===//

#include "LlmVJP.h"

using namespace mlir;
using namespace llmmem::llm;

LogicalResult AllReduceOp::buildVJP(OpBuilder &, Gradients resultGradients, Flags,
                                    OperandGradients &operandGradients) {
  operandGradients.assign({resultGradients[0]});
  return success();
}

LogicalResult ReplicaOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                  OperandGradients &operandGradients) {
  operandGradients.assign(active.size(), Value());
  if (active[0])
    operandGradients[0] = AllReduceOp::create(builder, getLoc(), resultGradients[0], getAxes());
  return success();
}

// What the destination held before is not read.
LogicalResult AllGatherOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                    OperandGradients &operandGradients) {
  operandGradients.assign(active.size(), Value());
  if (active[0])
    operandGradients[0] = ReduceScatterOp::create(builder, getLoc(), getX().getType(),
                                                  resultGradients[0], getAxes(), getDimension());
  return success();
}

LogicalResult ReduceScatterOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                        OperandGradients &operandGradients) {
  operandGradients.assign(active.size(), Value());
  if (active[0])
    operandGradients[0] =
        AllGatherOp::create(builder, getLoc(), getX().getType(), resultGradients[0],
                            /*destination=*/Value(), getAxes(), getDimension());
  return success();
}

LogicalResult BroadcastOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                    OperandGradients &operandGradients) {
  operandGradients.assign(active.size(), Value());
  if (active[0])
    operandGradients[0] =
        ReduceOp::create(builder, getLoc(), resultGradients[0], getAxes(), getRoot());
  return success();
}

LogicalResult ReduceOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                 OperandGradients &operandGradients) {
  operandGradients.assign(active.size(), Value());
  if (active[0])
    operandGradients[0] =
        BroadcastOp::create(builder, getLoc(), resultGradients[0], getAxes(), getRoot());
  return success();
}

LogicalResult AllToAllOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                   OperandGradients &operandGradients) {
  operandGradients.assign(active.size(), Value());
  if (active[0])
    operandGradients[0] =
        AllToAllOp::create(builder, getLoc(), getX().getType(), resultGradients[0], getAxes(),
                           /*split=*/getConcat(), /*concat=*/getSplit());
  return success();
}

LogicalResult SendReceiveOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                      OperandGradients &operandGradients) {
  operandGradients.assign(active.size(), Value());
  if (active[0])
    operandGradients[0] = SendReceiveOp::create(builder, getLoc(), resultGradients[0], getAxes(),
                                                -static_cast<int64_t>(getShift()), getWraps());
  return success();
}
