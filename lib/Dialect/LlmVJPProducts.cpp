//===- LlmVJPProducts.cpp - Gradients of matmuls, tables and norms ---------===//

#include "LlmVJP.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace llmmem::llm;

LogicalResult llmmem::llm::expectFirstResultOnly(Operation *op, Gradients resultGradients) {
  for (auto [number, gradient] : llvm::enumerate(resultGradients.drop_front()))
    if (gradient)
      return op->emitOpError() << "has no rule for the gradient of result " << number + 1
                               << ", a statistic; let the loss depend on result 0 alone";
  return success();
}

//===----------------------------------------------------------------------===//
// Matmuls and tables
//===----------------------------------------------------------------------===//

static WeightLayout transposed(WeightLayout layout) {
  return layout == WeightLayout::InOut ? WeightLayout::OutIn : WeightLayout::InOut;
}

LogicalResult llmmem::llm::expectFrozen(Operation *op, StringRef name, ValueRange packed,
                                        Flags active) {
  for (OpOperand &use : op->getOpOperands())
    if (active[use.getOperandNumber()] && llvm::is_contained(packed, use.get()))
      return op->emitOpError() << "would train its " << name
                               << ", which is held in fewer bits; mark it and its scales as '"
                               << LlmDialect::kFrozen << "'";
  return success();
}

LogicalResult LinearOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                 OperandGradients operandGradients) {
  Value dy = resultGradients[0];
  if (getActivationGroup())
    return emitOpError("rounds its activations, which has no gradient; leave 'activation_group' "
                       "(--activations) out of what is trained");
  if (getScales() && failed(expectFrozen(*this, "weight", {getWeight(), getScales()}, active)))
    return failure();
  if (active[1])
    operandGradients[1] =
        LinearWeightGradOp::create(builder, getLoc(), getWeight().getType(), getX(), dy,
                                   /*into=*/Value(), getLayout());
  if (getBias() && active[2])
    operandGradients[2] =
        SumRowsOp::create(builder, getLoc(), getBias().getType(), dy, /*into=*/Value());
  if (active[0])
    operandGradients[0] =
        LinearOp::create(builder, getLoc(), getX().getType(), dy, getWeight(), /*bias=*/Value(),
                         getScales(), getZeros(), transposed(getLayout()),
                         /*activation_group=*/IntegerAttr());
  return success();
}

LogicalResult EmbeddingOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                    OperandGradients operandGradients) {
  if (getScales() && failed(expectFrozen(*this, "table", {getTable(), getScales()}, active)))
    return failure();
  if (active[1])
    operandGradients[1] =
        EmbeddingGradOp::create(builder, getLoc(), getTable().getType(), getIds(),
                                resultGradients[0], /*into=*/Value(), getVocabularyAttr());
  return success();
}

LogicalResult AddPositionsOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                       OperandGradients operandGradients) {
  Value dy = resultGradients[0];
  if (active[1])
    operandGradients[1] = PositionsGradOp::create(builder, getLoc(), getTable().getType(), dy,
                                                  /*into=*/Value(), getAxesAttr());
  if (active[0])
    operandGradients[0] = dy;
  return success();
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

LogicalResult LayerNormOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                    OperandGradients operandGradients) {
  if (failed(expectFirstResultOnly(*this, resultGradients)))
    return failure();
  Value dy = resultGradients[0];
  if (active[1])
    operandGradients[1] = NormWeightGradOp::create(builder, getLoc(), getWeight().getType(), getX(),
                                                   dy, getRstd(), getMean(), /*into=*/Value());
  if (active[2])
    operandGradients[2] =
        SumRowsOp::create(builder, getLoc(), getBias().getType(), dy, /*into=*/Value());
  if (active[0])
    operandGradients[0] = LayerNormGradOp::create(builder, getLoc(), getX().getType(), getX(),
                                                  getMean(), getRstd(), getWeight(), dy);
  return success();
}

LogicalResult RmsNormOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                  OperandGradients operandGradients) {
  if (failed(expectFirstResultOnly(*this, resultGradients)))
    return failure();
  Value dy = resultGradients[0];
  if (active[1])
    operandGradients[1] =
        NormWeightGradOp::create(builder, getLoc(), getWeight().getType(), getX(), dy, getRstd(),
                                 /*mean=*/Value(), /*into=*/Value());
  if (active[0])
    operandGradients[0] = RmsNormGradOp::create(builder, getLoc(), getX().getType(), getX(),
                                                getRstd(), getWeight(), dy, getOffsetAttr());
  return success();
}

//===----------------------------------------------------------------------===//
// Loss
//===----------------------------------------------------------------------===//

LogicalResult CrossEntropyOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                       OperandGradients operandGradients) {
  if (failed(expectFirstResultOnly(*this, resultGradients)))
    return failure();
  if (active[0])
    operandGradients[0] = CrossEntropyGradOp::create(
        builder, getLoc(), getLogits().getType(), getLogits(), getLse(), getTargets(),
        resultGradients[0], getCount(), getIgnoreIndexAttr(), VocabularyAttr(),
        getLabelSmoothingAttr(), getZLossAttr());
  return success();
}

// Only the logits have a gradient: the formula includes their effect on lse.
Value TargetLossOp::buildGradient(OpBuilder &builder, Value dy) {
  return CrossEntropyGradOp::create(builder, getLoc(), getLogits().getType(), getLogits(), getLse(),
                                    getTargets(), dy, getCount(), getIgnoreIndexAttr(),
                                    getVocabularyAttr(), getLabelSmoothingAttr(), getZLossAttr());
}
