//===- ClusterSums.h - Sums of a tile that a cluster's blocks add -----------===//
//
// Two or four blocks of a cluster have summed the same tile of C, each over its part of the terms,
// and their threads hold the same elements of it. Each block then adds all sums in its share of the
// tile: the upper or the lower eight rows of fragments, and with four blocks of half of the
// columns. It leaves what others add in its shared memory, over the stages, from which they load
// it.
//
//   share of part 0    rows 0 to 7 of fragments      four parts: fragments 0 to n / 2 - 1
//            part 1    rows 8 to 15                              fragments n / 2 to n - 1
//            part 2                                  rows 8 to 15, fragments 0 to n / 2 - 1
//            part 3                                              fragments n / 2 to n - 1
//
// An element is (0 + 1) + (2 + 3), by the numbers of parts, in whichever block it is added.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_CLUSTERSUMS_H
#define LLMMEM_LIB_CODEGEN_GPU_CLUSTERSUMS_H

#include "MmaSums.h"

namespace llmmem {

class ClusterSums {
public:
  /// Describes the cluster: `sharing` neighbours of each part compute different tiles.
  struct Cluster {
    int64_t parts, sharing;
  };

  /// Describes the sums of `thread` of `threads` of the block of rank `rank`, in `memory` (f32).
  ClusterSums(KernelEmitter &e, WarpSums shape, Cluster cluster, int64_t threads, Buffer memory,
              Index thread, Index rank)
      : e(e), shape(shape), cluster(cluster), threads(threads), memory(memory), thread(thread),
        rank(rank), part(rank / cluster.sharing) {}

  /// Returns how many numbers of shared memory are needed.
  static int64_t sizeOf(WarpSums shape, int64_t parts, int64_t threads) {
    return parts * numbersOfShare(shape, parts) * threads;
  }

  /// Adds this block's share; `sums` are the thread's, as in MmaSums. All threads of the cluster
  /// run it, because it has one of its barriers, once they have waited for wgmma and for all
  /// copies. A barrier of the cluster must follow.
  Row add(llvm::ArrayRef<Num> sums);
  /// Return the share in the form that MmaSums::storeHalves expects.
  Index half() { return part / columnShares(cluster.parts); }
  Index firstFragment() {
    return part % columnShares(cluster.parts) * (shape.columnParts / columnShares(cluster.parts));
  }

private:
  /// A vector has 16 bytes. Shares of tiles have whole ones (WarpgroupTiles.cpp).
  static constexpr int64_t kVector = 4;

  static int64_t columnShares(int64_t parts) { return parts / 2; }
  static int64_t numbersOfShare(WarpSums shape, int64_t parts) {
    return 2 * shape.rowParts * shape.columnParts / columnShares(parts);
  }
  int64_t numbers() const { return numbersOfShare(shape, cluster.parts); }
  Row shareOf(llvm::ArrayRef<Num> sums, int64_t part) const;
  void forVectors(Index part, llvm::function_ref<void(Index place, int64_t first)>);
  void leave(llvm::ArrayRef<Num> share, int64_t part);
  Row load(int64_t distance);
  Row ownOf(llvm::ArrayRef<Num> sums);

  KernelEmitter &e;
  WarpSums shape;
  Cluster cluster;
  int64_t threads;
  Buffer memory;
  Index thread, rank, part;
};

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_CLUSTERSUMS_H
