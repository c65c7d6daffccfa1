//===- FixedPolicies.h - Policies that do not look at the budget ------------===//
//
// Each policy maps a problem to a list of steps. It is one file here and one line of the table in
// Policies.cpp. `plan` places them and adds the certificate.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_POLICIES_FIXEDPOLICIES_H
#define LLMMEM_LIB_PLANNING_POLICIES_FIXEDPOLICIES_H

#include "llmmem/Planning/Model/Graph.h"
#include "llmmem/Planning/Policies/Policies.h"

namespace llmmem::planning {

std::vector<OpIndex> keepEverything(const Graph &graph, const Policy &policy);
std::vector<OpIndex> keepEveryKth(const Graph &graph, const Policy &policy);
std::vector<OpIndex> keepEverySqrt(const Graph &graph, const Policy &policy);
std::vector<OpIndex> keepBlockInputs(const Graph &graph, const Policy &policy);
std::vector<OpIndex> recomputeSelected(const Graph &graph, const Policy &policy);

/// Returns the steps of `decide`. Where several micro-batches run, they are those of one, written
/// out for all: their forwards and backwards alternate, so the whole order is not the single
/// forward and backward that a policy looks for.
std::vector<OpIndex> decideFixed(FixedPolicy decide, const Graph &graph, const Policy &policy);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_POLICIES_FIXEDPOLICIES_H
