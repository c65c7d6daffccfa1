//===- BarrierObject.h - mbarriers, and the copies that they count ----------===//
//
// An mbarrier is 8 bytes of shared memory. Its phase n (from 0) ends when as many threads as it was
// made for have arrived, and all bytes that they expect have been copied. A thread waits for the
// end of the phase of a parity. The ends of two phases with one between them must not be confused,
// so no thread may be two phases late (PTX ISA, "mbarrier").
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_BARRIEROBJECT_H
#define LLMMEM_LIB_CODEGEN_GPU_BARRIEROBJECT_H

#include "llmmem/Codegen/Gpu/DeviceLoops.h"

namespace llmmem {

/// Represents adjacent mbarriers in shared memory.
class BarrierObjects {
public:
  static constexpr int64_t kBytes = 8;

  /// They begin at byte `begin` of `memory` (i8).
  BarrierObjects(KernelEmitter &e, Buffer memory, int64_t begin);

  /// One thread makes them, before a barrier of the block; the same thread calls `fence` after the
  /// last one.
  void make(Index number, int32_t arrivals);
  void fence();
  /// Does the same, so that other blocks of the cluster may use them after a barrier of the
  /// cluster.
  void fenceForCluster();
  /// Arrives. Everything that the thread has done happens before what follows a wait for the end of
  /// this phase.
  void arrive(Index number);
  /// Arrives at the barrier of block `rank` of the cluster. This orders only what was read: the
  /// other block's waits do not acquire what this thread has written (Cluster.h).
  void arriveAt(Index number, Index rank);
  /// Arrives, and says that this number of bytes will be copied in this phase.
  void arriveExpecting(Index number, int32_t bytes);
  /// Waits until the phase of this parity has ended; returns at once if it is that of the previous
  /// phase.
  void wait(Index number, Index parity);
  /// Describes the box of `map` whose first element is in `row` and `column`, and byte `to` of
  /// `memory`, to which it goes.
  struct Box {
    mlir::Value map;
    Index row, column;
    Buffer memory;
    Index to;
  };
  /// Starts the copy of a box in the current phase of a barrier. It goes to `blocks` of the
  /// cluster, from rank `first` on (none: 0), each of which has memory and barrier at the same
  /// places.
  void startCopy(Index number, const Box &box, int64_t blocks = 1,
                 std::optional<Index> first = std::nullopt);

private:
  mlir::Value addressOf(Buffer memory, Index byte);
  mlir::Value at(Index number) { return addressOf(memory, number * kBytes + begin); }

  KernelEmitter &e;
  Buffer memory;
  int64_t begin;
};

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_BARRIEROBJECT_H
