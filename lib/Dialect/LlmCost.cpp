//===- LlmCost.cpp - FLOPs, traffic and workspaces of the ops --------------===//
//
// Matmuls count 2 FLOPs a multiply-add, as the papers do (Kaplan et al. 2020; Korthikanti et al.
// 2022). Elementwise work counts the arithmetic of its formula, with a transcendental function as
// one FLOP: those ops are bound by traffic, which the default of the interface counts.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Alignment.h"
#include "llmmem/Dialect/ElementTypes.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Dialect/TargetInterface.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Support/Count.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

static RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }
static Count elements(Value value) { return tensorType(value).getNumElements(); }
static int64_t lastDim(Value value) { return tensorType(value).getShape().back(); }
static Count bytes(Value value) { return bytesOfType(value.getType()); }

//===----------------------------------------------------------------------===//
// Matmuls
//===----------------------------------------------------------------------===//

int64_t LinearOp::getFlops() {
  return 2 * elements(getX()) * lastDim(getY()) + (getBias() ? elements(getY()) : Count());
}
int64_t LinearWeightGradOp::getFlops() { return 2 * elements(getX()) * lastDim(getDy()); }

// Scores, and whatever has their shape, hold batch * heads * seq^2 elements; each costs a head's
// width.
int64_t AttentionScoresOp::getFlops() {
  return 2 * elements(getScores()) * (lastDim(getQ()) / getHeads());
}
int64_t AttentionValuesOp::getFlops() {
  return 2 * elements(getProbabilities()) * (lastDim(getOut()) / getHeads());
}
int64_t AttentionValuesTransposedOp::getFlops() {
  return 2 * elements(getProbabilities()) * (lastDim(getX()) / getHeads());
}

/// Libraries multiply these types here; generated code multiplies f16.
static bool isLibraryType(Value factor) {
  return isOfLibraries(tensorType(factor).getElementType());
}

/// No library here unpacks a weight.
bool LinearOp::multipliesMatrices() { return isLibraryType(getX()) && !getScales(); }
Type LinearOp::getUnpackedType() {
  return getScales() ? getWeight().getType().getElementType() : Type();
}
bool LinearWeightGradOp::multipliesMatrices() { return isLibraryType(getX()); }
bool AttentionScoresOp::multipliesMatrices() { return isLibraryType(getQ()); }
bool AttentionValuesOp::multipliesMatrices() { return isLibraryType(getProbabilities()); }
bool AttentionValuesTransposedOp::multipliesMatrices() { return isLibraryType(getProbabilities()); }
int64_t LinearOp::getLibraryWorkspaceBytes() { return libraryWorkspaceBytes(*this); }
int64_t LinearOp::getWorkspaceBytes() { return getLibraryWorkspaceBytes(); }
int64_t LinearWeightGradOp::getLibraryWorkspaceBytes() { return libraryWorkspaceBytes(*this); }
int64_t LinearWeightGradOp::getWorkspaceBytes() {
  const TargetInterface *targets = llm::getTargets(*this);
  int64_t own = targets ? targets->getSumPartsBytes(*this) : 0;
  return alignTo(Count(own), kArenaAlignment) + Count(getLibraryWorkspaceBytes());
}
int64_t AttentionScoresOp::getLibraryWorkspaceBytes() { return libraryWorkspaceBytes(*this); }
int64_t AttentionScoresOp::getWorkspaceBytes() { return getLibraryWorkspaceBytes(); }
int64_t AttentionValuesOp::getLibraryWorkspaceBytes() { return libraryWorkspaceBytes(*this); }
int64_t AttentionValuesOp::getWorkspaceBytes() { return getLibraryWorkspaceBytes(); }
int64_t AttentionValuesTransposedOp::getLibraryWorkspaceBytes() {
  return libraryWorkspaceBytes(*this);
}
int64_t AttentionValuesTransposedOp::getWorkspaceBytes() { return getLibraryWorkspaceBytes(); }

bool LossHeadOp::multipliesMatrices() { return isLibraryType(getX()); }

/// Counts the matmuls of one seq x seq matrix per head with `width` columns in all, of which a
/// causal kernel computes the lower half: 2 * (batch * seq) * seq * width / 2 for each matmul.
template <typename AttentionLike>
static int64_t causalFlops(AttentionLike op, int64_t matmuls) {
  int64_t seq = tensorType(op.getQ()).getShape()[1];
  int64_t unmasked = seq + 1; // Twice the mean number of keys of a query.
  if (op.getBidirectional())
    unmasked = 2 * seq;
  if (op.getWindow() && static_cast<int64_t>(*op.getWindow()) < seq)
    unmasked = 2 * static_cast<int64_t>(*op.getWindow());
  return matmuls * elements(op.getQ()) * unmasked;
}

int64_t AttentionOp::getFlops() { return causalFlops(*this, 2); }
// It recomputes q k^T, then computes dp = dout v^T, dv, dk, dq (Dao et al. 2022, algorithm 4).
int64_t AttentionGradOp::getFlops() { return causalFlops(*this, 5); }
int64_t AttentionGradOp::getWorkspaceBytes() { return bytes(getLse()); }
int64_t AttentionSinkGradOp::getFlops() { return 2 * elements(getOut()) + 4 * elements(getLse()); }

//===----------------------------------------------------------------------===//
// Tables: only the rows that are looked up move
//===----------------------------------------------------------------------===//

int64_t EmbeddingOp::getFlops() { return 0; }
int64_t EmbeddingOp::getBytesMoved() {
  Count rows = elements(getIds()), table = bytes(getTable());
  for (Value extra : {Value(getScales()), Value(getZeros())})
    table += extra ? bytes(extra) : Count();
  // The product of all rows with the whole table may overflow where this does not.
  int64_t rowsOfTable = tensorType(getTable()).getDimSize(0);
  Count rest = table % rowsOfTable;
  return bytes(getIds()) + bytes(getY()) + rows * (table / rowsOfTable) +
         divideCeil(rows * rest, rowsOfTable);
}
int64_t AddPositionsOp::getFlops() { return elements(getX()); }
int64_t AddPositionsOp::getBytesMoved() {
  int64_t seq = tensorType(getX()).getShape().end()[-2];
  return 2 * bytes(getX()) + seq * (bytes(getTable()) / tensorType(getTable()).getShape()[0]);
}
int64_t EmbeddingGradOp::getFlops() { return elements(getDy()); }
int64_t EmbeddingGradOp::getBytesMoved() {
  // Without an accumulator, the whole table is zeroed first.
  return bytes(getIds()) + 3 * bytes(getDy()) + (getInto() ? Count() : bytes(getDtable()));
}
int64_t PositionsGradOp::getFlops() { return elements(getDy()); }
int64_t PositionsGradOp::getBytesMoved() {
  return bytes(getDy()) + (getInto() ? 2 : 1) * bytes(getDtable());
}

//===----------------------------------------------------------------------===//
// Row reductions
//===----------------------------------------------------------------------===//

int64_t LayerNormOp::getFlops() { return 8 * elements(getX()); }
int64_t RmsNormOp::getFlops() { return 4 * elements(getX()); }
int64_t LayerNormGradOp::getFlops() { return 11 * elements(getX()); }
int64_t RmsNormGradOp::getFlops() { return 8 * elements(getX()); }
int64_t NormWeightGradOp::getFlops() { return 4 * elements(getX()); }
int64_t SumRowsOp::getFlops() { return elements(getDy()); }
int64_t SoftmaxOp::getFlops() { return 5 * elements(getX()); }
int64_t SoftmaxGradOp::getFlops() { return 4 * elements(getDy()); }
int64_t CountTargetsOp::getFlops() { return elements(getTargets()); }
int64_t LogSumExpOp::getFlops() { return 3 * elements(getX()); }
// The mean of all logits is summed separately.
static Count smoothingFlops(const llvm::APFloat &share, Value logits) {
  return share.isZero() ? Count() : elements(logits);
}
int64_t TargetLossOp::getFlops() {
  return 2 * elements(getLse()) + smoothingFlops(getLabelSmoothing(), getLogits());
}
int64_t CrossEntropyOp::getFlops() {
  return 4 * elements(getLogits()) + smoothingFlops(getLabelSmoothing(), getLogits());
}
int64_t CrossEntropyGradOp::getFlops() { return 4 * elements(getLogits()); }

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

int64_t RopeOp::getFlops() { return 3 * elements(getX()); }
int64_t CausalMaskOp::getFlops() { return elements(getScores()); }
int64_t GeluOp::getFlops() { return 8 * elements(getX()); }
int64_t SiluOp::getFlops() { return 4 * elements(getX()); }
int64_t ClampOp::getFlops() { return 2 * elements(getX()); }
int64_t ClampGradOp::getFlops() { return 2 * elements(getX()); }
int64_t ScaleOp::getFlops() { return elements(getX()); }
int64_t SoftcapOp::getFlops() { return 3 * elements(getX()); }
int64_t SoftcapGradOp::getFlops() { return 4 * elements(getY()); }
int64_t GeluGradOp::getFlops() { return 15 * elements(getX()); }
int64_t SiluGradOp::getFlops() { return 8 * elements(getX()); }
int64_t AddBiasOp::getFlops() { return elements(getX()); }
int64_t AddOp::getFlops() { return elements(getY()); }
int64_t MulOp::getFlops() { return elements(getY()); }
// Ten rounds of Philox make four numbers; a round is about eight integer operations.
int64_t DropoutOp::getFlops() { return 22 * elements(getX()); }
int64_t StoredDropoutOp::getFlops() { return 22 * elements(getX()); }
int64_t ApplyMaskOp::getFlops() { return elements(getX()); }
int64_t CastOp::getFlops() { return elements(getX()); }
int64_t FillOp::getFlops() { return 0; }
int64_t SplitOp::getFlops() { return 0; }
int64_t ConcatOp::getFlops() { return 0; }
int64_t ReshapeOp::getFlops() { return 0; }
int64_t RepeatHeadsOp::getFlops() { return 0; }
int64_t SumHeadsOp::getFlops() { return elements(getX()); }

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

int64_t GlobalNormOp::getFlops() {
  Count flops = 1;
  for (Value gradient : getGradients())
    flops += 2 * elements(gradient);
  return flops;
}
int64_t GlobalNormOp::getPiecesOfPart(int64_t elements) {
  return llvm::divideCeil(std::max<int64_t>(elements / kPiece, 1), 256);
}
int64_t GlobalNormOp::getNumParts(int64_t elements) {
  return llvm::divideCeil(elements, getPiecesOfPart(elements) * kPiece);
}
int64_t GlobalNormOp::getWorkspaceBytes() {
  Count parts;
  for (Value gradient : getGradients())
    parts += getNumParts(elements(gradient));
  return parts * bytes(getNorm());
}

// A view moves nothing.
int64_t ReshapeOp::getBytesMoved() { return 0; }
