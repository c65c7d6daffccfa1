//===- Verify.h - Check a plan against its problem -------------------------===//
//
// The verifier derives live ranges, peak, cost, arena and overlaps from a Problem and a Plan alone.
// It shares no code with the solvers, the placement or their liveness, so it does not repeat their
// mistakes.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_MODEL_VERIFY_H
#define LLMMEM_PLANNING_MODEL_VERIFY_H

#include "llmmem/Planning/Model/Plan.h"

namespace llmmem::planning {

struct Violation {
  int32_t step;     // -1: the plan as a whole
  std::string rule; // short stable name, e.g. "read-before-write", "overlap", "over-budget"
  std::string message;
};

/// Returns every broken rule in step order, and nothing if the plan is correct. It never crashes,
/// whatever the plan says. Example: two live instances that share a byte give {step, "overlap",
/// "value 3 ... value 7 ..."}.
LLMMEM_EXPORT std::vector<Violation> verify(const Problem &problem, const Plan &plan);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_MODEL_VERIFY_H
