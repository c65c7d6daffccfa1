//===- LlmVerifyBackward.cpp - Verifiers of gradients ----------------------===//

#include "LlmVerify.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

LogicalResult LinearWeightGradOp::verify() {
  if (failed(expectRank(*this, "x", getX(), 1)) || failed(expectRank(*this, "dy", getDy(), 1)) ||
      failed(expectSameElement(*this, {getX(), getDy(), getDw()})) ||
      failed(expectInto(*this, getInto(), getDw())))
    return failure();
  if (leadingDims(getX()) != leadingDims(getDy()))
    return emitOpError() << "'x' is [" << tensorType(getX()).getShape() << "] and 'dy' is ["
                         << tensorType(getDy()).getShape()
                         << "]: all but the last dimension must agree";
  int64_t in = lastDim(getX()), out = lastDim(getDy());
  if (getLayout() == WeightLayout::InOut)
    return expectShape(*this, "dw", getDw(), {in, out});
  return expectShape(*this, "dw", getDw(), {out, in});
}

LogicalResult SumRowsOp::verify() {
  if (failed(expectRank(*this, "dy", getDy(), 1)) ||
      failed(expectSameElement(*this, {getDy(), getDb()})) ||
      failed(expectInto(*this, getInto(), getDb())))
    return failure();
  return expectShape(*this, "db", getDb(), {lastDim(getDy())});
}

LogicalResult EmbeddingGradOp::verify() {
  if (failed(expectRank(*this, "dy", getDy(), 1)) ||
      failed(expectSameElement(*this, {getDy(), getDtable()})) ||
      failed(expectInto(*this, getInto(), getDtable())) ||
      failed(expectShape(*this, "ids", getIds(), leadingDims(getDy()))))
    return failure();
  ArrayRef<int64_t> table = tensorType(getDtable()).getShape();
  if (table.size() != 2 || table[1] != lastDim(getDy()))
    return emitOpError() << "'dtable' has shape [" << table << "], expected [vocabulary, "
                         << lastDim(getDy()) << "]";
  return expectVocabulary(*this, getVocabulary(), table[0]);
}

LogicalResult PositionsGradOp::verify() {
  if (failed(expectRank(*this, "dy", getDy(), 2)) ||
      failed(expectSameElement(*this, {getDy(), getDtable()})) ||
      failed(expectInto(*this, getInto(), getDtable())))
    return failure();
  return expectPositions(*this, "dtable", getDtable(), getDy(), getAxes());
}

LogicalResult NormWeightGradOp::verify() {
  if (failed(expectRank(*this, "x", getX(), 1)) ||
      failed(expectSameElement(*this, {getX(), getDw()})) ||
      failed(expectInto(*this, getInto(), getDw())) ||
      failed(expectStatistic(*this, "rstd", getRstd(), leadingDims(getX()), getX())))
    return failure();
  if (getMean() && failed(expectStatistic(*this, "mean", getMean(), leadingDims(getX()), getX())))
    return failure();
  return expectShape(*this, "dw", getDw(), {lastDim(getX())});
}

LogicalResult LayerNormGradOp::verify() {
  if (failed(expectRank(*this, "x", getX(), 1)) ||
      failed(expectSameElement(*this, {getX(), getWeight()})) ||
      failed(expectShape(*this, "weight", getWeight(), {lastDim(getX())})) ||
      failed(expectStatistic(*this, "mean", getMean(), leadingDims(getX()), getX())))
    return failure();
  return expectStatistic(*this, "rstd", getRstd(), leadingDims(getX()), getX());
}

LogicalResult RmsNormGradOp::verify() {
  if (failed(expectRank(*this, "x", getX(), 1)) ||
      failed(expectAtLeast(*this, "offset", getOffset(), 0.0)) ||
      failed(expectSameElement(*this, {getX(), getWeight()})) ||
      failed(expectShape(*this, "weight", getWeight(), {lastDim(getX())})))
    return failure();
  return expectStatistic(*this, "rstd", getRstd(), leadingDims(getX()), getX());
}

LogicalResult SiluGradOp::verify() { return expectPositive(*this, "alpha", getAlpha()); }
LogicalResult ClampGradOp::verify() { return expectBounds(*this, getLow(), getHigh()); }

LogicalResult SoftcapGradOp::verify() { return expectPositive(*this, "cap", getCap()); }

LogicalResult CrossEntropyGradOp::verify() {
  if (failed(expectLossTerms(*this, getLabelSmoothing(), getZLoss())) ||
      failed(expectRank(*this, "logits", getLogits(), 1)) ||
      failed(expectVocabulary(*this, getVocabulary(), lastDim(getLogits()))) ||
      failed(expectShape(*this, "targets", getTargets(), leadingDims(getLogits()))) ||
      failed(expectStatistic(*this, "dloss", getDloss(), {}, getLogits())))
    return failure();
  return expectStatistic(*this, "lse", getLse(), leadingDims(getLogits()), getLogits());
}
