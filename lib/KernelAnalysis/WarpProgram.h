//===- WarpProgram.h - The part of a kernel followed for a warp -------------===//
//
// A kernel's integers and control flow, in a form that `WarpInterpreter` runs without looking at an
// op again: values are slots, and ops that compute nothing of interest are only counted.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_KERNELANALYSIS_WARPPROGRAM_H
#define LLMMEM_LIB_KERNELANALYSIS_WARPPROGRAM_H

#include "LaneIntegers.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/DenseSet.h"

namespace llmmem {

/// Returns whether the loop counts from a lower to an upper bound: scf.for does, scf.while does
/// not.
bool hasKnownForm(mlir::LoopLikeOpInterface loop);

struct WarpProgram {
  using Triple = std::array<int64_t, 3>;
  using Slot = unsigned;
  /// Pairs values that become others at once.
  using Handing = llvm::SmallVector<std::pair<Slot, Slot>, 2>;

  /// Restricts a program to these ops and values. Then every iteration runs, and where buffers
  /// begin, and what a loop of the host computes, is not known.
  struct Scope {
    llvm::DenseSet<mlir::Operation *> ops;
    llvm::SmallVector<mlir::Value> values;
  };

  struct Step;
  struct Code {
    std::vector<Step> steps;
    int64_t ops = 0;
  };
  /// Holds a loop's bound: a number or a value.
  struct Bound {
    std::optional<int64_t> constant;
    Slot slot = 0;
  };
  struct Loop {
    mlir::LoopLikeOpInterface op;
    Bound lower, upper, step;
    Slot number = 0;
    Handing begin, next, end;
  };
  struct Step {
    mlir::Operation *op = nullptr;
    bool isVisited = false;
    /// Has at most one of these: a result that is computed, a loop with a number, a condition.
    std::optional<LaneOp> compute;
    Slot result = 0;
    llvm::SmallVector<Slot, 3> operands;
    std::optional<Loop> loop;
    std::optional<Slot> condition;
    std::vector<Code> regions;
    std::vector<Handing> yields;
  };

  static WarpProgram compile(mlir::gpu::GPUFuncOp kernel, Triple grid, Triple block,
                             const std::optional<Scope> &scope);

  Code code;
  llvm::DenseMap<mlir::Value, Slot> slots;
  /// Holds, by slot, what is known before a warp runs.
  std::vector<LaneIntegers> constants;
  /// Name the slots that differ from warp to warp.
  llvm::SmallVector<std::pair<mlir::gpu::Dimension, Slot>> blockIds, threadIds;
  llvm::SmallVector<Slot> clusterRanks;
  int64_t clusterBlocks = 1;
  /// Counts the last iterations of a long loop that run one by one. Without it all iterations do.
  std::optional<int64_t> lastIterations;
};

inline int64_t along(mlir::gpu::Dimension dimension, const WarpProgram::Triple &triple) {
  return triple[static_cast<unsigned>(dimension)];
}

} // namespace llmmem

#endif // LLMMEM_LIB_KERNELANALYSIS_WARPPROGRAM_H
