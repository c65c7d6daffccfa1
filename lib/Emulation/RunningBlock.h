//===- RunningBlock.h - A block that runs, and its shared memory -----------===//
//
// One block runs at a time, or all blocks of a cluster run concurrently. In a cluster each block
// has shared memory, threads and barriers of its own, and the emulator switches from block to block
// where all threads of one wait for the cluster, or for something that another one has to do.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_EMULATION_RUNNINGBLOCK_H
#define LLMMEM_LIB_EMULATION_RUNNINGBLOCK_H

#include "AsyncCopies.h"
#include "AsyncMultiplies.h"
#include "Block.h"

namespace llmmem::emulation {

struct RunningBlock {
  /// Shared memory is undefined when a block begins, so earlier accesses are forgotten.
  Now sinceBlock() const {
    Now since = now;
    since.launch = now.block;
    return since;
  }
  void noteVisit(const Thread &thread, int64_t site) {
    if (!visit.thread)
      visit = {&thread, site};
  }

  int64_t rank = 0;   // In its cluster.
  uint32_t begun = 0; // When it began, a time of its own.
  Now now;
  std::vector<Thread> threads;
  std::vector<uint32_t> warpBarriers; // Counts by warp those passed since the epoch began.

  struct SharedMemory {
    std::unique_ptr<char, decltype(&std::free)> bytes{nullptr, &std::free};
    int64_t capacity = 0;
  } shared;
  AccessHistory history{0};
  AsyncCopies copies;
  AsyncMultiplies multiplies;
  /// Holds another block's first access of this block's shared memory since the blocks last met.
  struct Visit {
    const Thread *thread = nullptr;
    int64_t site = -1;
  } visit;

  FiberStacks stacks;
  std::vector<std::unique_ptr<Fiber>> fibers;
};

} // namespace llmmem::emulation

#endif // LLMMEM_LIB_EMULATION_RUNNINGBLOCK_H
