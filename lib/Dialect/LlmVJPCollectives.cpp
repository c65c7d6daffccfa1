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

Value AllReduceOp::buildGradient(OpBuilder &, Value dy) { return dy; }

Value ReplicaOp::buildGradient(OpBuilder &builder, Value dy) {
  return AllReduceOp::create(builder, getLoc(), dy, getAxes());
}

// The previous contents of the destination are not read.
Value AllGatherOp::buildGradient(OpBuilder &builder, Value dy) {
  return ReduceScatterOp::create(builder, getLoc(), getX().getType(), dy, getAxes(),
                                 getDimension());
}

/// Builds the gradient of an op that leaves each rank its part of x.
template <typename PartsOp>
static Value gatherParts(PartsOp op, OpBuilder &builder, Value dy) {
  return AllGatherOp::create(builder, op.getLoc(), op.getX().getType(), dy,
                             /*destination=*/Value(), op.getAxes(), op.getDimension());
}

Value ReduceScatterOp::buildGradient(OpBuilder &builder, Value dy) {
  return gatherParts(*this, builder, dy);
}

// Ranks have parts of the one gradient of a value that is one for all.
Value PartOp::buildGradient(OpBuilder &builder, Value dy) {
  return gatherParts(*this, builder, dy);
}

Value BroadcastOp::buildGradient(OpBuilder &builder, Value dy) {
  return ReduceOp::create(builder, getLoc(), dy, getAxes(), getRoot());
}

Value ReduceOp::buildGradient(OpBuilder &builder, Value dy) {
  return BroadcastOp::create(builder, getLoc(), dy, getAxes(), getRoot());
}

Value AllToAllOp::buildGradient(OpBuilder &builder, Value dy) {
  return AllToAllOp::create(builder, getLoc(), getX().getType(), dy, getAxes(),
                            /*split=*/getConcat(), /*concat=*/getSplit());
}

Value SendReceiveOp::buildGradient(OpBuilder &builder, Value dy) {
  return SendReceiveOp::create(builder, getLoc(), dy, getAxes(), -static_cast<int64_t>(getShift()),
                               getWraps());
}

//===----------------------------------------------------------------------===//
// Buckets
//===----------------------------------------------------------------------===//

LogicalResult AllReduceBucketOp::buildVJP(OpBuilder &, Gradients resultGradients, Flags active,
                                          OperandGradients operandGradients) {
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
                           OperandGradients operandGradients, Destinations... destinations) {
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
                                              Flags active, OperandGradients operandGradients) {
  buildTranspose<AllGatherBucketOp>(builder, *this, getX(), resultGradients, active,
                                    operandGradients, /*destinations=*/ValueRange());
  return success();
}

LogicalResult AllGatherBucketOp::buildVJP(OpBuilder &builder, Gradients resultGradients,
                                          Flags active, OperandGradients operandGradients) {
  buildTranspose<ReduceScatterBucketOp>(builder, *this, getParts(), resultGradients, active,
                                        operandGradients);
  return success();
}
