//===- Forms.h - One step in several forms ---------------------------------===//
//
// Some ops can run in several forms, as an op that works in larger or smaller chunks: the same
// reads and writes, another cost, another workspace. Which form the step takes is a choice like any
// other: the plan of the least total cost that fits.
//
// Example: a loss head of cost 10 with a workspace of 100, or of cost 12 with one of 25. Under 150
// bytes the first needs recomputation for 3, so the second is taken.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_ALTERNATIVES_FORMS_H
#define LLMMEM_PLANNING_ALTERNATIVES_FORMS_H

#include "llmmem/Planning/Planner.h"

namespace llmmem::planning {

/// What one op costs and holds in a form of the step.
struct OpForm {
  OpIndex op;
  int64_t cost;
  int64_t workspace;
};

/// The ops that are not as in the problem.
using Form = std::vector<OpForm>;

/// `problem` in this form.
Problem inForm(const Problem &problem, const Form &form);

struct FormPlan {
  size_t form = 0; // the one that `plan` is made for
  Plan plan;
};

/// Plans `problem` in each of `forms` (at least one) that can matter, and keeps the cheapest plan
/// that is feasible; LeastPeak keeps the least peak. Forms must come in the order of their costs,
/// cheapest first, and of their workspaces, largest first. Then more budget costs no more wherever
/// each form's plans keep that promise; bounds hold for all forms together, and `Infeasible` is
/// said where the leanest form is proved infeasible. Without a feasible plan the leanest form's
/// answer is returned.
FormPlan planForms(const Problem &problem, llvm::ArrayRef<Form> forms, const PlanOptions &options);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_ALTERNATIVES_FORMS_H
