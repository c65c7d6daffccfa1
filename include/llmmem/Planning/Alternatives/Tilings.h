//===- Tilings.h - One step with several tilings ---------------------------------===//
//
// Some ops can run with several tilings, as an op that works in larger or smaller chunks: the same
// reads and writes, another cost, another workspace. Which tiling the step takes is a choice like
// any other: the plan of the least total cost that fits.
//
// Example: a loss head of cost 10 with a workspace of 100, or of cost 12 with one of 25. Under 150
// bytes the first needs recomputation for 3, so the second is taken.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_ALTERNATIVES_TILINGS_H
#define LLMMEM_PLANNING_ALTERNATIVES_TILINGS_H

#include "llmmem/Planning/Model/StepForms.h"
#include "llmmem/Planning/Planner.h"
#include "llvm/ADT/ArrayRef.h"

namespace llmmem::planning {

struct TilingPlan {
  size_t tiling = 0; // the one that `plan` is made for
  Plan plan;
};

/// Plans `problem` with each of `tilings` (at least one) that can matter, and keeps the cheapest
/// plan that is feasible; LeastPeak keeps the least peak. Tilings must come in the order of their
/// costs, cheapest first, and of their workspaces, largest first. Then more budget costs no more
/// wherever each tiling's plans keep that promise; bounds hold for all tilings together, and
/// `Infeasible` is said where the leanest tiling is proved infeasible. Without a feasible plan the
/// leanest tiling's answer is returned.
TilingPlan planTilings(const Problem &problem, llvm::ArrayRef<Tiling> tilings,
                       const PlanOptions &options);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_ALTERNATIVES_TILINGS_H
