//===- Tilings.h - One step with several tilings ---------------------------------===//
//
// Some ops can run with several tilings, such as an op that works in larger or smaller chunks:
// reads and writes stay the same, cost and workspace differ. The planner chooses the tiling whose
// plan fits at the least cost.
//
// Example: a loss head of cost 10 with a workspace of 100, or of cost 12 with one of 25. Under 150
// bytes the first needs recomputation of cost 3, so the second is taken.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_VARIANTS_TILINGS_H
#define LLMMEM_PLANNING_VARIANTS_TILINGS_H

#include "llmmem/Planning/Model/VariantSet.h"
#include "llmmem/Planning/Planner.h"
#include "llvm/ADT/ArrayRef.h"

namespace llmmem::planning {

struct TilingPlan {
  size_t tiling = 0; // index of the tiling that `plan` is for
  Plan plan;
};

/// Plans `problem` with each of `tilings` (at least one) that can win, and returns the cheapest
/// feasible plan; with the policy LeastPeak, the one of the least peak. Tilings must be sorted by
/// cost, cheapest first, and by workspace, largest first. If more budget never raises the cost of
/// any single tiling, it never raises that of the result. Bounds hold for all tilings together, and
/// the status is `Infeasible` where the tiling of the least memory is proved infeasible. Without a
/// feasible plan the result is that of this tiling.
TilingPlan planTilings(const Problem &problem, llvm::ArrayRef<Tiling> tilings,
                       const PlanOptions &options);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_VARIANTS_TILINGS_H
