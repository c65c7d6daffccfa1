//===- OffloadSamples.h - More budget of the device, no longer step ---------------===//
//
// Searches for plans with copies are greedy, so a search under a larger budget may end at a longer
// step. So the plan of a budget does not come from a search under that budget, but from searches
// that depend on the problem alone, without the budget of the device:
//
//  - *Samples* are budgets, a fixed number of them for each halving of the arena of the plan that
//    recomputes nothing. Each has a search of its own; where recomputation alone is shorter, its
//    plan is that one. The last sample is the least footprint that was found, if that is below all
//    samples that have a plan. m(s), the answer of a sample s, is the shortest plan of s and of all
//    samples below it. Searching ends at a sample all of whose plans are proved to take at least as
//    long as the best one (OffloadBound.h), since then those of lower samples do as well. So few
//    samples are searched.
//  - Between a sample s and the next one above, s', budgets are bisected. The interval [u, a) has
//    the plan `low`, whose footprint is at most u, and the plan `high`, which takes less time. All
//    budgets from the footprint of `high` on get `high`, so the interval ends there. The middle m
//    is searched, starting also from the schedule of `high`, which does not depend on the given
//    budget. (`low` does, because plans that take as long as a known one are not searched.) A plan
//    of m whose time lies between those of both ends is the answer for all budgets from its
//    footprint to m; one interval remains below its footprint and one above m. With any other plan,
//    or none, `low` is the answer up to m.
//
// Claim: of two budgets that are at least the least footprint that was found, the larger one never
// has a longer step. Proof: the claim is true of samples, since m(s) is the minimum over a set that
// grows with s. Within an interval the plan of every budget takes at least as long as `high` and at
// most as long as `low`, by induction: each part of an interval has ends between these two, in
// falling order. Two budgets either end in one interval, where those from the footprint of `high`
// on have the shorter plan, or are separated at a middle or at a footprint. Then the plan of the
// smaller budget takes at least as long as the plan there, and that of the larger one at most as
// long. The claim is also true of the shorter one of this plan and of recomputation alone under the
// budget itself, since both are monotone: the cost of recomputation alone never rises with the
// budget (Budget/Frontier.h), and its step takes that cost, unless every step does work that is not
// in the problem. In that case only samples are used.
//
// On a device so small that schedules are searched exhaustively, the least cost takes the place of
// recomputation alone, and never rises with the budget, either. Where that search ends without a
// result, the frontier is used: the claim is then for budgets that were all answered in the same
// way.
//
// A budget below the least footprint has a search of its own, and nothing is promised about its
// time. Each variant of a step has its own least footprint. For all variants together the claim is
// true of budgets from the largest of these on. Below it, such a search may find a plan of one
// variant, and the samples of a larger budget a longer one.
//
// Example: the samples are 100 (time 50, footprint 97) and 91 (time 60). Budgets from 97 on take
// 50. The middle of 91 and 97 is 94, whose plan has time 55 and footprint 93. So budgets from 93 to
// 96 take 55, unless a plan of 95 is shorter, and 91 and 92 take 60, unless one of 92 is shorter.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_OFFLOAD_OFFLOADSAMPLES_H
#define LLMMEM_LIB_PLANNING_OFFLOAD_OFFLOADSAMPLES_H

#include "OffloadSchedules.h"
#include "OffloadSearch.h"

namespace llmmem::planning {

/// A placed plan, the time of its step, and its footprint on the device.
struct TimedOffload {
  Plan plan;
  int64_t time = 0, footprint = 0;
};

class OffloadSamples {
public:
  using Answer = std::shared_ptr<const TimedOffload>;

  /// `problem` is that of `shape`; its budget of the device is ignored. `programPoints` are the ops
  /// at whose first runs bounds are proved, the most promising first. All references must outlive
  /// this object.
  OffloadSamples(const Problem &problem, const OffloadShape &shape, const Graph &device,
                 OffloadSchedules &schedules, llvm::ArrayRef<OpIndex> programPoints,
                 const OffloadOptions &options);

  /// Returns the plan of `budget`, and null where none was found. Plans that take `known` or longer
  /// are not distinguished: the result may be any of them, or null.
  Answer within(int64_t budget, int64_t known);
  /// Returns the plan of the least footprint that was found, and null where there is none.
  Answer least();
  /// Returns `plan` with the time of its step, and null where the time is unknown.
  Answer timed(std::optional<Plan> plan) const;
  /// Returns a plan of the device alone as one of the whole problem, and null where the host has no
  /// room for its resident bytes.
  Answer withoutCopies(const Plan &ofDevice) const;
  /// Returns a search for plans with copies of `bounded`, the problem under some budget.
  CopySearch copiesOf(const Problem &bounded) const;
  /// Returns whether the step of a plan without copies takes exactly the time of the plan. Then
  /// recomputation alone takes no longer with more budget.
  bool isModelled();
  /// Returns whether a quick bound proves that no plan within `budget` is shorter than `time`.
  bool isProved(int64_t budget, int64_t time) const;

private:
  Answer searchAt(int64_t budget);
  Answer search(int64_t budget, const Answer &known);
  const std::vector<int64_t> &samples();
  int64_t samplesOfHalving();
  int64_t footprintLowerBound();
  std::vector<OpIndex> stepsOfDevice(const Plan &plan) const;
  Answer bestFrom(size_t first, int64_t budget, int64_t known, bool &isWhole);
  Answer bisect(int64_t budget, int64_t under, Answer low, int64_t above, Answer high,
                int64_t known);
  Problem under(std::optional<int64_t> budget) const;

  const Problem &problem;
  const OffloadShape &shape;
  const Graph &device;
  OffloadSchedules &schedules;
  llvm::ArrayRef<OpIndex> programPoints;
  const OffloadOptions &options;
  std::map<int64_t, Answer> searched;
  std::vector<int64_t> ladder; // budgets of the samples, the highest first
  std::optional<Answer> leastAnswer;
  std::optional<int64_t> footprintLowerBoundOnce;
  std::optional<bool> modelled;
};

/// Returns whether `a` is a plan and `b` is none or a longer one.
bool isShorter(const OffloadSamples::Answer &a, const OffloadSamples::Answer &b);
/// Returns the shorter one, and `a` where both take equally long. The result is null where both are
/// null.
OffloadSamples::Answer shorterOf(OffloadSamples::Answer a, OffloadSamples::Answer b);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_OFFLOAD_OFFLOADSAMPLES_H
