//===- LlmLossHead.cpp - Meaning, bytes and price of llm.loss_head ---------===//

#include "LlmVerify.h"
#include "llmmem/Alignment.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/TargetInterface.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Support/Count.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

/// Returns the gradient at `number`, or null.
static TypedValue<RankedTensorType> gradientAt(LossHeadOp op, unsigned number) {
  ResultRange gradients = op.getGradients();
  return number < gradients.size() ? cast<TypedValue<RankedTensorType>>(gradients[number])
                                   : TypedValue<RankedTensorType>();
}

TypedValue<RankedTensorType> LossHeadOp::getDx() {
  return getConstantX() ? TypedValue<RankedTensorType>() : gradientAt(*this, 0);
}
TypedValue<RankedTensorType> LossHeadOp::getDw() {
  return gradientAt(*this, getConstantX() ? 0 : 1);
}

void LossHeadOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getLoss(), "loss");
  if (Value dx = getDx())
    setName(dx, "dx");
  if (Value dw = getDw())
    setName(dw, "dw");
}

int64_t LossHeadOp::getWidth() { return lastDim(getX()); }
int64_t LossHeadOp::getColumns() {
  return tensorType(getWeight()).getShape()[getLayout() == WeightLayout::InOut];
}

int64_t LossHeadOp::getGroupSize() {
  return getVocabulary() ? groupSizeOf(*this, getVocabulary()->getAxes()) : 1;
}

Speculation::Speculatability LossHeadOp::getSpeculatability() {
  return getVocabulary() ? Speculation::NotSpeculatable : Speculation::Speculatable;
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

static LogicalResult verifyChunk(LossHeadOp op) {
  int64_t granule = op.getGranule(), chunk = op.getChunk(), tokens = op.getNumRows();
  if (granule < 1)
    return op.emitOpError() << "has an accumulation tile ('granule') of " << granule
                            << " tokens, expected at least 1";
  if (chunk < 1 || (chunk < tokens && chunk % granule != 0))
    return op.emitOpError() << "has a chunk of " << chunk << " tokens, expected a multiple of "
                            << granule << ", or all " << tokens;
  return success();
}

/// Without any gradient it is no loss head, and with a constant x there is one at most.
static LogicalResult verifyGradients(LossHeadOp op) {
  size_t most = op.getConstantX() ? 1 : 2, count = op.getGradients().size();
  if (count < 1 || count > most)
    return op.emitOpError() << "gives " << count << " gradients, expected "
                            << (op.getConstantX() ? "that of the weight alone ('constant_x')"
                                                  : "that of x, and that of a trained weight");
  if (op.getDx() && op.getDx().getType() != op.getX().getType())
    return op.emitOpError() << "gives a gradient dx of type " << op.getDx().getType()
                            << ", expected that of x, " << op.getX().getType();
  return success();
}

static LogicalResult verifyWeightGradient(LossHeadOp op) {
  if (!op.getDw())
    return op.getInto() ? op.emitOpError("has an accumulator 'into' of a gradient dw that it does "
                                         "not give; leave it out, or add the result dw")
                        : success();
  if (op.getDw().getType() != op.getWeight().getType())
    return op.emitOpError() << "gives a gradient dw of type " << op.getDw().getType()
                            << ", expected its weight's, " << op.getWeight().getType();
  return expectInto(op, op.getInto(), op.getDw());
}

LogicalResult LossHeadOp::verify() {
  if (failed(expectLossTerms(*this, getLabelSmoothing(), getZLoss())) ||
      failed(expectRank(*this, "x", getX(), 1)) ||
      failed(expectRank(*this, "weight", getWeight(), 2)) ||
      failed(expectSameElement(*this, {getX(), getWeight()})) || failed(verifyGradients(*this)) ||
      failed(verifyWeightGradient(*this)) ||
      failed(expectShape(*this, "targets", getTargets(), leadingDims(getX()))) ||
      failed(expectStatistic(*this, "loss", getLoss(), {}, getX())) ||
      (getDloss() && failed(expectStatistic(*this, "dloss", getDloss(), {}, getX()))))
    return failure();
  int64_t in = getWidth(), out = getColumns();
  SmallVector<int64_t> weight = getLayout() == WeightLayout::InOut ? SmallVector<int64_t>{in, out}
                                                                   : SmallVector<int64_t>{out, in};
  if (failed(expectShape(*this, "weight", getWeight(), weight)) ||
      failed(expectVocabulary(*this, getVocabulary(), getColumns())))
    return failure();
  return verifyChunk(*this);
}

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

int64_t LossHeadOp::getNumRows() { return tensorType(getTargets()).getNumElements(); }
int64_t LossHeadOp::getChunkRows() { return getChunk(); }
void LossHeadOp::setChunkRows(int64_t rows) { setChunk(rows); }

SmallVector<int64_t> LossHeadOp::getChunkCandidates() {
  int64_t granule = getGranule();
  SmallVector<int64_t> candidates{getNumRows()};
  while (candidates.back() > granule)
    candidates.push_back(llvm::alignTo(llvm::divideCeil(candidates.back(), 2), granule));
  return candidates;
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

bool LossHeadOp::splitsSum() {
  return getDw() && tensorType(getX()).getElementTypeBitWidth() == 16 &&
         getNumRows() > static_cast<int64_t>(getGranule());
}

int64_t LossHeadOp::getAccumulatorBytes() {
  if (!splitsSum())
    return 0;
  // A library adds to an f32 accumulator that is contiguous.
  bool isInHalves = tensorType(getX()).getElementType().isBF16() && !isForLibrary(*this);
  return Count(getWidth()) * getColumns() * (isInHalves ? 2 : 4);
}

// Rows of bf16 logits begin at whole cache lines (`logitsPitch`), and so do those of a weight of
// this layout. Yet a library that sees a count that is no multiple of 8 accesses element by
// element: on an H200 GPT-2's 50257 are multiplied at 100 TFLOP/s, multiples of 8 at 500 and more.
// The multiple of 128 is whole tiles, and the rest begins at a multiple of 256 bytes, the largest
// alignment that a library is told.
int64_t LossHeadOp::getLibraryColumns() {
  constexpr int64_t vector = 8, tile = 128;
  int64_t columns = getColumns();
  bool haveWholeRows =
      tensorType(getX()).getElementType().isBF16() && getLayout() == WeightLayout::OutIn;
  bool isSplit = haveWholeRows && columns % vector != 0 && columns > tile;
  return isSplit ? llvm::alignDown(columns, tile) : columns;
}

static int64_t wideBytes(LossHeadOp op) {
  return bytesOfNumber(wideTypeFor(tensorType(op.getX()).getElementType()));
}

/// Returns what the meaning alone needs: each token's loss, a chunk's logits, the part of the
/// accumulator that is not in dw, and for each token of a chunk the log-sum-exp of this rank and of
/// all.
static int64_t leastWorkspaceBytes(LossHeadOp op) {
  int64_t element = bytesOfNumber(tensorType(op.getX()).getElementType()), wide = wideBytes(op);
  Count rows = std::min(op.getChunkRows(), op.getNumRows());
  Count logSums = op.getVocabulary() ? (1 + op.getGroupSize()) * rows * wide : Count();
  return Count(op.getNumRows()) * wide + rows * op.getColumns() * element +
         Count(op.getAccumulatorBytes()) + logSums;
}

int64_t LossHeadOp::getLibraryWorkspaceBytes() { return libraryWorkspaceBytes(*this); }

int64_t LossHeadOp::getWorkspaceBytes() {
  const TargetInterface *targets = llm::getTargets(*this);
  int64_t own = targets ? targets->getLossHeadWorkspaceBytes(*this) : leastWorkspaceBytes(*this);
  int64_t library = libraryWorkspaceBytes(*this);
  return library ? int64_t(alignTo(Count(own), kArenaAlignment) + Count(library)) : own;
}

//===----------------------------------------------------------------------===//
// Price
//===----------------------------------------------------------------------===//

/// Each chunk has three matmuls, without dw or dx two, and the rows in between. The weight is read
/// for the logits and for dx, and the accumulator of dw is read and written, once a chunk: that is
/// the cost of a smaller chunk.
SmallVector<KernelCost> LossHeadOp::getKernelCosts() {
  int64_t element = bytesOfNumber(tensorType(getX()).getElementType());
  Count weight = bytesOfType(getWeight().getType());
  Count sum = splitsSum() ? 2 * weight : weight;
  SmallVector<KernelCost> kernels;
  for (int64_t begin = 0; begin < getNumRows(); begin += getChunkRows()) {
    Count rows = std::min(getChunkRows(), getNumRows() - begin);
    Count matmul = 2 * rows * getWidth() * getColumns();
    Count logits = rows * getColumns() * element, inputs = rows * getWidth() * element;
    Count accumulator = begin > 0 ? sum : getInto() ? weight : Count();
    kernels.push_back({matmul, inputs + weight + logits});
    kernels.push_back({8 * rows * getColumns(), 3 * logits + rows * 4});
    if (getDw())
      kernels.push_back({matmul, logits + inputs + accumulator + sum});
    if (!getDx())
      continue;
    // If there are two parts, the second reads what the first has written.
    bool isSplit = isForLibrary(*this) && getLibraryColumns() != getColumns();
    kernels.push_back({matmul, logits + weight + (isSplit ? 3 : 1) * inputs});
  }
  return kernels;
}

int64_t LossHeadOp::getFlops() {
  Count flops;
  for (KernelCost kernel : getKernelCosts())
    flops += kernel.flops;
  return flops;
}

int64_t LossHeadOp::getBytesMoved() {
  Count bytes;
  for (KernelCost kernel : getKernelCosts())
    bytes += kernel.bytesMoved;
  return bytes;
}

/// There is a ring of each chunk's log-sum-exps: a smaller chunk costs latency in addition to more
/// reading.
std::optional<TransferCost> LossHeadOp::getTransfer() {
  if (!getVocabulary())
    return std::nullopt;
  int64_t ranks = getGroupSize(), rows = std::min(getChunkRows(), getNumRows());
  int64_t chunks = llvm::divideCeil(getNumRows(), rows), wide = wideBytes(*this);
  TransferCost transfer;
  transfer.messages = Count(chunks) * (ranks - 1);
  transfer.bytes = Count(ranks - 1) * getNumRows() * wide;
  transfer.ranks = ranks;
  transfer.whole = Count(ranks) * rows * wide;
  transfer.measuredAs = "all_gather";
  transfer.times = chunks;
  transfer.betweenKernels = true;
  return transfer;
}
