//===- ReversalFrontier.cpp - Placed plans of the dynamic program over chains --------===//

#include "ReversalFrontier.h"
#include <algorithm>

using namespace llmmem::planning;

const PlacedPlan &ReversalFrontier::placed(size_t step) {
  plans.resize(reversals.steps().size());
  if (!plans[step]) {
    const CostStep &chosen = reversals.steps()[step];
    const Candidate candidate = measured(shared.graph, reversals.realize(chosen), "reversal");
    plans[step] = shared.placer.place(candidate, shared.placer.leastFootprintOf(candidate),
                                      {.work = shared.placer.packWork});
  }
  return plans[step];
}

PlacedPlan ReversalFrontier::at(int64_t budget) {
  const llvm::ArrayRef<CostStep> steps = reversals.steps();
  const int64_t bytes = shared.placer.capacityOf(budget) - shared.graph.residentBytes();
  size_t end =
      llvm::partition_point(steps, [&](const CostStep &step) { return step.bytes <= bytes; }) -
      steps.begin();
  while (end-- > 0)
    if (const PlacedPlan &plan = placed(end); shared.footprintOf(plan) <= budget)
      return plan;
  return nullptr;
}

PlacedPlan ReversalFrontier::least() {
  PlacedPlan best;
  for (size_t step = 0; step < reversals.steps().size(); ++step) {
    const int64_t bytes = reversals.steps()[step].bytes + shared.graph.residentBytes();
    if (best && shared.placer.capacityOf(shared.footprintOf(best)) <= bytes)
      break;
    if (const PlacedPlan &plan = placed(step);
        !best || shared.footprintOf(plan) < shared.footprintOf(best))
      best = plan;
  }
  return best;
}
