//===- AsyncState.h - What overlaps the threads: wgmma, and copies by tensor maps -===//

#ifndef LLMMEM_LIB_EMULATION_ASYNCSTATE_H
#define LLMMEM_LIB_EMULATION_ASYNCSTATE_H

#include "AccessState.h"

namespace llmmem::emulation {

class AsyncState : public AccessState {
public:
  /// Handle wgmma: whether the thread may start one, what the warpgroup of `group` multiplies when
  /// all its threads have arrived, and whether the thread may use its sums. A thread's wgmma end
  /// where it waits.
  bool mayMultiply(const Thread &thread, int64_t number);
  bool multiply(Thread *group, int64_t number);
  bool mayTakeSums(const Thread &thread, int64_t number);
  void finishMultiplies(const Thread &thread, int64_t groups);

  /// Handle mbarriers, at addresses. Each returns false after a fault, and the thread must halt.
  bool makeBarrier(const Thread &thread, int64_t number, int64_t address, int64_t arrivals);
  bool arrive(const Thread &thread, int64_t number, int64_t address, int64_t expectedBytes);
  /// Arrives at the mbarrier that block `rank` of the cluster has at this address.
  bool arriveAt(const Thread &thread, int64_t number, int64_t address, int64_t rank);
  bool mayWaitForPhase(const Thread &thread, int64_t number, int64_t address, int64_t parity);
  bool hasPhaseEnded(int64_t address, int64_t parity) const {
    return mbarriers().hasEnded(placeOf(address), parity);
  }
  void learnPhase(const Thread &thread, int64_t address, int64_t parity) {
    mbarriers().learn(memberOf(thread), placeOf(address), parity);
  }
  void fenceProxy(const Thread &thread);
  void fenceBarriers(const Thread &thread) { mbarriers().fenceForCluster(memberOf(thread)); }
  void reportEndlessWait(const Thread &thread);
  bool mayEndBlock(const Thread &first);

  /// Copies a box of a matrix, described by a tensor map, to shared memory: site `number` reads and
  /// the next one writes. With `blocks`, copies it to that of each block of the cluster whose bit
  /// is set, for the mbarrier that it has at the same place.
  struct Box {
    int64_t base, first, rows, columns, pitch, boxRows, row, column, to, barrier, blocks;
  };
  bool copyBox(const Thread &thread, int64_t number, const Box &box);

protected:
  using AccessState::AccessState;

private:
  bool mayReadTile(const Thread *group, int64_t number, const AsyncMultiplies::Chunks &chunks);
  bool mayFill(const Thread &thread, int64_t number, RunningBlock &target, int64_t first);
  bool fillBox(const Thread &thread, int64_t number, const Box &box, RunningBlock &target,
               const std::vector<char> &rows);
  bool readBox(const Thread &thread, int64_t number, const Box &box, std::vector<char> &rows);
  std::vector<RunningBlock *> targetsOf(const Thread &thread, int64_t number, const Box &box);
};

} // namespace llmmem::emulation

#endif // LLMMEM_LIB_EMULATION_ASYNCSTATE_H
