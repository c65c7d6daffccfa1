//===- Mbarriers.h - The mbarriers of a cluster, and who knows of their phases -===//
//
// A thread knows only of the ends of phases that it, or a thread that has arrived at what it has
// waited for, must have waited for, however far the emulator has run. So the result does not depend
// on the order in which threads run. A wait for the parity of the phase before the one that has to
// end next says nothing new. Where that one has ended meanwhile, it depends on timing whether the
// wait is for the next one or for none, which is a fault. An arrival orders what its own thread has
// done before, not what others have.
//
// Blocks of a cluster arrive at each other's mbarriers. The same holds there, across blocks, and
// another block may use an mbarrier after its maker's fence.mbarrier.init and a barrier of the
// cluster. An arrival does not publish a thread's own stores to other blocks (Clusters.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_EMULATION_MBARRIERS_H
#define LLMMEM_LIB_EMULATION_MBARRIERS_H

#include "ClusterPlaces.h"
#include "VectorClocks.h"
#include <unordered_map>
#include <vector>

namespace llmmem::emulation {

/// Names a phase of an mbarrier by the number in which it was made, which is below 0 for none.
struct MbarrierPhase {
  int32_t barrier = -1;
  uint32_t phase = 0;
};

/// Tracks mbarriers by the place of their first byte (`ClusterPlaces`).
class Mbarriers {
public:
  static constexpr int64_t kBytes = 8;

  explicit Mbarriers(ClusterPlaces places) : places(places) {}

  /// Prepares for the next cluster, whose blocks have this number of threads.
  void forget(size_t threadsOfBlock);
  bool areUsed() const { return !barriers.empty(); }
  const ClusterPlaces &cluster() const { return places; }

  Problem make(int64_t thread, int64_t place, int64_t arrivals, int64_t site);
  /// Makes what the thread has made visible to copies and, by fence.mbarrier.init, to other blocks.
  void fence(int64_t thread);
  void fenceForCluster(int64_t thread);
  /// Arrives, after it has said that copies will write this much in the current phase.
  Problem arrive(int64_t thread, int64_t place, int64_t expectedBytes = 0);
  /// Returns whether the phase of this parity has ended, and records what the thread knows from
  /// then on.
  Problem mayWait(int64_t thread, int64_t place, int64_t parity) const;
  bool hasEnded(int64_t place, int64_t parity) const;
  void learn(int64_t thread, int64_t place, int64_t parity);
  /// Says why the phase has not ended, for the message that no thread will end it.
  Problem whatIsMissing(int64_t thread, int64_t place) const;
  /// Orders everything that the threads of some neighbouring blocks have done so far before what
  /// follows.
  void passBarrier(int64_t firstRank, int64_t ranks);
  /// Returns whether one of these bytes belongs to an mbarrier.
  bool lieIn(int64_t first, int64_t bytes) const;

  /// Precedes a copy in the current phase of the mbarrier.
  Problem mayCopy(int64_t thread, int64_t place) const;
  /// Returns the phase that ends after the copy of `site`.
  MbarrierPhase copyInPhase(int64_t place, int64_t site);
  /// Says that this many bytes are copied.
  Problem countCopy(int64_t thread, int64_t place, int64_t bytes);
  /// Checks the end of all threads of a block.
  Problem mayEnd(int64_t rank) const;

  /// Returns whether the thread has waited for the phase's end.
  bool hasWaited(int64_t thread, MbarrierPhase of) const;
  /// Does the same for it, or for a thread that has arrived at what it has waited for.
  bool hasHeard(int64_t thread, MbarrierPhase of) const;
  std::string nameOf(int64_t thread, MbarrierPhase of) const;
  /// Returns the clocks of threads, whose events are arrivals and barriers.
  const VectorClocks &clocks() const { return arrivals; }

private:
  struct Phase {
    /// Hold who has arrived, and at which event of that thread.
    std::vector<std::pair<int64_t, uint32_t>> arrivals;
    /// Indexed by barrier: how many ends those that have arrived knew of.
    std::vector<uint32_t> known;
  };
  struct Barrier {
    int64_t place, arrivals, site, maker;
    bool isFenced = false, isFencedForCluster = false;
    /// Indexed by rank: whether a barrier has told all threads of the block.
    std::vector<bool> isKnown = {};
    /// Counts what the current phase lacks: arrivals, and bytes that are still to be copied.
    struct Missing {
      int64_t arrivals = 0, bytes = 0;
    } missing = {};
    /// The last one is the current one.
    std::vector<Phase> phases = {{}};
    /// Count for each thread the ends that it knows of: it has waited for them, or for threads that
    /// had.
    std::vector<uint32_t> known = {}, heard = {};
    struct Copy {
      int64_t phase = -1, site = -1;
    } lastCopy = {};

    int64_t ended() const { return static_cast<int64_t>(phases.size()) - 1; }
  };

  int64_t find(int64_t place) const;
  Problem mayUse(int64_t thread, int64_t place) const;
  Problem endPhase(int64_t thread, Barrier &barrier);

  ClusterPlaces places;
  std::vector<Barrier> barriers;
  std::unordered_map<int64_t, int64_t> numbers; // Barriers by place.
  VectorClocks arrivals;
};

} // namespace llmmem::emulation

#endif // LLMMEM_LIB_EMULATION_MBARRIERS_H
