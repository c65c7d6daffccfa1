//===- BlockState.h - The blocks that run, their times and their shared memory -===//

#ifndef LLMMEM_LIB_EMULATION_BLOCKSTATE_H
#define LLMMEM_LIB_EMULATION_BLOCKSTATE_H

#include "BulkCopies.h"
#include "LaunchState.h"
#include "RunningBlock.h"

namespace llmmem::emulation {

class BlockState : public LaunchState {
public:
  AsyncCopies &copies() { return own->copies; }
  AsyncMultiplies &asyncMultiplies() { return own->multiplies; }
  /// Orders all accesses of the threads so far before what follows: for a block, for one warp.
  void passBarrier();
  void passWarpBarrier(Thread *warp, size_t size);

protected:
  using LaunchState::LaunchState;

  uint32_t nextTime(int32_t block);
  int64_t blockAt(uint32_t time) const;
  RunningBlock *memberAt(const Thread &thread, int64_t number, int64_t rank);
  bool mayReach(const Thread &thread, int64_t number, RunningBlock &peer);
  int64_t byteOf(int64_t address) const {
    return address - reinterpret_cast<int64_t>(own->shared.bytes.get());
  }
  Mbarriers &mbarriers() { return bulkCopies.mbarriers(); }
  const Mbarriers &mbarriers() const { return bulkCopies.mbarriers(); }
  /// Return a byte of a block, and the running block's own byte and thread, as `ClusterPlaces`
  /// counts them.
  int64_t placeIn(const RunningBlock &of, int64_t byte) const {
    return mbarriers().cluster().placeOf(of.rank, byte);
  }
  int64_t placeOf(int64_t address) const { return placeIn(*own, byteOf(address)); }
  int64_t memberOf(const Thread &thread) const {
    return mbarriers().cluster().memberOf(own->rank, thread.number);
  }
  bool isInside(const Thread &thread, int64_t number, int64_t first, int64_t limit, int64_t offset,
                int64_t bytes);
  bool isInShared(const Thread &thread, int64_t number, int64_t address, int64_t bytes);

  std::string nameOf(const Site &site) const;
  /// Returns "shared memory", of the running block or of another one.
  std::string nameOfShared(const RunningBlock &of) const;
  bool report(const Thread &thread, int64_t number, const Problem &problem);
  /// Reports thread `whose` of the block `of`; `what` says what is done to a byte, up to its place.
  bool reportUnfinishedCopy(const Thread &thread, int64_t number, const std::string &what,
                            const RunningBlock &of, int64_t byte, const char *whose = "");
  bool reportRace(const Thread &thread, int64_t number, const AccessHistory::Race &race,
                  int64_t byte);

  uint32_t time = 0;
  std::vector<uint32_t> blockTimes; // when each block began
  BlocksByTime clusterTimes;        // of a launch of clusters
  int64_t sharedBytes = 0;

  /// Hold the blocks of a cluster, or one block, and point to the one whose threads run.
  std::vector<std::unique_ptr<RunningBlock>> running;
  RunningBlock *own = nullptr;
  BulkCopies bulkCopies; // of all of them
};

} // namespace llmmem::emulation

#endif // LLMMEM_LIB_EMULATION_BLOCKSTATE_H
