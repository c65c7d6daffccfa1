//===- AlternativeProblems.h - One step made of different ops -------------------------===//
//
// A step may be written with other ops that give the same results: two ops, or one that does the
// work of both. Each alternative is a problem of its own, with tilings of its own (Tilings.h);
// which one runs is a choice like any other, the plan of the least total cost that fits. Where
// alternatives round in different places, results must not hang on the budget: then one is chosen
// before any budget is looked at.
//
// Example: `h = matmul(x); a = gelu(h)` costs 10 + 3, both in one op cost 11. With headroom for a
// and h the second is cheaper; where a is made again from the kept h for 3, and in one op for 11,
// the first.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_ALTERNATIVES_ALTERNATIVEPROBLEMS_H
#define LLMMEM_PLANNING_ALTERNATIVES_ALTERNATIVEPROBLEMS_H

#include "llmmem/Planning/Alternatives/Tilings.h"

namespace llmmem::planning {

/// What is known of an alternative afterwards.
struct AlternativeOutcome {
  /// Not planned where its ops alone cost what the best plan costs, so that it cannot win, or more
  /// than those of the alternative that was chosen by them.
  bool planned = false;
  Status status = Status::Unknown;
  int64_t cost = 0;  // of the plan; where there is none, proved: no plan costs less
  int64_t peak = 0;  // of the plan; 0 where there is none
  int64_t arena = 0; // of the plan
  std::optional<int64_t> time = std::nullopt; // of the plan, where plans are compared by it
};

struct AlternativePlan {
  size_t alternative = 0; // the one that `chosen` is made for
  TilingPlan chosen;
  std::vector<AlternativeOutcome> outcomes; // of all alternatives, in their order
};

/// ByPlan: plans each of `alternatives` (at least one) that can win, and keeps the cheapest plan
/// that is feasible; LeastPeak keeps the smallest arena. The bounds of the answer hold for all
/// alternatives, and `Infeasible` is said where each is proved infeasible; without a feasible plan
/// the answer is that of the alternative that came nearest. ByOpsOnce: plans one alternative, and
/// the answer is that plan's alone. Equal alternatives are decided by their order. More budget
/// costs no more wherever each alternative's plans keep that promise.
AlternativePlan planAlternatives(llvm::ArrayRef<AlternativeProblem> alternatives,
                                 AlternativeChoice choice, const PlanOptions &options);

/// The same of all forms of a step. Where phases are guessed, the structure that the planner finds
/// alone comes first. Plans that trust the guess are tried where it has no equal blocks and its
/// plan is not close to the bound; with a host, however close it is.
AlternativePlan planForms(const StepForms &forms, const PlanOptions &options);

/// What the step costs without a budget: every op once, in the form that is cheapest then. What
/// slowdowns compare with. With collectives beside compute there is no such number without a plan.
std::optional<int64_t> costWithoutBudget(const StepForms &forms);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_ALTERNATIVES_ALTERNATIVEPROBLEMS_H
