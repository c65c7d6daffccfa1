//===- LossHeadSum.h - The gradient of a loss head's weight, chunk by chunk -===//

#ifndef LLMMEM_LIB_CODEGEN_KERNELS_LOSSHEADSUM_H
#define LLMMEM_LIB_CODEGEN_KERNELS_LOSSHEADSUM_H

#include "Emitter/Matmuls.h"
#include "Emitter/VocabularyPart.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Targets/LossHeadWorkspace.h"

namespace llmmem {

/// Describes a range of rows of the op, of a chunk, or of columns.
struct Rows {
  Index begin;
  int64_t count;
};

/// Has what all parts of a loss head's kernel share.
struct LossHead {
  LossHead(llm::LossHeadOp op, KernelEmitter &e);

  int64_t chunk() { return std::min(op.getChunkRows(), tokens); }
  bool isOutIn() { return op.getLayout() == llm::WeightLayout::OutIn; }
  bool isOneGranule() const { return tokens <= granule; }
  bool isForDevice() const { return e.options().target == KernelTarget::Gpu; }
  /// Returns whether matmuls have all rows of a chunk, not those of a granule.
  bool multipliesChunks() const;
  void forPieces(int64_t count, int64_t piece, llvm::function_ref<void(Rows)> body);

  llm::LossHeadOp op;
  KernelEmitter &e;
  int64_t tokens, width, vocabulary, granule;
  llm::LossHeadWorkspace parts;
  Buffer x;
  VocabularyPart ownTokens;
  Buffer losses, logits;
};

/// Adds what each chunk's logits' gradient contributes to dw. Does nothing where the weight is not
/// trained.
class WeightGradientSum {
public:
  explicit WeightGradientSum(LossHead &head);

  void begin();
  /// Adds what the chunk's `rows` contribute.
  void add(Rows rows);
  void finish();

private:
  /// Returns whether the accumulator's upper halves are in dw.
  bool isInHalves();
  bool addsWholeChunks();
  /// Returns whether one launch computes all of dw, so that its f32 sums are never in memory.
  bool sumsInRegisters() {
    return op.splitsSum() && addsWholeChunks() && head.chunk() == head.tokens;
  }
  Matmul matmulOfRows(Index first, Rows part);
  void addToSum(Index first, Rows part);
  void addToSplitSum(Index first, Rows part);
  void addToSplitSumOnDevice(Index first, Rows part);
  Matrix wideInputs(Rows part);
  std::pair<Matrix, Matrix> contributionOperands(Index first, Rows part, Rows columns);
  void addMatmulToAccumulator(Index first, Rows part, Rows columns);
  void widen(Buffer from, Index begin, int64_t pitch, int64_t rows, int64_t columns, Buffer to);

  LossHead &head;
  llm::LossHeadOp op;
  KernelEmitter &e;
  /// `into` is what the sum continues from, if anything; `accumulator` exists only if it is split.
  Buffer into, dw, accumulator;
};

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_KERNELS_LOSSHEADSUM_H
