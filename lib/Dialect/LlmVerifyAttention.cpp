//===- LlmVerifyAttention.cpp - Verifiers of attention and its gradients ---===//

#include "LlmVerify.h"
#include "llmmem/Dialect/FewerBits.h"
#include "mlir/IR/Diagnostics.h"
#include <cmath>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {
/// Holds the shapes that all attention ops agree on, checked once.
struct Heads {
  Operation *op;
  int64_t heads, kvHeads;

  /// `x` must be [batch, seq, count * d] with whole heads.
  LogicalResult expectHeads(StringRef name, Value x, int64_t count) const {
    if (tensorType(x).getRank() != 3)
      return op->emitOpError() << "'" << name << "' must be [batch, seq, width]";
    if (lastDim(x) % count != 0)
      return op->emitOpError() << "'" << name << "' has width " << lastDim(x)
                               << ", expected a multiple of " << count << " heads";
    return success();
  }

  LogicalResult verifyCounts() const {
    if (heads > 0 && kvHeads > 0 && heads % kvHeads == 0)
      return success();
    return op->emitOpError() << "has " << heads << " heads and " << kvHeads
                             << " key/value heads; the second must divide the first";
  }

  LogicalResult expectScale(const llvm::APFloat &scale) const {
    if (scale.isFinite())
      return success();
    return op->emitOpError() << "has scale " << scale.convertToDouble()
                             << ", expected a finite number";
  }

  /// `wide` must hold all heads and `narrow` the key/value heads; they must agree on batch, seq and
  /// head size.
  LogicalResult verifyPair(StringRef wideName, Value wide, StringRef narrowName,
                           Value narrow) const {
    if (failed(verifyShapes(wideName, wide, narrowName, narrow)))
      return failure();
    return expectSameElement(op, {wide, narrow});
  }

  /// Does the same with as many rows of `narrow` as there are keys.
  LogicalResult verifyAcross(StringRef wideName, Value wide, StringRef narrowName,
                             Value narrow) const {
    if (failed(verifyCounts()) || failed(expectHeads(wideName, wide, heads)) ||
        failed(expectHeads(narrowName, narrow, kvHeads)) ||
        failed(expectSameElement(op, {wide, narrow})))
      return failure();
    if (tensorType(wide).getDimSize(0) == tensorType(narrow).getDimSize(0) &&
        lastDim(wide) / heads == lastDim(narrow) / kvHeads)
      return success();
    return disagree(wideName, wide, narrowName, narrow, "batch and head size");
  }

  InFlightDiagnostic disagree(StringRef wideName, Value wide, StringRef narrowName, Value narrow,
                              StringRef what) const {
    return op->emitOpError() << "'" << wideName << "' is [" << tensorType(wide).getShape()
                             << "] with " << heads << " heads, '" << narrowName << "' is ["
                             << tensorType(narrow).getShape() << "] with " << kvHeads << ": "
                             << what << " must agree";
  }

  /// Checks shapes for any elements.
  LogicalResult verifyShapes(StringRef wideName, Value wide, StringRef narrowName,
                             Value narrow) const {
    if (failed(verifyCounts()) || failed(expectHeads(wideName, wide, heads)) ||
        failed(expectHeads(narrowName, narrow, kvHeads)))
      return failure();
    if (leadingDims(wide) == leadingDims(narrow) &&
        lastDim(wide) / heads == lastDim(narrow) / kvHeads)
      return success();
    return disagree(wideName, wide, narrowName, narrow, "batch, seq and head size");
  }

  /// `scores` must be [batch, heads, queries, keys] for queries of [batch, queries, ...] and keys
  /// of [batch, keys, ...].
  LogicalResult verifyScores(StringRef name, Value scores, Value queries, Value keys) const {
    ArrayRef<int64_t> shape = tensorType(queries).getShape();
    if (failed(expectSameElement(op, {scores, queries})))
      return failure();
    return expectShape(op, name, scores,
                       {shape[0], heads, shape[1], tensorType(keys).getDimSize(1)});
  }
};

/// Kernels add positions to it. A window that covers every key must be left out.
LogicalResult verifyWindow(Operation *op, std::optional<uint64_t> window) {
  if (!window || (*window >= 1 && *window <= INT32_MAX))
    return success();
  return op->emitOpError() << "has a window of " << static_cast<int64_t>(*window)
                           << ", expected 1 to " << INT32_MAX;
}

template <typename AttentionLike>
LogicalResult verifyFused(AttentionLike op, Value out, Value lse) {
  Heads shapes{op, static_cast<int64_t>(op.getHeads()), static_cast<int64_t>(op.getKvHeads())};
  Value q = op.getQ();
  if (failed(shapes.verifyPair("q", q, "k", op.getK())) ||
      failed(shapes.verifyPair("q", q, "v", op.getV())) ||
      failed(shapes.expectScale(op.getScale())) ||
      failed(expectDropout(op, op.getP().convertToDouble(), op.getSeed())))
    return failure();
  if (failed(verifyWindow(op, op.getWindow())))
    return failure();
  if (op.getWindow() && op.getBidirectional())
    return op.emitOpError("is bidirectional and has a window; expected one of the two");
  if (Value positions = op.getPositions()) {
    if (op.getBidirectional())
      return op.emitOpError(
          "is bidirectional and has at(...), positions that count the keys before "
          "a query; expected one of the two");
    if (failed(expectShape(op, "positions", positions, leadingDims(q))))
      return failure();
  }
  if (op.getSoftcap() && failed(expectPositive(op, "softcap", *op.getSoftcap())))
    return failure();
  if (out.getType() != q.getType())
    return op.emitOpError() << "'out' has type " << out.getType() << ", expected that of q, "
                            << q.getType();
  ArrayRef<int64_t> shape = tensorType(q).getShape();
  return expectStatistic(op, "lse", lse, {shape[0], shapes.heads, shape[1]}, q);
}
} // namespace

/// There must be a divisor for each pair of the `rotary` elements that rotate; frequencies are
/// divided by them.
static LogicalResult verifyScaling(Operation *op, RopeScalingAttr scaling, int64_t rotary) {
  auto isPositive = [](double x) { return std::isfinite(x) && x > 0.0; };
  if (!scaling)
    return success();
  DenseFPElementsAttr divisors = scaling.getDivisors();
  auto expected = RankedTensorType::get({rotary / 2}, Float64Type::get(op->getContext()));
  if (divisors.getType() != expected)
    return op->emitOpError() << "has a scaling by divisors of type " << divisors.getType()
                             << ", expected " << expected << ": one for each pair of a head";
  if (llvm::all_of(divisors.getValues<double>(), isPositive) &&
      isPositive(scaling.getMagnitude().getValueAsDouble()))
    return success();
  return op->emitOpError("needs a scaling of positive divisors and a positive magnitude");
}

LogicalResult RopeOp::verify() {
  int64_t heads = getHeads();
  if (heads <= 0)
    return emitOpError("needs at least one head");
  Heads shapes{*this, heads, heads};
  if (failed(shapes.expectHeads("x", getX(), heads)))
    return failure();
  if (getPositions() &&
      failed(expectShape(*this, "positions", getPositions(), leadingDims(getX()))))
    return failure();
  int64_t size = lastDim(getX()) / heads, rotary = getRotary().value_or(size);
  if (rotary < 1 || rotary > size)
    return emitOpError() << "turns " << rotary << " elements of heads of " << size;
  if (!getRotary() && size % 2 != 0)
    return emitOpError() << "has head size " << size << ", expected an even one";
  if (rotary % 2 != 0)
    return emitOpError() << "turns " << rotary << " elements of a head, expected an even number";
  if (!getTheta().isFinite() || !(getTheta().convertToDouble() > 0.0))
    return emitOpError("needs a positive theta");
  return verifyScaling(*this, getScalingAttr(), rotary);
}

/// There must be one score for each head.
static LogicalResult expectSinks(Operation *op, Value sinks, Value out, int64_t heads) {
  if (failed(expectSameElement(op, {sinks, out})))
    return failure();
  return expectShape(op, "sinks", sinks, {heads});
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyFused(*this, getOut(), getLse())))
    return failure();
  return getSinks() ? expectSinks(*this, getSinks(), getOut(), static_cast<int64_t>(getHeads()))
                    : success();
}

LogicalResult AttentionGradOp::verify() { return verifyFused(*this, getOut(), getLse()); }

LogicalResult AttentionSinkGradOp::verify() {
  ArrayRef<int64_t> lse = tensorType(getLse()).getShape(), out = tensorType(getOut()).getShape();
  if (lse.size() != 3 || out.size() != 3 || lse[0] != out[0] || lse[2] != out[1] ||
      out[2] % lse[1] != 0)
    return emitOpError() << "'lse' is [" << lse << "] and 'out' is [" << out
                         << "], expected [batch, heads, seq] and [batch, seq, heads * size]";
  if (failed(expectStatistic(*this, "lse", getLse(), lse, getOut())) ||
      failed(expectSinks(*this, getSinks(), getOut(), lse[1])) ||
      failed(expectSinks(*this, getDsinks(), getOut(), lse[1])) ||
      failed(expectInto(*this, getInto(), getDsinks())))
    return failure();
  if (getDout().getType() == getOut().getType())
    return success();
  return emitOpError() << "'dout' has type " << getDout().getType() << ", expected that of out, "
                       << getOut().getType();
}

/// There must be a scale for each head of a row, both of new rows and of caches; none where these
/// are floats.
static LogicalResult expectScalesOfCaches(CachedAttentionOp op) {
  Type computed = tensorType(op.getQ()).getElementType();
  if (op.getScales().empty())
    return expectHeld(op, "k", op.getK(), Value(), Value(), computed, 1);
  if (op.getScales().size() != 4)
    return op.emitOpError() << "has " << op.getScales().size()
                            << " scales, expected four: of k, v, keys and values";
  auto heads = static_cast<int64_t>(op.getKvHeads());
  const Value held[] = {op.getK(), op.getV(), op.getKeys(), op.getValues()};
  for (auto [value, scales, name] :
       llvm::zip_equal(held, op.getScales(), ArrayRef<StringRef>{"k", "v", "keys", "values"})) {
    if (failed(expectHeld(op, name, value, scales, Value(), computed, 1)))
      return failure();
    if (lastDim(scales) != heads)
      return op.emitOpError() << "'scales' of '" << name << "' have " << lastDim(scales)
                              << " columns, expected one for each of " << heads << " heads";
  }
  return success();
}

LogicalResult CachedAttentionOp::verify() {
  Heads shapes{*this, static_cast<int64_t>(getHeads()), static_cast<int64_t>(getKvHeads())};
  if (failed(shapes.verifyShapes("q", getQ(), "k", getK())) ||
      failed(expectScalesOfCaches(*this)) ||
      failed(expectCaches(*this, getKeys(), getValues(), getK(), getV(), getPositions(),
                          getTable())) ||
      failed(shapes.expectScale(getScale())) || failed(verifyWindow(*this, getWindow())))
    return failure();
  if (getSoftcap() && failed(expectPositive(*this, "softcap", *getSoftcap())))
    return failure();
  if (getSinks() && failed(expectSinks(*this, getSinks(), getOut(), shapes.heads)))
    return failure();
  if (getWindow() && getReach() > getCapacity())
    return emitOpError() << "has a window of " << getReach() << ", longer than the "
                         << getCapacity() << " rows of its caches; leave the window out where no "
                         << "sequence is longer than they are";
  if (getOut().getType() == getQ().getType())
    return success();
  return emitOpError() << "'out' has type " << getOut().getType() << ", expected that of q, "
                       << getQ().getType();
}

LogicalResult AttentionScoresOp::verify() {
  Heads shapes{*this, static_cast<int64_t>(getHeads()), static_cast<int64_t>(getKvHeads())};
  if (failed(shapes.verifyAcross("q", getQ(), "k", getK())) ||
      failed(shapes.expectScale(getScale())))
    return failure();
  return shapes.verifyScores("scores", getScores(), getQ(), getK());
}

LogicalResult CausalMaskOp::verify() {
  ArrayRef<int64_t> shape = tensorType(getScores()).getShape();
  if (shape.size() != 4 || shape[2] != shape[3])
    return emitOpError() << "'scores' has shape [" << shape
                         << "], expected [batch, heads, seq, seq]";
  return verifyWindow(*this, getWindow());
}

LogicalResult AttentionValuesOp::verify() {
  Heads shapes{*this, static_cast<int64_t>(getHeads()), static_cast<int64_t>(getKvHeads())};
  if (failed(shapes.verifyAcross("out", getOut(), "values", getValues())) ||
      failed(shapes.expectScale(getScale())))
    return failure();
  return shapes.verifyScores("probabilities", getProbabilities(), getOut(), getValues());
}

LogicalResult AttentionValuesTransposedOp::verify() {
  Heads shapes{*this, static_cast<int64_t>(getHeads()), static_cast<int64_t>(getKvHeads())};
  if (failed(shapes.verifyAcross("x", getX(), "out", getOut())) ||
      failed(shapes.expectScale(getScale())))
    return failure();
  return shapes.verifyScores("probabilities", getProbabilities(), getX(), getOut());
}
