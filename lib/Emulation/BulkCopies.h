//===- BulkCopies.h - mbarriers, and copies that end with their phases ------===//
//
// cp.async.bulk writes shared memory at some time between its issue and the end of the phase of its
// mbarrier (PTX ISA, "mbarrier"; BarrierObject.h). The bytes that such copies have filled obey two
// rules:
//
//   - a thread may read those whose phase it knows to have ended: it has waited for it itself, or
//     passed a barrier of the block after a thread that had;
//   - a copy, or a store, may overwrite those whose readers have all arrived at an mbarrier, or
//     passed a barrier of the block, since, as far as the copying thread knows.
//
//   thread 0: wait empty, phase 0    arrive and expect full    copy to [0, 1024)
//   thread 1:                        wait full, phase 0        read [0, 16)    arrive at empty
//   thread 0: wait empty, phase 1    arrive and expect full    copy to [0, 1024)
//
// A thread knows only of the ends that it, or a thread that has arrived at what it has waited for,
// must have waited for, however far the emulator has run. So the result does not depend on the
// order in which threads run. A wait for the parity of the phase before the one that has to end
// next says nothing new. Where that one has ended meanwhile, it depends on timing whether the wait
// is for the next one or for none, which is a fault. An arrival orders what its own thread has done
// before, not what others have.
//
// Blocks of a cluster arrive at each other's mbarriers and copy to each other's shared memory
// (multicast). The same holds there, across blocks, and another block may use an mbarrier after its
// maker's fence.mbarrier.init and a barrier of the cluster. An arrival does not publish a thread's
// own stores to other blocks (Clusters.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_EMULATION_BULKCOPIES_H
#define LLMMEM_LIB_EMULATION_BULKCOPIES_H

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace llmmem::emulation {

/// Tracks the copies of the blocks of one cluster, or of one block. Threads, and bytes of shared
/// memory, are counted over all blocks, one after another: `placeOf`, `memberOf`. Shared memory is
/// filled and read in chunks of 16 bytes.
class BulkCopies {
public:
  static constexpr int64_t kChunkBytes = 16, kBarrierBytes = 8;

  /// Says why a thread must not do what it is about to do, with another op that is to blame. An
  /// empty message means that it may.
  struct Problem {
    std::string message;
    int64_t site = -1;
    std::string ofSite;

    explicit operator bool() const { return !message.empty(); }
  };

  /// `bytesOfBlock` is a multiple of a chunk.
  explicit BulkCopies(int64_t bytesOfBlock = 0, int64_t blocks = 1)
      : bytesOfBlock(bytesOfBlock), blocks(blocks), fills(blocks * bytesOfBlock / kChunkBytes + 1),
        readers(fills.size()) {}

  int64_t placeOf(int64_t rank, int64_t byte) const { return rank * bytesOfBlock + byte; }
  int64_t memberOf(int64_t rank, int64_t thread) const { return rank * threadsOfBlock + thread; }
  /// Returns whether there is room for this much.
  bool holds(int64_t bytes, int64_t ofBlocks) const {
    return bytes <= bytesOfBlock && ofBlocks == blocks;
  }

  /// Prepares for the next cluster, whose blocks have this number of threads.
  void forget(size_t numThreads);
  bool isUsed() const { return !barriers.empty(); }

  //===--------------------------------------------------------------------===//
  // mbarriers, by the byte of shared memory where they lie
  //===--------------------------------------------------------------------===//

  Problem make(int64_t thread, int64_t byte, int64_t arrivals, int64_t site);
  /// Makes what the thread has made visible to copies and, by fence.mbarrier.init, to other blocks.
  void fence(int64_t thread);
  void fenceForCluster(int64_t thread);
  Problem arrive(int64_t thread, int64_t byte);
  Problem arriveExpecting(int64_t thread, int64_t byte, int64_t bytes);
  /// Returns whether the phase of this parity has ended, and records what the thread knows from
  /// then on.
  Problem mayWait(int64_t thread, int64_t byte, int64_t parity) const;
  bool hasEnded(int64_t byte, int64_t parity) const;
  void learn(int64_t thread, int64_t byte, int64_t parity);
  /// Says why the phase has not ended, for the message that nobody will end it.
  Problem whatIsMissing(int64_t thread, int64_t byte) const;
  /// Orders everything that a block's threads have done so far, or those of all blocks, before what
  /// follows.
  void passBlockBarrier(int64_t rank) { passBarrier(rank, 1); }
  void passClusterBarrier() { passBarrier(0, blocks); }
  /// Returns whether one of these bytes belongs to an mbarrier.
  bool isOfBarrier(int64_t first, int64_t bytes) const;
  /// Returns whether mbarriers, or copies that they count, have written some of these bytes.
  bool touches(int64_t first, int64_t bytes) const;

  //===--------------------------------------------------------------------===//
  // Copies
  //===--------------------------------------------------------------------===//

  bool isFilled(int64_t chunk) const { return fills[chunk].barrier >= 0; }
  Problem mayRead(int64_t thread, int64_t chunk) const;
  /// Says that the thread has read the chunk by now.
  void read(int64_t thread, int64_t chunk);
  Problem mayFill(int64_t thread, int64_t chunk) const { return mayReplace(thread, chunk, true); }
  /// Does the same for a store, after which the chunk is not filled any more.
  Problem mayStore(int64_t thread, int64_t chunk) const { return mayReplace(thread, chunk, false); }
  void forgetFill(int64_t chunk) {
    fills[chunk] = {};
    readers[chunk].clear();
  }
  /// Precedes a copy in the current phase of the mbarrier at `byte`.
  Problem mayCopy(int64_t thread, int64_t byte) const;
  void fill(int64_t thread, int64_t byte, int64_t chunk, int64_t site);
  /// Says that all of a copy's chunks are filled.
  Problem countCopy(int64_t thread, int64_t byte, int64_t bytes);
  /// Checks the end of all threads of a block.
  Problem mayEnd(int64_t rank) const;

private:
  struct Arrival {
    int64_t thread;
    uint32_t number; // The thread's arrivals so far, this one included.
  };
  struct Phase {
    std::vector<Arrival> arrivals;
    /// Indexed by barrier: how many ends those that have arrived knew of.
    std::vector<uint32_t> known;
  };
  struct Barrier {
    int64_t byte, arrivals, site, maker;
    bool isFenced = false, isFencedForCluster = false;
    /// Indexed by rank: whether a barrier has told all threads of the block.
    std::vector<bool> isKnown;
    /// Count, for the current phase, missing arrivals, and bytes that are still to be copied.
    int64_t missing = 0, bytes = 0;
    /// The last one is the current one.
    std::vector<Phase> phases = {{}};
    /// Count for each thread the ends that it knows of: it has waited for them, or for threads that
    /// had.
    std::vector<uint32_t> known, heard;
    int64_t lastCopied = -1, siteOfCopy = -1;

    int64_t ended() const { return static_cast<int64_t>(phases.size()) - 1; }
  };
  struct Fill {
    int32_t barrier = -1;
    uint32_t phase = 0;
    int64_t site = -1;
  };

  int64_t find(int64_t byte) const {
    auto known = places.find(byte);
    return known == places.end() ? -1 : known->second;
  }
  int64_t threads() const { return blocks * threadsOfBlock; }
  int64_t rankOf(int64_t thread) const { return thread / threadsOfBlock; }
  /// Returns "byte 16 of shared memory", as the thread sees it, or of that of another block.
  std::string nameOf(int64_t thread, int64_t byte) const;
  std::string barrierAt(int64_t thread, int64_t byte) const;
  std::string nameOfThread(int64_t thread, int64_t other) const;
  Problem mayUse(int64_t thread, int64_t byte) const;
  Problem mayReplace(int64_t thread, int64_t chunk, bool isCopy) const;
  void tell(int64_t thread, Phase &phase) const;
  Problem endPhase(int64_t thread, Barrier &barrier);
  void passBarrier(int64_t firstRank, int64_t ranks);
  /// Returns the most phases of a barrier whose end a thread of the block knows.
  int64_t mostKnown(const Barrier &barrier, int64_t rank) const;
  uint32_t &knownArrivals(int64_t thread, int64_t of) { return knows[thread * threads() + of]; }
  uint32_t knownArrivals(int64_t thread, int64_t of) const {
    return knows[thread * threads() + of];
  }

  int64_t bytesOfBlock, blocks, threadsOfBlock = 0;
  std::vector<Barrier> barriers;
  std::unordered_map<int64_t, int64_t> places; // Barriers by byte.
  std::vector<Fill> fills;                     // Indexed by chunk.
  /// Holds by chunk who has read what fills it, and how many arrivals the reader had made by then.
  std::vector<std::vector<Arrival>> readers;
  std::vector<uint32_t> arrivals; // Indexed by thread.
  std::vector<uint32_t> knows;    // Indexed by thread and thread.
};

} // namespace llmmem::emulation

#endif // LLMMEM_LIB_EMULATION_BULKCOPIES_H
