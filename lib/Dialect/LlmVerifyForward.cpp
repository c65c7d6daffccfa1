//===- LlmVerifyForward.cpp - Verifiers of the forward ops -----------------===//

#include "LlmVerify.h"
#include "llmmem/Dialect/FewerBits.h"
#include "llmmem/Support/Count.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

//===----------------------------------------------------------------------===//
// Shared checks
//===----------------------------------------------------------------------===//

LogicalResult llm::expectShape(Operation *op, StringRef name, Value value,
                               ArrayRef<int64_t> shape) {
  if (tensorType(value).getShape() == shape)
    return success();
  auto diagnostic = op->emitOpError()
                    << "'" << name << "' has shape [" << tensorType(value).getShape()
                    << "], expected [" << shape << "]";
  return diagnostic;
}

LogicalResult llm::expectRank(Operation *op, StringRef name, Value value, int64_t least) {
  if (tensorType(value).getRank() >= least)
    return success();
  return op->emitOpError() << "'" << name << "' has rank " << tensorType(value).getRank()
                           << ", expected at least " << least;
}

LogicalResult llm::expectPositions(Operation *op, StringRef name, Value table, Value x,
                                   std::optional<ArrayAttr> axes) {
  if (axes && failed(expectAxes(op, *axes)))
    return failure();
  int64_t ranks = axes ? groupSizeOf(op, *axes) : 1;
  Count positions = Count(ranks) * tensorType(x).getShape().end()[-2];
  if (positions.isTooMany())
    return op->emitOpError("has more than 2^63 positions on all ranks together; make the "
                           "sequence or the mesh smaller");
  ArrayRef<int64_t> shape = tensorType(table).getShape();
  if (shape.size() == 2 && shape[0] >= positions && shape[1] == lastDim(x))
    return success();
  return op->emitOpError() << "'" << name << "' has shape [" << shape << "], expected at least "
                           << int64_t(positions) << " rows of " << lastDim(x);
}

LogicalResult llm::expectSameElement(Operation *op, ValueRange values) {
  Type element;
  for (Value value : values) {
    if (!value)
      continue;
    Type other = tensorType(value).getElementType();
    if (!element)
      element = other;
    else if (element != other)
      return op->emitOpError() << "mixes element types " << element << " and " << other
                               << "; insert llm.cast";
  }
  return success();
}

LogicalResult llm::expectStatistic(Operation *op, StringRef name, Value value,
                                   ArrayRef<int64_t> shape, Value of) {
  FloatType wide = wideTypeFor(tensorType(of).getElementType());
  if (tensorType(value).getElementType() != wide)
    return op->emitOpError() << "'" << name << "' has element type "
                             << tensorType(value).getElementType() << ", expected " << wide;
  return expectShape(op, name, value, shape);
}

LogicalResult llm::expectDropout(Operation *op, double p, Value seed) {
  auto random = cast<RandomOpInterface>(op);
  if (failed(expectSharding(op, cast_or_null<ShardingAttr>(random.getSampleSharding()),
                            static_cast<int64_t>(random.getSampleShape().size()))))
    return failure();
  if (!(p >= 0.0 && p < 1.0))
    return op->emitOpError() << "has dropout probability " << p << ", expected 0 <= p < 1";
  if (p > 0.0 && !seed)
    return op->emitOpError() << "drops out but has no seed; add seed(%seed)";
  if (!seed)
    return success();
  // Four words also say which micro-batch samples.
  bool isOfMicroBatch = tensorType(seed).getNumElements() == 4;
  return expectShape(op, "seed", seed, {isOfMicroBatch ? 4 : 2});
}

LogicalResult llm::expectAtLeast(Operation *op, StringRef name, const llvm::APFloat &number,
                                 double least) {
  if (number.isFinite() && number.convertToDouble() >= least)
    return success();
  return op->emitOpError() << "has " << name << " " << number.convertToDouble()
                           << ", expected a finite number of at least " << least;
}

LogicalResult llm::expectPositive(Operation *op, StringRef name, const llvm::APFloat &number) {
  if (number.isFinite() && number.convertToDouble() > 0.0)
    return success();
  return op->emitOpError() << "has " << name << " " << number.convertToDouble()
                           << ", expected a finite number above 0";
}

LogicalResult llm::expectBounds(Operation *op, std::optional<llvm::APFloat> low,
                                std::optional<llvm::APFloat> high) {
  if (!low && !high)
    return op->emitOpError("has no bound; expected 'low', 'high', or both");
  for (const std::optional<llvm::APFloat> &bound : {low, high})
    if (bound && !bound->isFinite())
      return op->emitOpError("has a bound that is not finite");
  if (!low || !high || !(low->convertToDouble() > high->convertToDouble()))
    return success();
  return op->emitOpError() << "has 'low' " << low->convertToDouble() << " above 'high' "
                           << high->convertToDouble();
}

LogicalResult llm::expectInto(Operation *op, Value into, Value result) {
  if (!into || into.getType() == result.getType())
    return success();
  return op->emitOpError() << "'into' has type " << into.getType() << ", expected the result's "
                           << result.getType();
}

//===----------------------------------------------------------------------===//
// Matmuls and tables
//===----------------------------------------------------------------------===//

/// This checks a product whose activations are rounded as well.
static LogicalResult expectActivationGroups(LinearOp op) {
  std::optional<int64_t> group = op.getActivationGroup();
  if (!group)
    return success();
  Type element = tensorType(op.getWeight()).getElementType();
  if (!op.getScales() || !element.isInteger())
    return op.emitOpError() << "rounds its activations for a weight of " << element
                            << "; expected i4 or i8, or no 'activation_group'";
  if (*group < kActivationStep || *group > kMostActivations || *group % kActivationStep != 0)
    return op.emitOpError() << "has 'activation_group' " << *group << ", expected a multiple of "
                            << kActivationStep << " up to " << kMostActivations;
  bool isInOut = op.getLayout() == WeightLayout::InOut;
  int64_t divided = isInOut ? lastDim(op.getX()) : groupSizeOf(op.getWeight(), op.getScales());
  if (divided % *group == 0)
    return success();
  return op.emitOpError() << "has 'activation_group' " << *group << ", which does not divide the "
                          << divided
                          << (isInOut ? " elements of a row of 'x'"
                                      : " elements of a group of 'weight'");
}

LogicalResult LinearOp::verify() {
  if (failed(expectRank(*this, "x", getX(), 1)) || failed(expectRank(*this, "y", getY(), 1)) ||
      failed(expectSameElement(*this, {getX(), getBias(), getY()})))
    return failure();
  int64_t in = lastDim(getX()), out = lastDim(getY());
  SmallVector<int64_t> weight = getLayout() == WeightLayout::InOut ? SmallVector<int64_t>{in, out}
                                                                   : SmallVector<int64_t>{out, in};
  if (failed(expectShape(*this, "weight", getWeight(), weight)) ||
      failed(expectHeld(*this, "weight", getWeight(), getScales(), getZeros(),
                        tensorType(getX()).getElementType(), kGroupStep)))
    return failure();
  if (getBias() && failed(expectShape(*this, "bias", getBias(), {out})))
    return failure();
  SmallVector<int64_t> result(leadingDims(getX()));
  result.push_back(out);
  return failed(expectActivationGroups(*this)) ? failure()
                                               : expectShape(*this, "y", getY(), result);
}

LogicalResult EmbeddingOp::verify() {
  if (tensorType(getTable()).getRank() != 2)
    return emitOpError("'table' must be [vocabulary, width]");
  if (!isPacked(tensorType(getTable()).getElementType()) &&
      failed(expectSameElement(*this, {getTable(), getY()})))
    return failure();
  if (failed(expectHeld(*this, "table", getTable(), getScales(), getZeros(),
                        tensorType(getY()).getElementType(), kGroupStep)))
    return failure();
  if (failed(expectVocabulary(*this, getVocabulary(), tensorType(getTable()).getDimSize(0))))
    return failure();
  SmallVector<int64_t> shape(tensorType(getIds()).getShape());
  shape.push_back(lastDim(getTable()));
  return expectShape(*this, "y", getY(), shape);
}

LogicalResult AddPositionsOp::verify() {
  if (failed(expectRank(*this, "x", getX(), 2)) ||
      failed(expectSameElement(*this, {getX(), getTable()})))
    return failure();
  return expectPositions(*this, "table", getTable(), getX(), getAxes());
}

LogicalResult AddBiasOp::verify() {
  if (failed(expectRank(*this, "x", getX(), 1)) ||
      failed(expectSameElement(*this, {getX(), getBias()})))
    return failure();
  return expectShape(*this, "bias", getBias(), {lastDim(getX())});
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

LogicalResult LayerNormOp::verify() {
  if (failed(expectRank(*this, "x", getX(), 1)) ||
      failed(expectAtLeast(*this, "eps", getEps(), 0.0)) ||
      failed(expectSameElement(*this, {getX(), getWeight(), getBias()})) ||
      failed(expectShape(*this, "weight", getWeight(), {lastDim(getX())})) ||
      failed(expectShape(*this, "bias", getBias(), {lastDim(getX())})) ||
      failed(expectStatistic(*this, "mean", getMean(), leadingDims(getX()), getX())))
    return failure();
  return expectStatistic(*this, "rstd", getRstd(), leadingDims(getX()), getX());
}

LogicalResult RmsNormOp::verify() {
  if (failed(expectRank(*this, "x", getX(), 1)) ||
      failed(expectAtLeast(*this, "eps", getEps(), 0.0)) ||
      failed(expectAtLeast(*this, "offset", getOffset(), 0.0)) ||
      failed(expectSameElement(*this, {getX(), getWeight()})) ||
      failed(expectShape(*this, "weight", getWeight(), {lastDim(getX())})))
    return failure();
  return expectStatistic(*this, "rstd", getRstd(), leadingDims(getX()), getX());
}

//===----------------------------------------------------------------------===//
// Elements and shape
//===----------------------------------------------------------------------===//

LogicalResult ScaleOp::verify() {
  if (getFactor().isFinite())
    return success();
  return emitOpError("needs a finite factor");
}

LogicalResult SiluOp::verify() { return expectPositive(*this, "alpha", getAlpha()); }
LogicalResult ClampOp::verify() { return expectBounds(*this, getLow(), getHigh()); }

LogicalResult SoftcapOp::verify() { return expectPositive(*this, "cap", getCap()); }

LogicalResult DropoutOp::verify() {
  return expectDropout(*this, getP().convertToDouble(), getSeed());
}

LogicalResult StoredDropoutOp::verify() {
  if (failed(expectDropout(*this, getP().convertToDouble(), getSeed())))
    return failure();
  return expectShape(*this, "mask", getMask(), tensorType(getX()).getShape());
}

LogicalResult ApplyMaskOp::verify() {
  double p = getP().convertToDouble();
  if (!(p >= 0.0 && p < 1.0))
    return emitOpError() << "has dropout probability " << p << ", expected 0 <= p < 1";
  return expectShape(*this, "mask", getMask(), tensorType(getX()).getShape());
}

LogicalResult CastOp::verify() {
  return expectShape(*this, "y", getY(), tensorType(getX()).getShape());
}

/// `getNumElements` of large types may wrap to those of small ones.
static Count countElements(Value value) {
  Count elements = 1;
  for (int64_t dimension : tensorType(value).getShape())
    elements *= dimension;
  return elements;
}

LogicalResult ReshapeOp::verify() {
  Count given = countElements(getX()), shown = countElements(getY());
  if (given.isTooMany() || shown.isTooMany())
    return emitOpError("is a view of more than 2^63 elements; make the batch, the sequence or the "
                       "vocabulary smaller");
  if (given != shown)
    return emitOpError() << "changes the number of elements from " << int64_t(given) << " to "
                         << int64_t(shown);
  return expectSameElement(*this, {getX(), getY()});
}

/// `heads` must be [..., some heads, width] where `row` is [..., width].
static LogicalResult expectHeadsOf(Operation *op, Value row, Value heads) {
  ArrayRef<int64_t> shape = tensorType(heads).getShape();
  if (failed(expectRank(op, "the heads", heads, 2)) || failed(expectSameElement(op, {row, heads})))
    return failure();
  SmallVector<int64_t> expected(shape.drop_back(2));
  expected.push_back(shape.back());
  return expectShape(op, "the row", row, expected);
}
LogicalResult RepeatHeadsOp::verify() { return expectHeadsOf(*this, getX(), getY()); }
LogicalResult SumHeadsOp::verify() { return expectHeadsOf(*this, getY(), getX()); }

/// The columns of `parts` must add up to those of `whole`, and all else must be equal.
static LogicalResult verifyColumns(Operation *op, Value whole, ValueRange parts) {
  if (failed(expectRank(op, "the whole", whole, 1)))
    return failure();
  if (parts.empty())
    return op->emitOpError("has no parts");
  Count columns;
  for (Value part : parts) {
    if (failed(expectRank(op, "a part", part, 1)) || failed(expectSameElement(op, {whole, part})))
      return failure();
    if (leadingDims(part) != leadingDims(whole))
      return op->emitOpError() << "has a part of shape [" << tensorType(part).getShape()
                               << "] of a whole of shape [" << tensorType(whole).getShape() << "]";
    columns += lastDim(part);
  }
  if (columns.isTooMany())
    return op->emitOpError("has parts of more than 2^63 columns together; make them narrower");
  if (columns != lastDim(whole))
    return op->emitOpError() << "has parts of " << int64_t(columns)
                             << " columns together, expected " << lastDim(whole);
  return success();
}

LogicalResult SplitOp::verify() { return verifyColumns(*this, getX(), getParts()); }
LogicalResult ConcatOp::verify() { return verifyColumns(*this, getY(), getParts()); }

LogicalResult LogSumExpOp::verify() {
  if (failed(expectVocabulary(*this, getVocabulary(), lastDim(getX()))))
    return failure();
  return expectStatistic(*this, "lse", getLse(), leadingDims(getX()), getX());
}

LogicalResult llmmem::llm::expectLossTerms(Operation *op, const llvm::APFloat &labelSmoothing,
                                           const llvm::APFloat &zLoss) {
  double share = labelSmoothing.convertToDouble();
  if (!(share >= 0.0 && share < 1.0))
    return op->emitOpError() << "has label_smoothing " << share
                             << ", expected 0 <= label_smoothing < 1";
  return expectAtLeast(op, "z_loss", zLoss, 0.0);
}

LogicalResult TargetLossOp::verify() {
  if (failed(expectLossTerms(*this, getLabelSmoothing(), getZLoss())) ||
      failed(expectVocabulary(*this, getVocabulary(), lastDim(getLogits()))) ||
      failed(expectShape(*this, "targets", getTargets(), leadingDims(getLogits()))) ||
      failed(expectStatistic(*this, "loss", getLoss(), {}, getLogits())))
    return failure();
  return expectStatistic(*this, "lse", getLse(), leadingDims(getLogits()), getLogits());
}

LogicalResult CrossEntropyOp::verify() {
  if (failed(expectLossTerms(*this, getLabelSmoothing(), getZLoss())) ||
      failed(expectRank(*this, "logits", getLogits(), 1)) ||
      failed(expectShape(*this, "targets", getTargets(), leadingDims(getLogits()))) ||
      failed(expectStatistic(*this, "loss", getLoss(), {}, getLogits())))
    return failure();
  return expectStatistic(*this, "lse", getLse(), leadingDims(getLogits()), getLogits());
}
