//===- BoxStages.h - Tiles of a product, copied by tensor maps --------------===//
//
// A product by wgmma (WarpgroupMatmul.cpp) has stages, each with two mbarriers:
//
//   full    one arrival, of the thread that starts the copies, and their bytes
//   empty   one arrival of each warp, after its wait for the wgmma that has read the previous stage
//
// Two blocks of a cluster may share one operand (SharedTile in WarpgroupTiles.h): at each step
// their tiles of it are the same, and each copies one half of its box to both. Then the bytes of
// `full` include those of the other block's half, which may arrive before this block expects them,
// because a phase does not end without its own arrival. At `empty` the warps of both blocks arrive,
// because a thread that copies to both must know that both have read. The thread that starts copies
// waits for `empty` of every phase in order, so no warp of the other block can be two phases ahead.
// Before the first copy the blocks meet, and after the last arrival the owner of the stages must
// make them meet: a block that has ended has neither shared memory nor barriers. Where the blocks
// of a cluster also share the terms, those of rank 0 and 1 have the first part, 2 and 3 the next.
//
// The block's step s, counted over all its tiles, has stage s % count and phase s / count of both.
// At the end of each step the stage of the previous step is empty. This is also said in the first
// one, which has no previous step: with a condition LLVM would take the first step out of the loop,
// where ptxas serializes its wgmma.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_BOXSTAGES_H
#define LLMMEM_LIB_CODEGEN_GPU_BOXSTAGES_H

#include "BarrierObject.h"
#include "WarpgroupTile.h"
#include "llmmem/Targets/WarpgroupTiles.h"

namespace llmmem {

class BoxStages {
public:
  /// Returns whether tensor maps can describe the operands of `count` matmuls in one launch: rows
  /// at multiples of 16 bytes, in the same matrices for all.
  static bool canCopy(const Matmul &first, int64_t count);
  static int64_t bytesOfBarriers(int64_t stages) { return 2 * stages * BarrierObjects::kBytes; }

  struct Sizes {
    int64_t rows, columns;
    int64_t ofStage; // In elements.
    int64_t stages, threads;
    llm::SharedTile shared = llm::SharedTile::None;
    /// Counts the parts of the cluster's blocks, which share the terms; blocks of one part may
    /// share a tile.
    int64_t parts = 1;

    int64_t sharing() const { return shared == llm::SharedTile::None ? 1 : llm::kSharingBlocks; }
    int64_t clusterBlocks() const { return sharing() * parts; }
  };

  /// Makes the stages inside the launch, for tiles of these sizes, with barriers from byte `begin`
  /// of `memory` on. `first` was made outside of it.
  BoxStages(KernelEmitter &e, const Matmul &first, Sizes sizes, Buffer memory, int64_t begin,
            Index thread);

  /// After it the blocks may use them; their kernel needs this number of registers.
  void makeBarriers(int32_t registers);
  /// Describes a step of a block of rank `rank` in its cluster: a tile from `row` and `column` on,
  /// and the terms from `inner` on.
  struct Step {
    Index number, row, column, inner, rank;
  };
  /// One thread calls it: starts the copies of a step. If `waits`, it does so once no thread reads
  /// the stage any more.
  void copy(const Matmul &matmul, const WarpgroupTile &tileOfA, const WarpgroupTile &tileOfB,
            const Step &of, bool waits);
  /// Returns whether this is the thread that copies.
  mlir::Value isCopying() { return equal(thread, e.index(0)); }
  /// Waits until the tiles of a step are complete.
  void waitForTiles(Index step);
  /// Says that the thread has waited for what reads the tiles of all steps before `step`, which it
  /// has begun.
  void releaseBefore(Index step, Index rank);

private:
  /// Describes a matrix by its map, and the blocks that receive each box.
  struct Operand {
    mlir::Value map;
    int64_t blocks;
  };
  Operand operandOf(const Matmul &p, bool isA);
  /// Returns the block's number among those that share a tile.
  Index memberOf(Index rank) { return sizes.parts == 1 ? rank : rank % sizes.sharing(); }
  /// Returns the rank of the first of these; none where there are no others.
  std::optional<Index> firstOfPart(Index rank);
  Index stageOf(Index step) { return step % sizes.stages; }
  Index full(Index step) { return stageOf(step); }
  Index empty(Index step) { return stageOf(step) + sizes.stages; }
  /// Holds what all copies of a step have in common.
  struct Copy {
    Index inner, firstTerm, rank, barrier;
  };
  void copyTile(const WarpgroupTile &tile, Operand operand, Index line, const Copy &of);
  void startCopy(Operand operand, Index row, Index column, Index to, int64_t rows, const Copy &of);

  KernelEmitter &e;
  Sizes sizes;
  Index thread;
  Buffer memory;
  BarrierObjects barriers;
  Operand a, b;
};

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_BOXSTAGES_H
