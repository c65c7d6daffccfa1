//===- State.h - The launch at hand, and what is known of memory -----------===//

#ifndef LLMMEM_LIB_EMULATION_STATE_H
#define LLMMEM_LIB_EMULATION_STATE_H

#include "Buffers.h"
#include "BulkCopies.h"
#include "HostCopy.h"
#include "RunningBlock.h"
#include <deque>
#include <unordered_map>

namespace llmmem::emulation {

class Emulator::State {
public:
  explicit State(Program program) : program(std::move(program)) {}

  void addBuffer(char *begin, int64_t bytes, Contents contents);
  void beginStep();
  void endStep();
  void announce(int64_t number) { call = number; }
  void launch(int64_t number, KernelFunction function, const uint64_t *arguments,
              const int64_t *shape);

  /// A call of the runtime: all bytes are read, or all written.
  void accessByRuntime(char *begin, int64_t bytes, int64_t parameter);

  /// A copy between the memories of device and host, or an update on the host, which may be in
  /// flight from here on; and the wait for the first one of a queue.
  void copyHost(HostCopy copy, int64_t direction, bool isStarted);
  void updateOnHost(const HostUpdate &update, bool isStarted);
  void waitForHost(int64_t queue);

  /// Whether the thread may access the bytes; otherwise records a fault, and the thread must halt.
  bool mayAccess(const Thread &thread, int64_t number, int64_t base, int64_t offset, int64_t bytes);
  /// The same for the read of a copy, which may read less than it writes.
  bool mayCopy(const Thread &thread, int64_t number, int64_t base, int64_t offset, int64_t bytes);
  /// The same for the write of a copy to shared memory, which begins now and ends at an unknown
  /// time.
  bool startCopy(const Thread &thread, int64_t number, int64_t base, int64_t offset);
  /// The thread's copies in all but its newest `groups` groups have written what they write.
  void finishCopies(const Thread &thread, int64_t groups);
  AsyncCopies &copies() { return own->copies; }
  /// wgmma: whether the thread may start one, what the warpgroup of `group` multiplies when all its
  /// threads have, and whether the thread may take its sums. A thread's wgmma end where it waits.
  bool mayMultiply(const Thread &thread, int64_t number);
  bool multiply(Thread *group, int64_t number);
  bool mayTakeSums(const Thread &thread, int64_t number);
  void finishMultiplies(const Thread &thread, int64_t groups);
  AsyncMultiplies &asyncMultiplies() { return own->multiplies; }
  /// mbarriers, at addresses. Each is false after a fault, and the thread must halt.
  bool makeBarrier(const Thread &thread, int64_t number, int64_t address, int64_t arrivals);
  bool arrive(const Thread &thread, int64_t number, int64_t address, int64_t expectedBytes);
  /// At the mbarrier that block `rank` of the cluster has at this address.
  bool arriveAt(const Thread &thread, int64_t number, int64_t address, int64_t rank);
  bool mayWaitForPhase(const Thread &thread, int64_t number, int64_t address, int64_t parity);
  bool hasPhaseEnded(int64_t address, int64_t parity) const {
    return bulkCopies.hasEnded(placeOf(address), parity);
  }
  void learnPhase(const Thread &thread, int64_t address, int64_t parity) {
    bulkCopies.learn(memberOf(thread), placeOf(address), parity);
  }
  void fenceProxy(const Thread &thread);
  void fenceBarriers(const Thread &thread) { bulkCopies.fenceForCluster(memberOf(thread)); }
  void reportEndlessWait(const Thread &thread);
  bool mayEndBlock(const Thread &first);
  /// Where the bytes at `address` lie in the shared memory of block `rank` of the cluster, if the
  /// thread may access them there; otherwise 0 after a fault, and the thread must halt.
  char *visit(const Thread &thread, int64_t number, int64_t address, int64_t rank);
  /// A box of a matrix, as a tensor map says, to shared memory: site `number` reads and the next
  /// one writes. With `blocks`, to that of each block of the cluster whose bit is set, and for the
  /// mbarrier that it has at the same place.
  struct Box {
    int64_t base, first, rows, columns, pitch, boxRows, row, column, to, barrier, blocks;
  };
  bool copyBox(const Thread &thread, int64_t number, const Box &box);
  bool maySynchronize(const Thread &thread, int64_t number, int32_t mask);
  bool mayShuffle(const Thread &thread, int64_t number, int32_t width);

  const Site &site(int64_t number) const { return program.sites[number]; }
  /// Orders all accesses of the threads so far before what follows: for a block, for one warp.
  void passBarrier();
  void passWarpBarrier(Thread *warp, size_t size);

  /// Keeps the first fault: of a thread in an op, or without a thread of the launch.
  void fail(const Thread *thread, std::optional<int64_t> site, std::string message,
            std::optional<int64_t> otherSite = {}, std::string otherMessage = {});
  /// The same for a call of the runtime.
  void failInRuntime(std::string message);
  const Fault *fault() const { return found ? &*found : nullptr; }

private:
  bool checkShape();
  std::string meetsFlight(const HostBytes &bytes, bool writes, int64_t behind = -1) const;
  bool mayReadAs(Buffer &buffer, const HostBytes &bytes, int64_t value, const char *verb);
  bool bind(const Launch &launch, const uint64_t *words);
  Buffer *bufferOf(const char *begin, int64_t bytes);
  bool bindArgument(size_t number, char *begin, int64_t bytes);
  void takeCallRecord(size_t number, const Launch &launch);
  void watch();
  void recordBegins();
  int64_t argumentAt(const Site &site, int64_t base) const;
  bool allocateShared();
  bool allocateStacks(size_t count);
  void runBlocks(KernelFunction function, const uint64_t *words);
  void prepareThreads(RunningBlock &block);
  void beginCluster(int64_t first);
  void beginBlock(RunningBlock &block, int64_t number);
  void runCluster(std::vector<Block> &runners);
  void passClusterBarrier();
  void mayEndCluster();
  bool mayVisit(const Thread &thread, int64_t number, RunningBlock &peer, int64_t first);
  RunningBlock *memberAt(const Thread &thread, int64_t number, int64_t rank);
  bool mayReach(const Thread &thread, int64_t number, RunningBlock &peer);
  bool goesOn(std::vector<Block> &runners, std::vector<Block::Progress> &progress);
  uint32_t nextTime(int32_t block);
  int64_t blockAt(uint32_t time) const;
  bool runThreadsSequentially(KernelFunction function, const uint64_t *words, int64_t blocks);

  bool isInside(const Thread &thread, int64_t number, int64_t first, int64_t limit, int64_t offset,
                int64_t bytes);
  bool mayReadTable(const Thread &thread, int64_t number, int64_t offset);
  bool mayAccessShared(const Thread &thread, int64_t number, int64_t first, int64_t bytes);
  bool mayReadTile(const Thread *group, int64_t number, const AsyncMultiplies::Chunks &chunks);
  /// Whether no wgmma may still read the bytes; else fails: the thread `verb` them.
  bool isFreeOfWgmma(const Thread &thread, int64_t number, const std::string &verb, int64_t first,
                     int64_t bytes) {
    return isFreeOfWgmma(thread, number, verb, *own, first, bytes);
  }
  bool isFreeOfWgmma(const Thread &thread, int64_t number, const std::string &verb,
                     const RunningBlock &of, int64_t first, int64_t bytes);
  bool mayWriteTile(const Thread &thread, int64_t number, int64_t first, int64_t bytes);
  bool mayAccessFilled(const Thread &thread, int64_t number, int64_t first, int64_t bytes);
  bool mayOverwrite(const Thread &thread, int64_t number, int64_t first, int64_t bytes);
  bool mayFill(const Thread &thread, int64_t number, RunningBlock &target, int64_t first);
  bool fillBox(const Thread &thread, int64_t number, const Box &box, RunningBlock &target,
               const std::vector<char> &rows);
  bool readBox(const Thread &thread, int64_t number, const Box &box, std::vector<char> &rows);
  std::vector<RunningBlock *> targetsOf(const Thread &thread, int64_t number, const Box &box);
  bool report(const Thread &thread, int64_t number, const BulkCopies::Problem &problem);
  int64_t byteOf(int64_t address) const { return address - reinterpret_cast<int64_t>(own->shared); }
  /// The block's own byte, and its thread, as `bulkCopies` counts them.
  int64_t placeOf(int64_t address) const { return bulkCopies.placeOf(own->rank, byteOf(address)); }
  int64_t memberOf(const Thread &thread) const {
    return bulkCopies.memberOf(own->rank, thread.number);
  }
  /// "shared memory", of the running block or of another one.
  std::string nameOfShared(const RunningBlock &of) const;
  bool isInShared(const Thread &thread, int64_t number, int64_t address, int64_t bytes);
  bool mayAccessArgument(const Thread &thread, int64_t number, Argument &argument, int64_t first,
                         int64_t bytes);
  /// Of thread `whose` of the block `of`; `what` is done to a byte, up to its place.
  bool reportUnfinishedCopy(const Thread &thread, int64_t number, const std::string &what,
                            const RunningBlock &of, int64_t byte, const char *whose = "");
  bool reportRace(const Thread &thread, int64_t number, const AccessHistory::Race &race,
                  int64_t byte);
  std::string nameOf(const Site &site) const;

  Program program;
  std::vector<std::unique_ptr<Buffer>> buffers; // by address
  int64_t call = -1;
  std::optional<Fault> found;
  std::array<std::deque<HostFlight>, kHostQueues> flights; // started and not waited for

  // The current launch.
  int64_t launchNumber = 0;
  const Kernel *kernel = nullptr;
  Triple grid = {1, 1, 1}, block = {1, 1, 1};
  int64_t dynamicBytes = 0;
  std::vector<Argument> arguments;
  /// The arguments that begin at an address: one that is written and one that is not, if they
  /// alias.
  struct BeginsHere {
    int64_t written = -1, readOnly = -1;
  };
  std::unordered_map<uint64_t, BeginsHere> begins;
  /// The argument of the current access, or the block whose shared memory it is of.
  int64_t accessed = 0, visited = 0;
  uint32_t time = 0, launchTime = 0;
  std::vector<uint32_t> blockTimes; // when each block began
  BlocksByTime clusterTimes;        // of a launch of clusters
  int64_t sharedBytes = 0;

  /// The blocks of a cluster, or one block; and the one whose threads run.
  std::vector<std::unique_ptr<RunningBlock>> running;
  RunningBlock *own = nullptr;
  BulkCopies bulkCopies; // of all of them
};

/// (1, 0, 0)
std::string textOf(Triple numbers);
/// The ids of thread or block number `linear`.
inline Triple idsIn(int64_t linear, Triple sizes) {
  return {linear % sizes[0], linear / sizes[0] % sizes[1], linear / sizes[0] / sizes[1]};
}

} // namespace llmmem::emulation

#endif // LLMMEM_LIB_EMULATION_STATE_H
