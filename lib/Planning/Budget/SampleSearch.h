//===- SampleSearch.h - The plan of one sampled budget, by all searchers ----------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_SAMPLESEARCH_H
#define LLMMEM_LIB_PLANNING_BUDGET_SAMPLESEARCH_H

#include "FrontierContext.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace llmmem::planning {

class SampleSearch {
public:
  explicit SampleSearch(FrontierContext &shared) : shared(shared) {}

  /// Says whether a cost is less than a sample's.
  using CostsLess = llvm::function_ref<bool(int64_t cost, const Sample &sample)>;
  /// Returns the cheapest plan found that costs at least as much as `above` and less than `below`,
  /// else the plan of `below`. `deeply` includes the schedules of the least memory.
  Sample solve(int64_t index, const Sample &below, const Sample &above, bool deeply,
               CostsLess costsLess);

private:
  PlacedPlan placeFor(Sample &sample, const Candidate &candidate) const;
  Candidates candidatesFor(Sample &sample, int64_t target, bool deeply);

  FrontierContext &shared;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_SAMPLESEARCH_H
