//===- ProblemVariants.h - One step made of different ops -----------------------------===//
//
// A step may be written with other ops that give the same results: two ops, or one that does the
// work of both. Each such alternative is a problem of its own, with tilings of its own (Tilings.h).
// The planner chooses the one whose plan fits at the least cost. Where alternatives round in
// different places, results must not depend on the budget: then the choice is made without looking
// at the budget.
//
// Example: `h = matmul(x); a = gelu(h)` costs 10 + 3, and both in one op cost 11. Where a and h
// fit, the one op is cheaper. Where a must be recomputed, that costs 3 from the kept h, but 11 with
// the one op, so the two ops are cheaper.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_VARIANTS_PROBLEMVARIANTS_H
#define LLMMEM_PLANNING_VARIANTS_PROBLEMVARIANTS_H

#include "llmmem/Planning/Variants/Tilings.h"

namespace llmmem::planning {

/// What the search found out about one alternative.
struct ProblemVariantOutcome {
  /// Whether the alternative was planned. It is not where its ops alone cost at least as much as
  /// the best plan, or where another alternative was chosen by the cost of its ops.
  bool planned = false;
  Status status = Status::Unknown;
  int64_t cost = 0;  // of the plan; where there is none, a proved lower bound
  int64_t peak = 0;  // of the plan; 0 where there is none
  int64_t arena = 0; // of the plan
  std::optional<int64_t> time = std::nullopt; // of the plan, where plans are compared by time
};

struct ProblemVariantPlan {
  size_t alternative = 0; // index of the alternative that `chosen` belongs to
  TilingPlan chosen;
  std::vector<ProblemVariantOutcome> outcomes; // of all alternatives, in their order
};

/// With ByPlan the function plans each of `alternatives` (at least one) that can win, and returns
/// the cheapest feasible plan; with the policy LeastPeak, the one of the smallest arena. The bounds
/// of the result hold for all alternatives, and its status is `Infeasible` where each is proved
/// infeasible. Without a feasible plan the result is that of the alternative that came closest.
/// With ByOpsOnce the function plans one alternative, and the result is about that one alone. Of
/// equal alternatives the first one wins. If more budget never raises the cost of any single
/// alternative, it never raises that of the result.
ProblemVariantPlan planProblemVariants(llvm::ArrayRef<ProblemVariant> alternatives,
                                       VariantSelection choice, const PlanOptions &options);

/// Plans all variants of a step in the same way. Where phases are guessed, the function first plans
/// with the structure that the planner finds by itself. It tries plans that trust the guess where
/// that structure has no equal blocks and its plan is not close to the bound; with a host, also
/// where it is close.
ProblemVariantPlan planVariants(const VariantSet &variants, const PlanOptions &options);

/// Returns the cost of the step without a budget: every op once, in the variant that is cheapest
/// then. Slowdowns are relative to it. Where collectives overlap compute there is no such number
/// without a plan, and the function returns nothing.
std::optional<int64_t> costWithoutBudget(const VariantSet &variants);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_VARIANTS_PROBLEMVARIANTS_H
