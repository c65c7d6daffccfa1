//===- CopySearch.h - The shortest plan with copies from given schedules ---------===//
//
// Takes schedules of the device and answers with the shortest plan that fits both memories. How
// values are chosen to be absent, how many bytes are spared for copies in flight and how early
// copies start is searched. So is, at last, which values are computed again instead of copied, and
// the other way round: schedules of the device know nothing of the link.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_OFFLOAD_COPYSEARCH_H
#define LLMMEM_LIB_PLANNING_OFFLOAD_COPYSEARCH_H

#include "BothArenas.h"
#include "CopyOrder.h"
#include <memory>

namespace llmmem::planning {

/// Which schedules are changed by computing values again that they copy, and the other way round.
enum class Exchanges : uint8_t { None, OfBest, OfBestAndOnce };

class CopySearch {
public:
  /// `work` bounds the descent (steps visited), `packWork` the search for offsets of each plan. All
  /// are referred to.
  CopySearch(const Problem &problem, const OffloadShape &shape, const Graph &device, int64_t work,
             int64_t packWork);

  /// Tries a schedule of the device; equal ones are tried once.
  void add(const std::vector<OpIndex> &steps);

  /// The least capacity of the device for which copies make any schedule fit, and the schedule's
  /// plan; nothing where there is no schedule.
  std::optional<Plan> leastNeed() const;

  /// The shortest plan within the budgets; nothing where none was found. With `exchanges` other
  /// values may be computed again than in the schedules that were added: starting from the best
  /// one, and from the one that computes nothing again.
  std::optional<Plan> shortest(Exchanges exchanges);

  /// The time of the shortest found so far, before placement; the largest number where there is
  /// none.
  int64_t bestTime() const;

private:
  using Values = std::shared_ptr<const AbsentValues>;
  /// Holds a schedule with evicted values, and when its copies run.
  struct Candidate {
    Values values;
    std::vector<int32_t> gaps;
    CopyLimits limits;
    CopyOrder order;
  };

  Capacities capacities() const;
  void tryAll(const Values &values, const Capacities &within);
  void tryOne(const Values &values, const std::vector<int32_t> &gaps, const Capacities &within);
  bool keepMore();
  /// The longest time that `keep` keeps.
  int64_t mostKept() const;
  std::optional<Candidate> shortestOf(std::vector<OpIndex> steps, int64_t mostTime = INT64_MAX);
  bool runAgain(Candidate &candidate);
  bool copyInstead(Candidate &candidate);
  void exchangeAll(Exchanges exchanges);
  void improve(Exchanges exchanges);
  std::optional<Candidate> ordered(const Values &values, std::vector<int32_t> gaps,
                                   const CopyLimits &limits);
  void keep(Candidate candidate);
  bool descend(Candidate &candidate, const Capacities &within);
  std::optional<Plan> placed(const Candidate &candidate) const;
  std::optional<Plan> repaired(Candidate candidate);

  const Problem &problem;
  const OffloadShape &shape;
  const Graph &device;
  const BothArenas arenas;
  int64_t workLeft;
  const int64_t exchangeWork, packWork;
  std::vector<Values> schedules;
  std::vector<Candidate> best; // shortest first
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_OFFLOAD_COPYSEARCH_H
