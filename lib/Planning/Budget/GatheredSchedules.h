//===- GatheredSchedules.h - Which schedules of a descent are worth placing -------===//
//
// Among schedules that hold about as little, some pack and some do not. A first try by two
// heuristics tells which in a tenth of the time of a search for offsets, and a failure predicts
// that of schedules that are nearly alike.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_GATHEREDSCHEDULES_H
#define LLMMEM_LIB_PLANNING_BUDGET_GATHEREDSCHEDULES_H

#include "DescentState.h"

namespace llmmem::planning {

struct GatheredSchedule {
  Candidate candidate;
  bool isLowered; // made step by step for fewer and fewer bytes
  bool isPlaced = false, hasFailed = false;
  std::optional<int64_t> firstFootprint = std::nullopt; // set where it had a first try
};

class GatheredSchedules {
public:
  explicit GatheredSchedules(DescentState &state) : state(state) {}

  /// Adds those of `candidates` that may be within `budget`, and returns the one of the least peak
  /// among them, or null where there is none. Of those of equal cost and peak, it adds the first
  /// alone: placing takes up to tens of milliseconds, and two such were seen to pack alike.
  const Candidate *add(llvm::ArrayRef<Candidate> candidates, int64_t budget,
                       bool isLowered = false);
  bool isEmpty() const { return schedules.empty(); }
  const Candidate &leastMemory() const;
  Candidates all() const;
  /// Sorts the schedules by cost and returns them.
  llvm::MutableArrayRef<GatheredSchedule> cheapestFirst();
  /// Returns the schedule to be placed next, or null where none may have a smaller footprint.
  GatheredSchedule *likeliestUnplaced();

  /// Records that the offsets of such a schedule were searched in vain.
  void addFailure(const Candidate &candidate) {
    failed.push_back({candidate.peak, candidate.cost});
  }
  bool hasFailed() const { return !failed.empty(); }
  /// Says whether a search may place within `budget` a schedule whose first try has this footprint.
  bool isNear(int64_t firstFootprint, int64_t budget) const;
  bool isLikely(GatheredSchedule &schedule, int64_t budget) const;
  bool isUnlikely(GatheredSchedule &schedule);

private:
  struct Failure {
    int64_t peak, cost;
  };
  int64_t firstFootprintOf(GatheredSchedule &schedule) const;
  int64_t firstExcessOf(GatheredSchedule &schedule) const;
  bool areAlike(const Candidate &candidate, int64_t peak, int64_t cost, int nearer) const;
  bool isLikeFailed(const Candidate &candidate) const;
  bool isTwin(const Candidate &candidate, const Candidate &other) const;
  llvm::SmallVector<GatheredSchedule *> leastUnplaced();

  DescentState &state;
  std::vector<GatheredSchedule> schedules;
  std::vector<Failure> failed;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_GATHEREDSCHEDULES_H
