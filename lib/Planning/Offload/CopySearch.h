//===- CopySearch.h - The shortest plan with copies from given schedules ---------===//
//
// The search takes schedules of the device and returns the shortest plan that fits both memories.
// It varies which values are evicted, how many bytes are spared for copies in flight, and how early
// copies start. Schedules of the device are made without regard to the link, so at the end the
// search recomputes some values instead of copying them, and the other way round.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_OFFLOAD_COPYSEARCH_H
#define LLMMEM_LIB_PLANNING_OFFLOAD_COPYSEARCH_H

#include "BothArenas.h"
#include "CopyOrder.h"
#include <memory>

namespace llmmem::planning {

/// Which schedules are changed by recomputing values that they copy, and the other way round.
enum class Exchanges : uint8_t { None, OfBest, OfBestAndOnce };

class CopySearch {
public:
  /// `work` bounds the descent, in steps visited, and `packWork` the search for the offsets of each
  /// plan. All references must outlive the search.
  CopySearch(const Problem &problem, const OffloadShape &shape, const Graph &device, int64_t work,
             int64_t packWork);

  /// Tries a schedule of the device. Equal schedules are tried once.
  void add(const std::vector<OpIndex> &steps);

  /// Finds, for each schedule, the least capacity of the device for which copies make it fit, and
  /// returns the plan of the least arena. Returns nothing where there is no schedule.
  std::optional<Plan> planOfLeastFootprint() const;

  /// Returns the shortest plan within the budgets, and nothing where none was found. `exchanges`
  /// allows recomputing other values than the schedules that were added do, starting from the best
  /// one, and from the one that recomputes nothing.
  std::optional<Plan> shortest(Exchanges exchanges);

  /// Returns the time of the shortest schedule found so far, before placement, and the largest
  /// number where there is none.
  int64_t bestTime() const;

private:
  using Values = std::shared_ptr<const EvictedValues>;
  /// Holds a schedule with evicted values, and when its copies run.
  struct CopyCandidate {
    Values values;
    std::vector<int32_t> intervals;
    CopyLimits limits;
    CopyOrder order;
  };

  Capacities capacities() const;
  void tryAll(const Values &values, const Capacities &within);
  void tryOne(const Values &values, const std::vector<int32_t> &intervals,
              const Capacities &within);
  bool keepMore();
  /// Returns the longest time that `keep` still keeps.
  int64_t mostKept() const;
  std::optional<CopyCandidate> shortestOf(std::vector<OpIndex> steps, int64_t mostTime = INT64_MAX);
  bool shorten(CopyCandidate &candidate, std::vector<OpIndex> steps);
  bool runAgain(CopyCandidate &candidate);
  bool copyInstead(CopyCandidate &candidate);
  void exchangeAll(Exchanges exchanges);
  void improve(Exchanges exchanges);
  std::optional<CopyCandidate> ordered(const Values &values, std::vector<int32_t> intervals,
                                       const CopyLimits &limits);
  void keep(CopyCandidate candidate);
  bool descend(CopyCandidate &candidate, const Capacities &within);
  std::optional<Plan> placed(const CopyCandidate &candidate) const;
  std::optional<Plan> repaired(CopyCandidate candidate);

  const Problem &problem;
  const OffloadShape &shape;
  const Graph &device;
  const BothArenas arenas;
  int64_t workLeft;
  const int64_t exchangeWork, packWork;
  std::vector<Values> schedules;
  std::vector<CopyCandidate> best; // shortest first
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_OFFLOAD_COPYSEARCH_H
