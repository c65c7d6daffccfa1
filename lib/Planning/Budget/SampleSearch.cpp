//===- SampleSearch.cpp - The plan of one sampled budget, by all searchers --------===//

#include "SampleSearch.h"
#include "llmmem/Support/ByteSize.h"
#include <algorithm>

using namespace llmmem;
using namespace llmmem::planning;

/// Schedules of chains pack almost immediately and count no work. For other graphs all the work is
/// spent only where a quarter of the work came close.
PlacedPlan SampleSearch::placeFor(Sample &sample, const Candidate &candidate) const {
  const SchedulePlacer &placer = shared.placer;
  const int64_t budget = shared.grid.budgetOf(sample.index);
  if (!shared.isAnnealed())
    return placer.place(
        candidate, budget,
        {.work = shared.search.microBatches() ? placer.packWork : placer.packWork / 4,
         .afterCore = AfterCore::SearchNear});
  PlacedPlan plan = placer.place(candidate, budget, {.work = placer.packWork / 4});
  const int64_t excess = shared.footprintOf(plan) - budget;
  sample.work += tuning::workOfPackedStep * static_cast<int64_t>(candidate.steps.size());
  sample.work += excess > 0 ? tuning::workOfPackUnit * (placer.packWork / 4) : 0;
  if (excess <= 0 || excess > (budget - shared.graph.residentBytes()) / tuning::nearlyPackedPart)
    return plan;
  sample.work += tuning::workOfPackUnit * placer.packWork;
  return placer.place(candidate, budget, {.work = placer.packWork});
}

Candidates SampleSearch::candidatesFor(Sample &sample, int64_t target, bool deeply) {
  shared.search.context().progress.announce("schedules within " + formatByteSize(target));
  Candidates candidates = shared.under(target, deeply, sample.work);
  if (!deeply || candidates.empty())
    return candidates;
  const Candidates cheaper = shared.search.improvedBy(
      ruinAndRecreation,
      {.capacity = target, .start = &candidates.front(), .rounds = tuning::ruinRoundsOfSample});
  sample.work += shared.search.workOfLast();
  candidates.insert(candidates.begin(), cheaper.begin(), cheaper.end());
  return candidates;
}

/// Searches and places in turn. Where packing exceeds the budget, the capacity is lowered by the
/// excess and the search is repeated. Steps that are alike fragment alike, so this may take several
/// turns. A proof ends the search for coarse samples alone, whose work counts only under annealing.
/// So no answer depends on earlier queries.
Sample SampleSearch::solve(int64_t index, const Sample &below, const Sample &above, bool deeply,
                           CostsLess costsLess) {
  const int64_t budget = shared.grid.budgetOf(index);
  int64_t target = shared.placer.capacityOf(budget);
  const bool endsByProof = !below.plan && !shared.isAnnealed();
  Sample sample = below;
  sample.index = index;
  sample.work = std::max(below.work, above.work);
  for (int repair = 0; repair < tuning::mostRepairs; ++repair) {
    if (endsByProof && shared.isKnownToFail(target))
      break;
    int64_t excess = INT64_MAX, leastPeak = INT64_MAX;
    int placed = 0;
    for (const Candidate &candidate : candidatesFor(sample, target, deeply)) {
      if (costsLess(candidate.cost, above))
        continue;
      if ((below.plan && !costsLess(candidate.cost, below)) ||
          placed++ == tuning::mostPlacedPerRepair)
        break;
      PlacedPlan plan = placeFor(sample, candidate);
      if (shared.footprintOf(plan) <= budget) {
        sample.plan = std::move(plan);
        sample.isOpen = false;
        return sample;
      }
      excess = std::min(excess, shared.footprintOf(plan) - budget);
      leastPeak = std::min(leastPeak, candidate.peak);
    }
    if (placed == 0)
      break;
    // Without the limit of the least peak, the same schedule would be placed again.
    target = std::min(target - excess, leastPeak - 1);
  }
  return sample;
}
