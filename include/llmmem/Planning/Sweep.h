//===- Sweep.h - The frontier of bytes against cost ---------------------------===//

#ifndef LLMMEM_PLANNING_SWEEP_H
#define LLMMEM_PLANNING_SWEEP_H

#include "llmmem/Planning/Planner.h"
#include "llvm/Support/raw_ostream.h"

namespace llmmem::planning {

struct SweepPoint {
  int64_t budget;
  Status status;
  int64_t cost, costLowerBound, baseCost; // cost 0 where there is no plan
  int64_t peak, arena;
  std::string bound;
};

/// Plans at `points` budgets, evenly spaced from the least feasible one found to the least that
/// needs no recomputation, in increasing order. Example: 2 points are these two budgets.
std::vector<SweepPoint> sweepBudgets(const Problem &problem, const PlanOptions &options,
                                     int points);

/// A header and one line per point.
void printSweepCsv(const std::vector<SweepPoint> &sweep, llvm::raw_ostream &os);
/// The same as a list of objects under "points".
void printSweepJson(const std::vector<SweepPoint> &sweep, llvm::raw_ostream &os);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_SWEEP_H
