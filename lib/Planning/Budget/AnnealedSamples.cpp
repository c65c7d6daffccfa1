//===- AnnealedSamples.cpp - The plan of one sampled budget, by annealing ---------===//

#include "AnnealedSamples.h"
#include <algorithm>

using namespace llmmem::planning;

/// Bisects between the least peak and the smallest footprint so far.
PlacedPlan AnnealedSamples::tightened(PlacedPlan plan, int64_t &work) {
  SearchContext &orders = shared.search.context();
  const Candidate &order = orders.annealedOrder();
  const int64_t mostWork = orders.work / 4, narrow = order.peak / tuning::narrowPartOfFree;
  Sample sample;
  auto isDone = [&](int64_t low) {
    return sample.work >= mostWork || shared.footprintOf(plan) - low <= narrow;
  };
  for (int attempt = 0; !isDone(order.peak);)
    for (int64_t low = order.peak; !isDone(low);) {
      sample.index = shared.grid.indexBelow(low + (shared.footprintOf(plan) - low) / 2);
      const int64_t budget = shared.grid.budgetOf(sample.index);
      PlacedPlan other =
          placeWithHeadroom(sample, order, order.peak + (budget - order.peak) / 2, attempt++);
      if (shared.footprintOf(other) <= budget)
        plan = std::move(other);
      else
        low = budget;
    }
  work = sample.work;
  return plan;
}

/// Grants more work in narrow intervals, which are near the answer.
int64_t AnnealedSamples::workFor(const Sample &below, const Sample &above) const {
  const bool isNear =
      below.plan && above.index - below.index <= above.index / tuning::nearSamplePart;
  return shared.search.context().work / (isNear       ? tuning::nearSampleWorkPart
                                         : below.plan ? tuning::sampleWorkPart
                                                      : tuning::coarseSampleWorkPart);
}

/// A schedule is packed only if it costs less than the best plan so far.
Sample AnnealedSamples::solve(int64_t index, const Sample &below, const Sample &above) {
  Sample sample{index, below.plan, std::max(below.work, above.work), above.headroom};
  const int64_t budget = shared.grid.budgetOf(index), arena = budget - shared.graph.residentBytes();
  const int64_t quota = workFor(below, above);
  const int64_t mostWork = std::min(shared.search.context().work, sample.work + quota);
  int64_t headroom = below.plan ? (above.headroom + below.headroom) / 2 : above.headroom,
          unpacked = 0;
  if (PlacedPlan plan = placeAgain(sample, above)) {
    sample.plan = std::move(plan);
    return sample;
  }
  // A sample without a plan of its own may spend twice as much: with the plan of `below`, no budget
  // between the two is searched any further.
  auto isSpent = [&] {
    return sample.work >= (sample.plan == below.plan ? mostWork + quota : mostWork);
  };
  auto change = [&](int64_t thousandths) {
    headroom = std::max<int64_t>(0, headroom + thousandths);
  };
  for (int attempt = 0, failures = 0; !isSpent() && failures < tuning::mostAnnealingFailures;
       ++attempt) {
    const int64_t capacity = shared.placer.capacityOf(
        budget - (arena / 1000 * headroom + arena % 1000 * headroom / 1000));
    Candidates answer =
        shared.search.improvedBy(annealing, {.capacity = capacity,
                                             .start = &shared.search.context().ordered(),
                                             .enough = above.plan->cost,
                                             .attempt = attempt});
    const Candidate &found = answer.front();
    sample.work += shared.search.workOfLast();
    if (found.peak > shared.placer.capacityOf(budget)) {
      // Retries with no headroom; where even that does not fit, stops.
      if (headroom == 0)
        break;
      headroom = 0;
      continue;
    }
    const bool isTooCheap = found.cost < above.plan->cost;
    if (isTooCheap || (sample.plan && found.cost >= sample.plan->cost)) {
      ++failures;
      change(isTooCheap ? tuning::moreHeadroom : -tuning::lessHeadroom);
      continue;
    }
    failures = 0;
    PlacedPlan plan = placeWithHeadroom(sample, found, /*limit=*/0, attempt);
    const bool fits = shared.footprintOf(plan) <= budget;
    unpacked = fits ? 0 : unpacked + 1;
    change(fits ? -tuning::lessHeadroom : tuning::moreHeadroom * std::min<int64_t>(unpacked, 2));
    sample.headroom = headroom;
    if (fits)
      sample.plan = std::move(plan);
    if (sample.plan && sample.plan->cost <= above.plan->cost)
      break;
  }
  return sample;
}

/// The schedule of the larger budget may be packed within the sample's budget as well.
PlacedPlan AnnealedSamples::placeAgain(Sample &sample, const Sample &above) {
  const int64_t budget = shared.grid.budgetOf(sample.index);
  const int64_t capacity = shared.placer.capacityOf(budget);
  const Candidate start = measured(shared.graph, above.plan->steps, above.plan->searcher);
  if (start.peak > capacity)
    return nullptr;
  const int64_t limit = start.peak + (capacity - start.peak) / 2;
  PlacedPlan plan = placeWithHeadroom(sample, start, limit, 0);
  return shared.footprintOf(plan) <= budget ? plan : nullptr;
}

/// A schedule that is full at many steps packs badly, so its runs are first moved for headroom.
PlacedPlan AnnealedSamples::placeWithHeadroom(Sample &sample, const Candidate &candidate,
                                              int64_t limit, int attempt) {
  const Candidates roomy = shared.search.improvedBy(
      headroomForPacking, {.capacity = limit, .start = &candidate, .attempt = attempt});
  sample.work += shared.search.workOfLast();
  const SchedulePlacer &placer = shared.placer;
  const int64_t budget = shared.grid.budgetOf(sample.index);
  const int64_t ejections = placer.mostEjections();
  PlacedPlan plan = placer.place(roomy.empty() ? candidate : roomy.front(), budget,
                                 {.work = placer.packWork, .ejections = ejections});
  const bool fits = shared.footprintOf(plan) <= budget;
  sample.work += tuning::workOfPackedStep * static_cast<int64_t>(plan->steps.size());
  sample.work += (tuning::workOfPackUnit * placer.packWork + ejections / tuning::ejectionsOfStep) /
                 (fits ? 2 : 1);
  return plan;
}
