//===- Tilings.cpp - One step with several tilings -------------------------===//

#include "llmmem/Planning/Variants/Tilings.h"
#include "Overlap/OverlapSearch.h"
#include "Variants/CandidateSearch.h"
#include "llmmem/Planning/Allocation/Placement.h"
#include "llmmem/Planning/Bounds/Bounds.h"
#include "llmmem/Planning/Model/Graph.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace llmmem::planning;

namespace {
class TilingSearch {
public:
  TilingSearch(const Problem &problem, llvm::ArrayRef<Tiling> tilings, const PlanOptions &options)
      : problem(problem), tilings(tilings), options(options) {
    // All tilings together stay within the bound on the work, or a third above it: the tiling of
    // the least memory decides alone whether there is a plan and what the least peak is, so it gets
    // at least a third.
    this->options.workSeconds /= tilings.size();
    secondsOfLeastMemory = std::max(this->options.workSeconds, options.workSeconds / 3);
  }

  TilingPlan run();

private:
  size_t leastMemory() const { return tilings.size() - 1; }
  int64_t baseCost(size_t tiling) const {
    return Graph(TiledProblem(problem, tilings[tiling])).baseCost();
  }
  Plan planWith(size_t tiling);
  std::vector<size_t> order();
  void planEach(llvm::ArrayRef<size_t> order);
  void enlargeLeastMemory();
  void boundPeak();
  void boundAnyDuration();

  const Problem &problem;
  llvm::ArrayRef<Tiling> tilings;
  std::vector<int64_t> leastDurations; // by tiling
  PlanOptions options;                 // of each tiling other than that of the least memory
  double secondsOfLeastMemory;
  CandidateSearch search;
  std::optional<PeakBounds> boundsOfLeastMemory; // set where that tiling was planned
  BoundBasis leastMemoryPeakBasis;               // proves at least as much for every other tiling
};
} // namespace

Plan TilingSearch::planWith(size_t tiling) {
  PlanOptions share = options;
  if (tiling == leastMemory())
    share.workSeconds = secondsOfLeastMemory;
  share.variant.tiling = static_cast<int32_t>(tiling);
  if (search.found)
    share.knownTime = std::min(share.knownTime, search.plan.duration());
  Plan made = plan(TiledProblem(problem, tilings[tiling]), share);
  if (tiling == leastMemory()) {
    boundsOfLeastMemory.emplace().add(made, paddingOf(TiledProblem(problem, tilings[tiling])));
    leastMemoryPeakBasis = made.peakBasis;
  }
  return made;
}

/// Returns the tilings in the order of planning, sorted by the bound on their durations: the
/// earlier the best one is planned, the fewer others are. Without a budget this is the given order.
std::vector<size_t> TilingSearch::order() {
  std::vector<size_t> numbers(tilings.size());
  llvm::copy(llvm::seq<size_t>(0, numbers.size()), numbers.begin());
  llvm::stable_sort(numbers,
                    [&](size_t a, size_t b) { return leastDurations[a] < leastDurations[b]; });
  return numbers;
}

/// Plans the tilings that can win. Every plan of a tiling costs at least the tiling's ops once, so
/// a tiling whose ops alone cost as much as the best plan cannot win; where nothing is recomputed,
/// nor can any later one.
void TilingSearch::planEach(llvm::ArrayRef<size_t> order) {
  auto isBetter = [&](size_t tiling, const Plan &a, size_t, const Plan &b) {
    const bool fits = a.status == Status::Feasible;
    if (b.status != Status::Feasible)
      return fits || tiling == leastMemory(); // this tiling decides whether there is a plan
    return fits && a.duration() < b.duration();
  };
  search.planEach(order, /*leavesOut=*/true,
                  {[&](size_t tiling) { return leastDurations[tiling]; },
                   [&](size_t tiling) { return planWith(tiling); }, isBetter,
                   [&](size_t tiling) { return paddingOf(TiledProblem(problem, tilings[tiling])); },
                   [](size_t) {}});
}

/// The tiling of the least memory has the least peak. This function then takes the largest tiling
/// whose buffers the same schedule can place in the same arena.
void TilingSearch::enlargeLeastMemory() {
  const bool hasOneMemory = problem.moreMemories.empty(); // placeSteps places only one
  for (size_t tiling = 0; tiling < leastMemory() && hasOneMemory && !search.plan.steps.empty();
       ++tiling) {
    const TiledProblem larger(problem, tilings[tiling]);
    PackOptions pack;
    pack.alignment = std::max<int64_t>(problem.alignment, 1);
    pack.capacity = search.plan.arena;
    Plan other = search.plan;
    placeSteps(larger, other, pack);
    if (other.arena > search.plan.arena || other.peak > search.plan.peak)
      continue;
    other.baseCost = baseCost(tiling);
    if (other.time)
      retime(larger, other);
    search.number = tiling;
    search.plan = std::move(other);
    break;
  }
  search.costLowerBound = std::min(search.costLowerBound, baseCost(0));
}

/// A schedule holds no less with any other tiling, so the bound of the tiling of the least memory
/// holds for all.
void TilingSearch::boundPeak() {
  Plan &plan = search.plan;
  if (boundsOfLeastMemory) {
    plan.peakLowerBound = boundsOfLeastMemory->of(plan);
    plan.peakBasis = leastMemoryPeakBasis;
  } else {
    plan.peakLowerBound =
        planWithoutSearch(TiledProblem(problem, tilings[leastMemory()])).peakLowerBound;
  }
}

/// The tiling of the least memory costs the most, so another tiling may have a plan that costs less
/// than all of its plans.
void TilingSearch::boundAnyDuration() {
  Plan &plan = search.plan;
  plan.costLowerBound = std::min(plan.costLowerBound, search.costLowerBound);
  if (plan.time)
    plan.time->lowerBound = std::min(plan.time->lowerBound, search.timeLowerBound);
}

TilingPlan TilingSearch::run() {
  if (options.policy.kind == PolicyKind::LeastPeak) {
    planEach({leastMemory()});
    enlargeLeastMemory();
  } else {
    for (const Tiling &tiling : tilings)
      leastDurations.push_back(leastDuration(TiledProblem(problem, tiling), options));
    planEach(order());
  }
  search.plan.seconds = search.seconds;
  if (search.plan.status == Status::Feasible) {
    boundPeak();
    search.boundBest();
  } else if (search.plan.status == Status::Unknown) {
    boundAnyDuration();
  }
  return {search.number, std::move(search.plan)};
}

TilingPlan llmmem::planning::planTilings(const Problem &problem, llvm::ArrayRef<Tiling> tilings,
                                         const PlanOptions &options) {
  return TilingSearch(problem, tilings, options).run();
}
