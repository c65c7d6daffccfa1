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
  RunningBlock() = default;
  RunningBlock(const RunningBlock &) = delete;
  RunningBlock &operator=(const RunningBlock &) = delete;
  ~RunningBlock() { std::free(shared); }

  /// Shared memory is undefined when a block begins, so earlier accesses are forgotten.
  Now sinceBlock() const {
    Now since = now;
    since.launch = now.block;
    return since;
  }

  int64_t rank = 0;   // In its cluster.
  uint32_t begun = 0; // When it began, a time of its own.
  Now now;
  std::vector<Thread> threads;
  std::vector<uint32_t> warpBarriers; // Counts by warp those passed since the epoch began.

  char *shared = nullptr;
  int64_t sharedCapacity = 0;
  AccessHistory history{0};
  AsyncCopies copies;
  AsyncMultiplies multiplies;
  /// This is another block's access of this block's shared memory since the blocks last met.
  const Thread *visitor = nullptr;
  int64_t siteOfVisitor = -1;

  FiberStacks stacks;
  std::vector<std::unique_ptr<Fiber>> fibers;
};

} // namespace llmmem::emulation

#endif // LLMMEM_LIB_EMULATION_RUNNINGBLOCK_H
