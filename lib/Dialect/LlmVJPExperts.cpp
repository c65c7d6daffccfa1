//===- LlmVJPExperts.cpp - Gradients of mixtures of experts ----------------===//

#include "LlmVJP.h"

using namespace mlir;
using namespace llmmem::llm;

/// No small step changes which experts are chosen, so the weights alone have a gradient.
LogicalResult RouteOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                OperandGradients operandGradients) {
  if (failed(expectFirstResultOnly(*this, resultGradients)))
    return failure();
  if (active[0])
    operandGradients[0] = RouteGradOp::create(
        builder, getLoc(), getLogits().getType(), getLogits(), getExperts(), getLse(),
        resultGradients[0], getLogisticAttr(), getNormalizedAttr(), getFactorAttr());
  return success();
}

LogicalResult DispatchOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                   OperandGradients operandGradients) {
  Value dy = resultGradients[0];
  // Of y[e, b, c] = weights[b, s, j] x[b, s], what llm.combine reads as rows of experts is dy here,
  // and what it gets as the gradient of a token is x.
  if (getWeights() && active[3])
    operandGradients[3] = CombineWeightsGradOp::create(builder, getLoc(), getWeights().getType(),
                                                       dy, getPlaces(), getX());
  if (active[0])
    operandGradients[0] = CombineOp::create(builder, getLoc(), getX().getType(), dy, getPlaces(),
                                            getChoices(), getWeights());
  return success();
}

LogicalResult CombineOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                  OperandGradients operandGradients) {
  Value dy = resultGradients[0];
  if (getWeights() && active[3])
    operandGradients[3] = CombineWeightsGradOp::create(builder, getLoc(), getWeights().getType(),
                                                       getX(), getPlaces(), dy);
  if (active[0])
    operandGradients[0] = DispatchOp::create(builder, getLoc(), getX().getType(), dy, getPlaces(),
                                             getChoices(), getWeights());
  return success();
}

LogicalResult GroupedLinearOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                        OperandGradients operandGradients) {
  Value dy = resultGradients[0];
  if (getScales() && failed(expectFrozen(*this, "weight", {getWeight(), getScales()}, active)))
    return failure();
  if (active[1])
    operandGradients[1] =
        GroupedWeightGradOp::create(builder, getLoc(), getWeight().getType(), getX(), dy,
                                    /*into=*/Value(), getLayout());
  auto transposed = getLayout() == WeightLayout::InOut ? WeightLayout::OutIn : WeightLayout::InOut;
  if (active[0])
    operandGradients[0] =
        GroupedLinearOp::create(builder, getLoc(), getX().getType(), dy, getWeight(), getScales(),
                                getZeros(), getChoices(), transposed);
  return success();
}

LogicalResult AddGroupBiasOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                       OperandGradients operandGradients) {
  if (active[1])
    operandGradients[1] = SumGroupRowsOp::create(builder, getLoc(), getBias().getType(),
                                                 resultGradients[0], /*into=*/Value());
  if (active[0])
    operandGradients[0] = resultGradients[0];
  return success();
}

LogicalResult GateRowsOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                   OperandGradients operandGradients) {
  Value dy = resultGradients[0];
  if (active[1])
    operandGradients[1] =
        GateRowsGradOp::create(builder, getLoc(), getGate().getType(), getX(), getGate(), dy);
  if (active[0])
    operandGradients[0] = GateRowsOp::create(builder, getLoc(), getX().getType(), dy, getGate());
  return success();
}

/// Only the logits have a gradient: the formula includes their effect on lse.
LogicalResult RouterLoadOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                     OperandGradients operandGradients) {
  if (active[0] && resultGradients[1])
    operandGradients[0] = RouterLoadGradOp::create(builder, getLoc(), getLogits().getType(),
                                                   getLogits(), getLse(), resultGradients[1]);
  return success();
}

LogicalResult BalanceLossOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                      OperandGradients operandGradients) {
  if (active[1])
    operandGradients[1] =
        BalanceLossGradOp::create(builder, getLoc(), getSums().getType(), getCounts(),
                                  resultGradients[0], getCoefficientAttr(), getTokensAttr());
  return success();
}
