//===- OffloadSamples.h - More budget of the device, no longer step ---------------===//
//
// Searches for plans with copies are greedy, so a search under a larger budget may end at a longer
// step. So no budget is answered by a search of its own, but by plans whose searches depend on the
// problem alone, the budget of the device left out:
//
//  - *Samples* are budgets, a fixed number of them for each halving of the arena of the plan that
//    recomputes nothing. Each has a search of its own; its plan is recomputation alone where that
//    is shorter. The last sample is the least footprint that was found, where it is below all
//    samples that have a plan. m(s), the answer of a sample s, is the shortest plan of s and of all
//    samples below it. Searches end at a sample whose plans are all proved to take as long as the
//    best one (OffloadBound.h), since then those below it do as well: so few are made.
//  - Between a sample s and the next one above, s', budgets are bisected. The interval [u, a) has
//    the plan `low`, which needs u at most, and the plan `high`, which takes less time. Budgets
//    from what `high` really needs are answered by it, which ends the interval there. The middle m
//    is searched, from the schedule of `high` as well: that depends on no asked budget, while `low`
//    is not looked for where it takes what is known or longer. A plan of m whose time lies between
//    those of both ends answers all budgets from its footprint to m; the rest is one interval below
//    its footprint and one above m. With any other plan, or none, `low` answers up to m.
//
// Claim: of two budgets, neither below the least footprint that was found, the larger has no longer
// step. Proof: samples hold it, since m(s) is a least over a set that grows with s. Within an
// interval every budget is answered by a plan that takes at least as long as `high` and at most as
// long as `low`, by induction: each part of an interval ends at plans between these two, in falling
// order. Two budgets either end in one interval, where those from the footprint of `high` on have
// the shorter plan, or part at a middle or a need, and then the answer of the smaller takes at
// least as long as the plan there and that of the larger at most as long. The shorter one of this
// answer and of recomputation alone under the budget itself holds it, too, both being monotone: the
// cost of recomputation alone never rises with the budget (Budget/Frontier.h), and its step takes
// that cost, unless more runs in every step than the problem knows. Then the samples alone answer.
//
// Of a device so small that every schedule is searched, recomputation alone is the least cost
// instead, which never rises with the budget, either. The frontier answers where that search ends
// without an answer: the claim is then of budgets of which all or none are answered so.
//
// Below the least footprint a budget has a search of its own, and nothing is promised of its time.
// Each form of a step has its own least footprint. Of all forms together the claim is of budgets
// from the largest of these on: below it one form may be answered by such a search, and under more
// budget, by its samples, take longer.
//
// Example: samples at 100 (time 50, its plan needs 97) and 91 (time 60). Budgets from 97 on
// take 50. The middle of 91 and 97 is 94, whose plan takes 55 and needs 93: so 93 to 96 take 55
// unless a plan of 95 is shorter, and 91 and 92 take 60 unless one of 92 is.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_OFFLOAD_OFFLOADSAMPLES_H
#define LLMMEM_LIB_PLANNING_OFFLOAD_OFFLOADSAMPLES_H

#include "OffloadSchedules.h"
#include "OffloadSearch.h"

namespace llmmem::planning {

/// A placed plan, what its step takes, and what it needs of the device.
struct TimedOffload {
  Plan plan;
  int64_t time = 0, need = 0;
};

class OffloadSamples {
public:
  using Answer = std::shared_ptr<const TimedOffload>;

  /// `problem` is that of `shape`; its budget of the device is not looked at. `moments` are ops at
  /// whose first runs bounds are proved, the most promising first. All are referred to.
  OffloadSamples(const Problem &problem, const OffloadShape &shape, const Graph &device,
                 OffloadSchedules &schedules, llvm::ArrayRef<OpIndex> moments,
                 const OffloadOptions &options);

  /// The answer of `budget`; null where no plan was found. What takes `known` or longer is not told
  /// apart: any such plan, or null, may stand for it.
  Answer within(int64_t budget, int64_t known);
  /// The plan of the least footprint that was found and what it needs; null where there is none.
  Answer least();
  /// A plan of `plan.steps` as they are; null where it cannot be timed.
  Answer timed(std::optional<Plan> plan) const;
  /// A plan of the device by itself in the numbers of the problem; null where the host does not
  /// hold what is resident there.
  Answer withoutCopies(const Plan &ofDevice) const;
  /// A search for plans of `bounded`, the problem under some budget, with copies.
  CopySearch copiesOf(const Problem &bounded) const;
  /// Whether the step of a plan without copies takes what the plan does: then recomputation alone
  /// takes no longer with more budget.
  bool isModelled();
  /// Whether no plan within `budget` is shorter than `time`, as far as that is proved quickly.
  bool isProved(int64_t budget, int64_t time) const;

private:
  Answer searchAt(int64_t budget);
  Answer search(int64_t budget, const Answer &known);
  const std::vector<int64_t> &samples();
  int64_t samplesOfHalving();
  int64_t provedNeed();
  std::vector<OpIndex> stepsOfDevice(const Plan &plan) const;
  Answer bestFrom(size_t first, int64_t budget, int64_t known, bool &isWhole);
  Answer bisect(int64_t budget, int64_t under, Answer low, int64_t above, Answer high,
                int64_t known);
  Problem under(std::optional<int64_t> budget) const;

  const Problem &problem;
  const OffloadShape &shape;
  const Graph &device;
  OffloadSchedules &schedules;
  llvm::ArrayRef<OpIndex> moments;
  const OffloadOptions &options;
  std::map<int64_t, Answer> searched;
  std::vector<int64_t> ladder; // the highest first
  std::optional<Answer> leastAnswer;
  std::optional<int64_t> needProved;
  std::optional<bool> modelled;
};

/// Returns whether `a` is a plan and `b` is none or a longer one.
bool isShorter(const OffloadSamples::Answer &a, const OffloadSamples::Answer &b);
/// Returns the shorter one, and `a` of two that take as long; null where both are.
OffloadSamples::Answer shorterOf(OffloadSamples::Answer a, OffloadSamples::Answer b);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_OFFLOAD_OFFLOADSAMPLES_H
