//===- BoxStages.h - Tiles of a product, copied by tensor maps --------------===//
//
// The stages of a product by wgmma (WarpgroupMatmul.cpp), each with two mbarriers:
//
//   full    one arrival, of the thread that starts the copies, and their bytes
//   empty   one arrival of each warp, behind its wait for the wgmma that has read the stage before
//
// The block's step s, counted over all its tiles, has stage s % count and phase s / count of both.
// At the end of each step the stage of the step before is empty, so that is said in the first one
// too, where there was none: a condition would have LLVM take the first step out of the loop, where
// ptxas serializes its wgmma.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_BOXSTAGES_H
#define LLMMEM_LIB_CODEGEN_GPU_BOXSTAGES_H

#include "BarrierObject.h"
#include "WarpgroupTile.h"

namespace llmmem {

class BoxStages {
public:
  /// Whether tensor maps can say where the operands of `count` matmuls in one launch lie: rows at
  /// multiples of 16 bytes, in the same matrices for all.
  static bool canCopy(const Matmul &first, int64_t count);
  static int64_t bytesOfBarriers(int64_t stages) { return 2 * stages * BarrierObjects::kBytes; }

  /// Inside the launch, for tiles of `rows` x `columns`; barriers from byte `begin` of `memory` on.
  /// `first` was made outside of it.
  BoxStages(KernelEmitter &e, const Matmul &first, int64_t rows, int64_t columns, int64_t stages,
            Buffer memory, int64_t begin, Index thread, int64_t threads);

  /// Behind it the block may use them; its kernel needs so many registers.
  void makeBarriers(int32_t registers);
  /// By one thread: starts the copies for the block's step `step`, of a tile from `row` and
  /// `column` on and the terms from `inner` on; if `waits`, once nobody reads the stage any more.
  void copy(const Matmul &matmul, const WarpgroupTile &a, const WarpgroupTile &b, Index step,
            Index row, Index column, Index inner, bool waits);
  /// Whether this is the thread that copies.
  mlir::Value isCopying() { return equal(thread, e.index(0)); }
  /// Until the tiles of a step are there.
  void waitForTiles(Index step);
  /// The thread has waited for what reads the tiles of all steps before `step`, which it has begun.
  void releaseBefore(Index step);

private:
  Index stageOf(Index step) { return step % stages; }
  Index full(Index step) { return stageOf(step); }
  Index empty(Index step) { return stageOf(step) + stages; }
  void copyTile(const WarpgroupTile &tile, mlir::Value map, Index line, Index inner,
                Index firstTerm, Index barrier);

  KernelEmitter &e;
  int64_t stages, bytesOfStage;
  Index thread;
  int64_t threads;
  Buffer memory;
  BarrierObjects barriers;
  mlir::Value mapOfA, mapOfB;
};

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_BOXSTAGES_H
