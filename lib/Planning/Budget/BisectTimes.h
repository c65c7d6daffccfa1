//===- BisectTimes.h - Shorter plans between two samples of a budget -*- C++ -*-===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_BISECTTIMES_H
#define LLMMEM_LIB_PLANNING_BUDGET_BISECTTIMES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include <cstdint>
#include <utility>

namespace llmmem::planning {

/// Returns the plan of `budget`. The budget lies from the sample `under`, answered by `low`, up to
/// below the sample `above`. That is answered by `high` or, where `high` is null or no shorter, as
/// `low`. The interval is halved up to `mostHalvings` times. A middle is answered by its own plan,
/// `searchAt(middle)`, where that plan's time lies between those of both ends, else as the lower
/// end is. So of two budgets the larger has no longer time (TimedVariants.h has the proof).
/// `TimedPlan` is a pointer to a type that has a `time`.
template <typename TimedPlan, typename SearchAt>
TimedPlan bisectTimes(int64_t budget, int64_t under, TimedPlan low, int64_t above, TimedPlan high,
                      int mostHalvings, SearchAt searchAt) {
  high = high && high->time < low->time ? std::move(high) : low;
  for (int halving = 0; halving < mostHalvings && high->time < low->time; ++halving) {
    const int64_t middle = under + (above - under) / 2;
    if (middle == under)
      break;
    TimedPlan found = searchAt(middle);
    if (!found || found->time >= low->time || found->time < high->time)
      found = low;
    (budget < middle ? above : under) = middle;
    (budget < middle ? high : low) = std::move(found);
  }
  return low;
}

/// Returns the plan of `budget` from `samples`, the highest first, or null where those at most as
/// large give none. `bestFrom` answers a sample and those below it, and `searchAt` one budget.
template <typename BestFrom, typename SearchAt>
auto planWithin(int64_t budget, llvm::ArrayRef<int64_t> samples, int mostHalvings,
                BestFrom bestFrom, SearchAt searchAt) {
  const size_t below =
      llvm::partition_point(samples, [&](int64_t it) { return it > budget; }) - samples.begin();
  auto low = bestFrom(samples.drop_front(below));
  if (!low || below == 0)
    return low;
  return bisectTimes(budget, samples[below], low, samples[below - 1], searchAt(samples[below - 1]),
                     mostHalvings, searchAt);
}

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_BISECTTIMES_H
