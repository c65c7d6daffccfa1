//===- LeastMemory.h - The least bytes that a plan was found for ------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_LEASTMEMORY_H
#define LLMMEM_LIB_PLANNING_BUDGET_LEASTMEMORY_H

#include "CheaperSchedules.h"
#include "CoarseSamples.h"

namespace llmmem::planning {

class LeastMemory {
public:
  LeastMemory(FrontierContext &shared, CoarseSamples &samples)
      : shared(shared), samples(samples), cheaper(shared) {}

  /// Returns the plan of the smallest footprint that was found.
  PlacedPlan plan();
  /// Returns the cheapest plan within `budget` of schedules that hold a little more than the least.
  /// Returns null where it costs less than `leastCost` or no less than `cost`.
  PlacedPlan cheaperWithin(int64_t budget, int64_t leastCost, int64_t cost);

private:
  PlacedPlan find(int64_t enough);
  PlacedPlan findFrom(const PlacedPlan &start, int64_t leastCost, int64_t enough);
  PlacedPlan cheapestNear(const PlacedPlan &least);
  bool mayHaveSampleBelow(int64_t bytes);
  bool isBelowSamples(const PlacedPlan &plan);
  bool isBeyondDescent(int64_t bytes);
  PlacedPlan take(PlacedPlan plan);

  FrontierContext &shared;
  CoarseSamples &samples;
  CheaperSchedules cheaper;
  PlacedPlan leastPlan;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_LEASTMEMORY_H
