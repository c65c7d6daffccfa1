//===- Sweep.h - The frontier of bytes against cost ---------------------------===//

#ifndef LLMMEM_PLANNING_SWEEP_SWEEP_H
#define LLMMEM_PLANNING_SWEEP_SWEEP_H

#include "llmmem/Planning/Variants/ProblemVariants.h"
#include "llvm/Support/raw_ostream.h"

namespace llmmem::planning {

struct SweepPoint {
  int64_t budget;
  Status status;
  int64_t cost, costLowerBound; // cost 0 where there is no plan
  int64_t baseCost;             // cost of the step without a budget
  int64_t peak, arena;
  std::string bound;
};

/// Plans a step, in whichever form is best, at `points` budgets in increasing order, evenly spaced
/// from the least feasible one found to the least that needs no recomputation. Example: 2 points
/// are these two budgets.
std::vector<SweepPoint> sweepBudgets(VariantSet variants, const PlanOptions &options, int points);

/// Prints a header and one line per point.
void printSweepCsv(const std::vector<SweepPoint> &sweep, llvm::raw_ostream &os);
/// Prints the same as a list of objects under "points".
void printSweepJson(const std::vector<SweepPoint> &sweep, llvm::raw_ostream &os);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_SWEEP_SWEEP_H
