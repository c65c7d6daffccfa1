//===- Certificate.h - Bounds of a plan, or the witness of none ------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_CERTIFICATE_H
#define LLMMEM_LIB_PLANNING_BUDGET_CERTIFICATE_H

#include "Frontier.h"
#include "llmmem/Planning/Model/Plan.h"

namespace llmmem::planning {

struct CertificateOptions {
  bool found = true;      // whether the plan's steps were set
  bool provesCost = true; // whether the cost gets a bound beyond every op once
  /// Whether the footprint gets a bound beyond that of the largest op, as it does where nothing is
  /// found.
  bool provesFootprint = false;
};

/// Fills the bounds of `plan`, and its witness where it does not fit. It changes Unknown to
/// Infeasible where the bounds prove it.
void certify(const Graph &graph, BudgetSearch &search, Frontier &frontier,
             const CertificateOptions &options, Plan &plan);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_CERTIFICATE_H
