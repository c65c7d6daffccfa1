//===- LlmVJPAttention.cpp - Gradients of attention, fused and written out -===//

#include "LlmVJP.h"

using namespace mlir;
using namespace llmmem::llm;

// A rotation's transpose is its inverse, and a magnitude is its own transpose.
Value RopeOp::buildGradient(OpBuilder &builder, Value dy) {
  return RopeOp::create(builder, getLoc(), getX().getType(), dy, getPositions(), getHeadsAttr(),
                        getThetaAttr(), getScalingAttr(),
                        getInverse() ? UnitAttr() : builder.getUnitAttr(), getRotaryAttr(),
                        getInterleavedAttr());
}

// The seed and the key sample the forward's mask again, so no mask is kept.
LogicalResult AttentionOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                    OperandGradients operandGradients) {
  if (failed(expectFirstResultOnly(*this, resultGradients)))
    return failure();
  auto gradient = AttentionGradOp::create(
      builder, getLoc(), getQ().getType(), getK().getType(), getV().getType(), getQ(), getK(),
      getV(), getOut(), getLse(), resultGradients[0], getPositions(), getSeed(), getHeadsAttr(),
      getKvHeadsAttr(), getScaleAttr(), getWindowAttr(), getPAttr(), getKeyAttr(),
      getShardingAttr(), getSoftcapAttr(), getBidirectionalAttr());
  // One pass computes all three; those not wanted have no reader.
  for (auto [number, value] : llvm::enumerate(gradient.getResults()))
    if (active[number])
      operandGradients[number] = value;
  if (getSinks() && active[3])
    operandGradients[3] =
        AttentionSinkGradOp::create(builder, getLoc(), getSinks().getType(), getSinks(), getOut(),
                                    getLse(), resultGradients[0], /*into=*/Value());
  return success();
}

LogicalResult AttentionScoresOp::buildVJP(OpBuilder &builder, Gradients resultGradients,
                                          Flags active, OperandGradients operandGradients) {
  Value ds = resultGradients[0];
  if (active[1])
    operandGradients[1] =
        AttentionValuesTransposedOp::create(builder, getLoc(), getK().getType(), ds, getQ(),
                                            getHeadsAttr(), getKvHeadsAttr(), getScaleAttr());
  if (active[0])
    operandGradients[0] =
        AttentionValuesOp::create(builder, getLoc(), getQ().getType(), ds, getK(), getHeadsAttr(),
                                  getKvHeadsAttr(), getScaleAttr());
  return success();
}

// dv comes first: the probabilities that it reads may then end before their gradient, which is as
// large, begins.
LogicalResult AttentionValuesOp::buildVJP(OpBuilder &builder, Gradients resultGradients,
                                          Flags active, OperandGradients operandGradients) {
  Value dy = resultGradients[0];
  if (active[1])
    operandGradients[1] = AttentionValuesTransposedOp::create(
        builder, getLoc(), getValues().getType(), getProbabilities(), dy, getHeadsAttr(),
        getKvHeadsAttr(), getScaleAttr());
  if (active[0])
    operandGradients[0] =
        AttentionScoresOp::create(builder, getLoc(), getProbabilities().getType(), dy, getValues(),
                                  getHeadsAttr(), getKvHeadsAttr(), getScaleAttr());
  return success();
}

// A score that was replaced has no influence.
Value CausalMaskOp::buildGradient(OpBuilder &builder, Value dy) {
  return CausalMaskOp::create(builder, getLoc(), getScores().getType(), dy,
                              builder.getF64FloatAttr(0.0), getWindowAttr());
}

Value SoftmaxOp::buildGradient(OpBuilder &builder, Value dy) {
  return SoftmaxGradOp::create(builder, getLoc(), getX().getType(), getY(), dy);
}
