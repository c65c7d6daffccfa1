//===- State.h - The launch at hand, block after block --------------------===//

#ifndef LLMMEM_LIB_EMULATION_STATE_H
#define LLMMEM_LIB_EMULATION_STATE_H

#include "AsyncState.h"

namespace llmmem::emulation {

class Emulator::State : public AsyncState {
public:
  explicit State(Program program) : AsyncState(std::move(program)) {}

  void launch(int64_t number, KernelFunction function, const uint64_t *arguments,
              const int64_t *shape);

private:
  bool checkShape();
  bool allocateShared();
  bool allocateStacks(size_t count);
  void runBlocks(KernelFunction function, const uint64_t *words);
  void prepareThreads(RunningBlock &block);
  void beginCluster(int64_t first);
  void beginBlock(RunningBlock &block, int64_t number);
  void runCluster(std::vector<Block> &runners);
  void passClusterBarrier();
  void mayEndCluster();
  bool goesOn(std::vector<Block> &runners, std::vector<Block::Progress> &progress);
  bool runThreadsSequentially(KernelFunction function, const uint64_t *words, int64_t blocks);

  int64_t dynamicBytes = 0;
  uint32_t launchTime = 0;
};

} // namespace llmmem::emulation

#endif // LLMMEM_LIB_EMULATION_STATE_H
