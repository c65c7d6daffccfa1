//===- Block.h - The threads of a block and their synchronization ---------===//

#ifndef LLMMEM_LIB_EMULATION_BLOCK_H
#define LLMMEM_LIB_EMULATION_BLOCK_H

#include "AccessHistory.h"
#include "Fiber.h"
#include "Fragments.h"
#include "Wgmma.h"
#include "llmmem/Emulation/Emulator.h"
#include "llmmem/Emulation/Hooks.h"

namespace llmmem::emulation {

constexpr int kWarp = 32;

/// Begins with the words that kernels read themselves. It has many fields because each kind of op
/// that waits leaves there what the thread reads when it continues.
struct Thread : ThreadWords {
  enum class Status { New, Ready, Waits, Ended };

  Emulator::State *emulator = nullptr;
  Fiber *fiber = nullptr;
  AccessRecord record; // Describes its current access.
  uint32_t number = 0; // In its block.
  Status status = Status::Ended;

  // Say where it waits for other threads; how many lanes of its warp, or whether all of its
  // warpgroup, must arrive (0: the whole block; -1: it waits for the mbarrier at `barrier`); and
  // the values that they exchange.
  int64_t site = 0;
  int32_t lanes = 0;
  int32_t offset = 0;
  Shuffled value = {0, 0};
  Fragments *fragments = nullptr;
  const char *row = nullptr; // For ldmatrix: what the lane names, and its words of the matrices.
  uint32_t *words = nullptr;
  float *sums = nullptr; // For wgmma.
  const uint32_t *wordsOfA = nullptr;
  std::array<uint64_t, 2> descriptors = {0, 0};
  int64_t barrier = 0; // The address of the mbarrier that it waits for; 0 means none.
  int32_t parity = 0;

  int lane() const { return number % kWarp; }
  Triple threadIds() const { return {thread[0], thread[1], thread[2]}; }
  Triple blockIds() const { return {block[0], block[1], block[2]}; }
  /// Suspends until the others have arrived.
  void wait(int64_t atSite, int32_t forLanes) {
    site = atSite, lanes = forLanes, status = Status::Waits;
    fiber->suspend();
  }
  void waitForPhase(int64_t atSite, int64_t ofBarrier, int32_t ofParity) {
    site = atSite, lanes = -1, barrier = ofBarrier, parity = ofParity, status = Status::Waits;
    fiber->suspend();
    barrier = 0;
  }
  /// A thread at fault does not continue.
  void halt() { fiber->suspend(); }
};

/// Runs the threads of one block, one block after another.
class Block {
public:
  enum class Progress { Begins, Faulty, Ended, WaitsForCluster, WaitsForPhase };

  Block(Emulator::State &emulator, KernelFunction kernel, const uint64_t *arguments)
      : emulator(emulator), kernel(kernel), arguments(arguments) {}

  void begin(std::vector<Thread> &threads);
  /// Runs threads, which switch where they synchronize, until all have ended or wait for the blocks
  /// of their cluster, or none can continue and some wait for the phase of an mbarrier.
  Progress run();
  /// Returns whether a thread has continued in the last run.
  bool hasMoved() const { return moved; }
  /// Reports the first thread that waits for a phase that nothing will end.
  void reportEndlessWait();
  /// Says that the blocks of the cluster have met.
  void release();

private:
  void proceed(Thread &thread);
  bool runWarp(size_t first);
  bool synchronizeWarp(Thread *warp, size_t size);
  bool synchronizeWarpgroup(size_t first);
  bool endWaitsForPhases();
  bool waitsForCluster() const;
  Thread *waitsForPhase() const;
  bool synchronizeBlock();
  void reportMissing(const Thread &waiting);
  std::pair<std::string, std::optional<int64_t>> whereabouts(const Thread &thread) const;

  Emulator::State &emulator;
  KernelFunction kernel;
  const uint64_t *arguments;
  std::vector<Thread> *threads = nullptr;
  bool moved = false;
};

/// Computes what PTX's ldmatrix gives each lane. Its word of matrix m, whose rows the lanes from 8
/// m on name, is elements 2 (lane % 4) and the next one of row lane / 4; if `transposed`, the same
/// of a column.
void loadMatrices(Thread *warp, int matrices, bool transposed);

/// Computes what PTX's shfl.sync gives each of `lanes` lanes, by the op's mode, from `value.bits`
/// and `offset`.
void shuffle(Thread *warp, int lanes, Site::Shuffle mode);

} // namespace llmmem::emulation

#endif // LLMMEM_LIB_EMULATION_BLOCK_H
