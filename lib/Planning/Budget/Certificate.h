//===- Certificate.h - Bounds of a plan, or the witness of none ------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_CERTIFICATE_H
#define LLMMEM_LIB_PLANNING_BUDGET_CERTIFICATE_H

#include "Frontier.h"
#include "llmmem/Planning/Model/Plan.h"

namespace llmmem::planning {

/// Fills the bounds of `plan`, and its witness where it does not fit. Changes Unknown to Infeasible
/// where the bounds prove it; `found` is whether the plan's steps were set, `provesCost` whether
/// its cost gets a bound beyond every op once.
void certify(const Graph &graph, BudgetSearch &search, Frontier &frontier, bool found,
             bool provesCost, Plan &plan);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_CERTIFICATE_H
