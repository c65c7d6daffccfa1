//===- LlmConvolution.cpp - Short convolutions: what they mean and cost ----===//

#include "LlmVJP.h"
#include "LlmVerify.h"
#include "llmmem/Dialect/ConvolutionOps.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Support/Count.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

#define GET_OP_CLASSES
#include "llmmem/Dialect/ConvolutionOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

static LogicalResult verifyRows(Operation *op, Value x) {
  if (tensorType(x).getRank() == 3)
    return success();
  return op->emitOpError() << "'x' has shape [" << tensorType(x).getShape()
                           << "], expected [batch, seq, channels]";
}

/// `weight` must be [taps, channels] for rows `x`, [batch, seq, channels].
static LogicalResult verifyTaps(Operation *op, StringRef name, Value weight, Value x) {
  constexpr int64_t kMostTaps = 64; // Kernels are written out for each tap.
  if (failed(verifyRows(op, x)))
    return failure();
  ArrayRef<int64_t> shape = tensorType(weight).getShape();
  if (shape.size() != 2)
    return op->emitOpError() << "'" << name << "' has shape [" << shape
                             << "], expected [taps, channels]";
  if (shape[0] < 1 || shape[0] > kMostTaps)
    return op->emitOpError() << "'" << name << "' has " << shape[0] << " taps, expected 1 to "
                             << kMostTaps;
  if (failed(expectSameElement(op, {x, weight})))
    return failure();
  return expectShape(op, name, weight, {shape[0], lastDim(x)});
}

/// `state` must be [batch, rows, channels] for `x`, with at least `least` rows.
static LogicalResult verifyState(Operation *op, Value state, Value x, Value positions,
                                 int64_t least) {
  if (failed(verifyRows(op, x)))
    return failure();
  ArrayRef<int64_t> rows = tensorType(x).getShape(), shape = tensorType(state).getShape();
  const int64_t held = shape.size() == 3 ? shape[1] : 0;
  if (held < least)
    return op->emitOpError() << "'state' has shape [" << shape
                             << "], expected [batch, rows, channels] with " << least
                             << " rows or more";
  if (failed(expectSameElement(op, {x, state})) ||
      failed(expectShape(op, "state", state, {rows[0], held, rows[2]})))
    return failure();
  return expectShape(op, "positions", positions, {rows[0], rows[1]});
}

LogicalResult CausalConvOp::verify() { return verifyTaps(*this, "weight", getWeight(), getX()); }

LogicalResult CausalConvWeightGradOp::verify() {
  if (failed(expectInto(*this, getInto(), getDw())))
    return failure();
  return verifyTaps(*this, "dw", getDw(), getX());
}

LogicalResult CachedConvOp::verify() {
  if (failed(verifyTaps(*this, "weight", getWeight(), getX())))
    return failure();
  const int64_t previous = tensorType(getWeight()).getDimSize(0) - 1;
  return verifyState(*this, getState(), getX(), getPositions(), std::max<int64_t>(1, previous));
}

LogicalResult AppendStateOp::verify() {
  return verifyState(*this, getState(), getX(), getPositions(), 1);
}

//===----------------------------------------------------------------------===//
// Cost, storage and ranks
//===----------------------------------------------------------------------===//

static Count flopsOf(Value x, Value weight) {
  return 2 * Count(tensorType(weight).getDimSize(0)) * tensorType(x).getNumElements();
}

int64_t CausalConvOp::getFlops() { return flopsOf(getX(), getWeight()); }
int64_t CausalConvWeightGradOp::getFlops() { return flopsOf(getX(), getDw()); }
int64_t CachedConvOp::getFlops() { return flopsOf(getX(), getWeight()); }
int64_t AppendStateOp::getFlops() { return 0; }
/// At most the rows of the ring move.
int64_t AppendStateOp::getBytesMoved() {
  const Count rows = bytesOfType(getX().getType()), ring = bytesOfType(getState().getType());
  return 2 * std::min<int64_t>(rows, ring) + bytesOfType(getPositions().getType());
}

SmallVector<unsigned> CausalConvWeightGradOp::getInPlaceOperands(unsigned) {
  if (!getInto())
    return {};
  return {getIntoMutable().begin()->getOperandNumber()};
}
SmallVector<unsigned> AppendStateOp::getInPlaceOperands(unsigned) { return {0}; }
bool CachedConvOp::isRecomputable() { return false; }

// A rank has some of the channels, and whole sequences.
std::string CausalConvOp::getShardingRule() { return "b S w, T w -> b S w"; }
std::string CachedConvOp::getShardingRule() { return "b S w, T w, b R w, b S -> b S w"; }
std::string AppendStateOp::getShardingRule() { return "b R w, b S w, b S -> b R w"; }

//===----------------------------------------------------------------------===//
// Differentiation
//===----------------------------------------------------------------------===//

LogicalResult CausalConvOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                     OperandGradients operandGradients) {
  if (getInverse())
    return emitOpError() << "has no derivative where it is 'inverse': that is a derivative already";
  Value dy = resultGradients[0];
  if (active[1])
    operandGradients[1] = CausalConvWeightGradOp::create(builder, getLoc(), getWeight().getType(),
                                                         getX(), dy, /*into=*/Value());
  if (active[0])
    operandGradients[0] = CausalConvOp::create(builder, getLoc(), dy.getType(), dy, getWeight(),
                                               /*inverse=*/builder.getUnitAttr());
  return success();
}
