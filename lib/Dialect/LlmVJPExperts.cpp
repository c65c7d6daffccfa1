//===- LlmVJPExperts.cpp - Gradients of mixtures of experts ----------------===//

#include "LlmVJP.h"
#include "mlir/IR/Diagnostics.h"

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

/// With weights the op is already a gradient.
static LogicalResult expectForward(Operation *op, Value weights, StringRef name) {
  if (!weights)
    return success();
  return op->emitOpError() << "with weights has no rule for its gradient; give the weights to "
                           << name;
}

LogicalResult DispatchOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                   OperandGradients operandGradients) {
  if (failed(expectForward(*this, getWeights(), "llm.combine")))
    return failure();
  if (active[0])
    operandGradients[0] = CombineOp::create(builder, getLoc(), getX().getType(), resultGradients[0],
                                            getPlaces(), getChoices(), /*weights=*/Value());
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
