//===- StepLiveness.h - What is live where, and the peak -------------------===//
//
// This analysis has the live ranges of a step in its given order. Positions count the ops of the
// body, without views. A buffer is held from the op that writes it to the last op that reads it or
// one of its views, both included. A result that is at the offset of an operand it may take over
// continues that operand's buffer. A workspace is a buffer of one position. Resident bytes span
// everything. What a copy to the host reads is held until its wait. Values in the host's memory do
// not count.
//
// It computes the same peak before and after `plan-arena`; without offsets every in-place candidate
// that is the last read counts as taken. It costs O(ops + operands).
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LAYOUT_STEPLIVENESS_H
#define LLMMEM_LAYOUT_STEPLIVENESS_H

#include "llmmem/Layout/StepStorage.h"
#include "mlir/Pass/AnalysisManager.h"

namespace llmmem {

struct LiveBuffer {
  llvm::SmallVector<mlir::Value, 1> values; // in the order in which they took the bytes over
  int64_t bytes;                            // of the first, the largest
  int64_t first, last; // positions, inclusive; a returned value is held past the last op
};

/// Is an MLIR analysis of a step whose `StepStorage` is valid. It depends on that, on the order of
/// the ops, on `llm.offsets`, and on workspaces.
struct StepLiveness {
  StepLiveness() = default;
  StepLiveness(mlir::func::FuncOp step, const StepStorage &storage);
  StepLiveness(mlir::func::FuncOp step, mlir::AnalysisManager &analyses)
      : StepLiveness(step, analyses.getAnalysis<StepStorage, mlir::func::FuncOp>()) {}

  bool isInvalidated(const mlir::AnalysisManager::PreservedAnalyses &preserved) const {
    return !preserved.isPreserved<StepLiveness>() || !preserved.isPreserved<StepStorage>();
  }

  std::vector<mlir::Operation *> ops; // by position
  std::vector<LiveBuffer> buffers;    // arena buffers, by first position
  std::vector<int64_t> workspace;     // bytes by position
  std::vector<int64_t> live;          // bytes held while each op runs, resident included
  int64_t resident = 0;
  int64_t peak = 0;
  int64_t peakPosition = -1; // -1 where no op runs

  /// Returns the value that `buffer` holds at `position`: the last that took it over by then.
  mlir::Value holder(const LiveBuffer &buffer, int64_t position) const;
};

} // namespace llmmem

#endif // LLMMEM_LAYOUT_STEPLIVENESS_H
