//===- LlmVJPCollectives.cpp - Gradients of what ranks do together ---------===//
//
// A value that is one for all ranks of a group has one gradient for all. For any other value, each
// rank has the gradient of its own contribution (docs/Design/Ranks.md). So all_reduce and replica
// are each other's rules, and the other rules are transposes: sum over ranks of <dy, y> = sum over
// ranks of <dx, x>.
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

// The previous contents of the destination are not read.
LogicalResult AllGatherOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                    OperandGradients &operandGradients) {
  operandGradients.assign(active.size(), Value());
  if (active[0])
    operandGradients[0] = ReduceScatterOp::create(builder, getLoc(), getX().getType(),
                                                  resultGradients[0], getAxes(), getDimension());
  return success();
}

/// Builds the gradient of an op that leaves each rank its part of x.
template <typename PartsOp>
static LogicalResult gatherParts(PartsOp op, OpBuilder &builder, Gradients resultGradients,
                                 Flags active, OperandGradients &operandGradients) {
  operandGradients.assign(active.size(), Value());
  if (active[0])
    operandGradients[0] =
        AllGatherOp::create(builder, op.getLoc(), op.getX().getType(), resultGradients[0],
                            /*destination=*/Value(), op.getAxes(), op.getDimension());
  return success();
}

LogicalResult ReduceScatterOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                        OperandGradients &operandGradients) {
  return gatherParts(*this, builder, resultGradients, active, operandGradients);
}

// Ranks have parts of the one gradient of a value that is one for all.
LogicalResult PartOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                               OperandGradients &operandGradients) {
  return gatherParts(*this, builder, resultGradients, active, operandGradients);
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

//===----------------------------------------------------------------------===//
// Buckets
//===----------------------------------------------------------------------===//

LogicalResult AllReduceBucketOp::buildVJP(OpBuilder &, Gradients resultGradients, Flags active,
                                          OperandGradients &operandGradients) {
  operandGradients.assign(active.size(), Value());
  for (auto [number, gradient] : llvm::enumerate(resultGradients))
    if (active[number])
      operandGradients[number] = gradient;
  return success();
}

/// Builds the bucket that is the transpose of another, for only the values whose results have a
/// gradient.
template <typename Transpose, typename Bucket, typename... Destinations>
static void buildTranspose(OpBuilder &builder, Bucket op, ValueRange values,
                           ArrayRef<Value> resultGradients, ArrayRef<bool> active,
                           SmallVectorImpl<Value> &operandGradients, Destinations... destinations) {
  operandGradients.assign(active.size(), Value());
  SmallVector<unsigned> numbers;
  SmallVector<Value> given;
  SmallVector<Type> types;
  for (auto [number, gradient] : llvm::enumerate(resultGradients)) {
    if (!active[number] || !gradient)
      continue;
    numbers.push_back(number);
    given.push_back(gradient);
    types.push_back(values[number].getType());
  }
  if (given.empty())
    return;
  auto transpose = Transpose::create(builder, op.getLoc(), types, ValueRange(given),
                                     destinations..., op.getAxes());
  for (auto [number, result] : llvm::zip_equal(numbers, transpose->getResults()))
    operandGradients[number] = result;
}

LogicalResult ReduceScatterBucketOp::buildVJP(OpBuilder &builder, Gradients resultGradients,
                                              Flags active, OperandGradients &operandGradients) {
  buildTranspose<AllGatherBucketOp>(builder, *this, getX(), resultGradients, active,
                                    operandGradients, /*destinations=*/ValueRange());
  return success();
}

LogicalResult AllGatherBucketOp::buildVJP(OpBuilder &builder, Gradients resultGradients,
                                          Flags active, OperandGradients &operandGradients) {
  buildTranspose<ReduceScatterBucketOp>(builder, *this, getParts(), resultGradients, active,
                                        operandGradients);
  return success();
}
