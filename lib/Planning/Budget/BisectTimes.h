//===- BisectTimes.h - Shorter plans between two samples of a budget -*- C++ -*-===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_BISECTTIMES_H
#define LLMMEM_LIB_PLANNING_BUDGET_BISECTTIMES_H

#include <cstdint>
#include <utility>

namespace llmmem::planning {

/// The plan of `budget`, which lies from the sample `under`, answered by `low`, up to below the
/// sample `above`, answered by `high` or, where that is null or no shorter, as `low`. Halves the
/// interval up to `mostHalvings` times: a middle is answered by its own plan, `searchAt(middle)`,
/// where that plan's time lies between those of both ends, else as the lower end is. So of two
/// budgets the larger has no longer time (TimedForms.h has the proof). `TimedPlan` is a pointer to
/// what has a `time`.
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

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_BISECTTIMES_H
