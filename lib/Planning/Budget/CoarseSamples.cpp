//===- CoarseSamples.cpp - The samples that a frontier is bisected between --------===//

#include "CoarseSamples.h"
#include "llmmem/Planning/Bounds/Bounds.h"
#include <algorithm>

using namespace llmmem::planning;

PlacedPlan CoarseSamples::given() {
  if (!givenPlan)
    givenPlan = shared.placer.place(shared.search.context().given(), shared.graph.residentBytes(),
                                    PlacingEffort());
  return givenPlan;
}

PlacedPlan CoarseSamples::free() {
  if (freePlan)
    return freePlan;
  SearchContext &orders = shared.search.context();
  freePlan = given();
  int64_t last = orders.given().peak;
  for (const Candidate *candidate : {&orders.ordered(), &orders.annealedOrder()}) {
    if (candidate->peak >= last)
      continue;
    last = candidate->peak;
    PlacedPlan plan =
        shared.placer.place(*candidate, shared.graph.residentBytes(), PlacingEffort());
    if (shared.footprintOf(plan) < shared.footprintOf(freePlan))
      freePlan = std::move(plan);
  }
  if (shared.isAnnealed())
    freePlan = annealed.tightened(std::move(freePlan), workOfFree);
  return freePlan;
}

PlacedPlan CoarseSamples::flat() {
  if (!flatPlan)
    flatPlan = shared.placer.place(shared.search.context().stageInputs(),
                                   shared.graph.residentBytes(), PlacingEffort());
  return flatPlan;
}

/// Each sample is searched without a known plan below it.
const Sample *CoarseSamples::sample(size_t number) {
  if (samples.empty()) {
    const int64_t index = shared.grid.indexAbove(shared.footprintOf(free()));
    samples.push_back({index, free(), workOfFree, annealed.defaultHeadroom()});
  }
  while (samples.size() <= number && !isLastSample) {
    Sample next =
        shared.isAnnealed() ? nextSampleByAnnealing(samples.back()) : nextSample(samples.back(), 0);
    isLastSample = !next.plan || isDearerThanFlat(next.plan) || isBeatenByLeast(next);
    workOfSamples = next.work;
    if (!isLastSample)
      samples.push_back(std::move(next));
  }
  return number < samples.size() ? &samples[number] : nullptr;
}

const Sample &CoarseSamples::lowest() {
  size_t number = 0;
  while (sample(number + 1))
    ++number;
  return *sample(number);
}

/// Says whether the second sample is that at `flat`.
bool CoarseSamples::isFlatSampled() {
  return shared.footprintOf(flat()) <=
         shared.grid.budgetOf(shared.grid.indexAbove(shared.footprintOf(free())) - 1);
}

bool CoarseSamples::leavesDearerSamplesOut() {
  return shared.graph.numOps() <= tuning::mostOpsOfLevels && !shared.isAnnealed() &&
         !shared.search.microBatches() && isFlatSampled();
}

bool CoarseSamples::isDearerThanFlat(const PlacedPlan &plan) {
  return leavesDearerSamplesOut() && plan->cost > flat()->cost;
}

/// Says whether the least memory beats the sample. A sample that runs half of the step again may
/// cost more than what the search for the least memory finds at fewer bytes, and monotone costs
/// would then forbid that plan below it.
bool CoarseSamples::isBeatenByLeast(const Sample &sample) {
  const int64_t half = shared.graph.baseCost() + shared.graph.baseCost() / 2;
  if (shared.isAnnealed() || sample.plan->cost < half || planOf(sample)->cost < half)
    return false;
  const PlacedPlan &plan = planOf(sample);
  const int64_t footprint = shared.footprintOf(plan);
  if (const PlacedPlan least = shared.canonicalLeast();
      least && least->cost < plan->cost && shared.footprintOf(least) <= footprint)
    return true;
  return llvm::any_of(shared.search.leastMemory(), [&](const Candidate &candidate) {
    return candidate.cost < plan->cost && candidate.peak <= footprint;
  });
}

Sample CoarseSamples::openSample(const Sample &flat) {
  SearchContext &orders = shared.search.context();
  const int64_t budget = shared.grid.budgetOf(flat.index);
  leastCostOfOpen = orders.bound.under(budget);
  // The fullest step of the given order may prove more than the end of the forward.
  const std::vector<OpIndex> &given = orders.given().steps;
  if (const int32_t step = profile(shared.graph, given).peakStep; step >= 0)
    leastCostOfOpen =
        std::max(leastCostOfOpen,
                 shared.graph.baseCost() +
                     CutRelaxation(shared.graph, given[step]).costLowerBound(budget).value_or(0));
  Sample open = flat;
  open.isOpen = true;
  return open;
}

const PlacedPlan &CoarseSamples::planOf(const Sample &sample) {
  if (!sample.isOpen)
    return sample.plan;
  if (!openPlan) {
    const Sample flatSample{shared.grid.indexAbove(shared.footprintOf(flat())), flat()};
    openPlan = solve(flatSample.index, flatSample, samples.front(), /*deeply=*/false).plan;
    leastCostOfOpen = openPlan->cost;
  }
  return openPlan;
}

bool CoarseSamples::costsLess(int64_t cost, const Sample &sample) {
  if (sample.isOpen && cost < leastCostOfOpen)
    return true;
  return cost < sample.plan->cost && cost < planOf(sample)->cost;
}

bool CoarseSamples::differByMore(const Sample &below, const Sample &above, int64_t tolerance) {
  if (below.isOpen && !above.isOpen && leastCostOfOpen - above.plan->cost > tolerance)
    return true;
  return planOf(below)->cost - planOf(above)->cost > tolerance;
}

/// Returns the next coarse sample below `above`. `work` has been spent there without a plan.
Sample CoarseSamples::nextSample(const Sample &above, int64_t work) {
  Sample next{BudgetGrid::indexOfNext(above.index), nullptr, work};
  if (samples.size() == 1 && isFlatSampled()) {
    next = {shared.grid.indexAbove(shared.footprintOf(flat())), flat(), work};
    if (!shared.isAnnealed() && !shared.search.microBatches())
      return openSample(next);
  }
  return next.index > 0 ? solve(next.index, next, above, /*deeply=*/false)
                        : Sample{0, nullptr, std::max(above.work, work)};
}

/// Annealing finds plans only a little below `above`, but these cost less than the plans that other
/// searches find farther down. So smaller distances are tried in turn. The work that is left over
/// is for the bisection between two coarse samples.
Sample CoarseSamples::nextSampleByAnnealing(const Sample &above) {
  const int64_t mostWork = shared.search.context().work / 8 * tuning::coarseWorkEighths;
  int64_t work = above.work;
  Sample top = above; // at lower budgets packing needs more headroom
  top.headroom = std::max(above.headroom, annealed.defaultHeadroom());
  for (int64_t divisor : tuning::annealedSampleDivisors) {
    Sample next{above.index - above.index / divisor - 1, nullptr, work};
    if (next.index > 0 && work < mostWork)
      next = annealed.solve(next.index, next, top);
    if (next.plan)
      return next;
    work = next.work;
  }
  return nextSample(above, work);
}

Sample CoarseSamples::solve(int64_t index, const Sample &below, const Sample &above, bool deeply) {
  if (shared.isAnnealed())
    if (Sample sample = annealed.solve(index, below, above);
        sample.plan && (!deeply || sample.plan != below.plan))
      return sample;
  return searched.solve(index, below, above, deeply, [this](int64_t cost, const Sample &sample) {
    return costsLess(cost, sample);
  });
}
