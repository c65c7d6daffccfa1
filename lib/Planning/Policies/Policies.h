//===- Policies.h - What decides what is kept --------------------------------===//
//
// A policy turns a problem into the steps that it wants run. The entry in Planner.cpp places them,
// closes the budget's loop and adds the certificate. To add one: a file here, a line in the table
// of Planner.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_POLICIES_H
#define LLMMEM_LIB_PLANNING_POLICIES_H

#include "llmmem/Planning/Planner.h"
#include "llmmem/Planning/Recompute.h"

namespace llmmem::planning {

/// The steps of a policy that does not look at the budget.
using FixedPolicy = std::vector<OpIndex> (*)(const Graph &, const Policy &);

std::vector<OpIndex> keepEverything(const Graph &graph, const Policy &policy);
std::vector<OpIndex> keepEveryKth(const Graph &graph, const Policy &policy);
std::vector<OpIndex> keepEverySqrt(const Graph &graph, const Policy &policy);
std::vector<OpIndex> keepBlockInputs(const Graph &graph, const Policy &policy);
std::vector<OpIndex> recomputeSelected(const Graph &graph, const Policy &policy);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_POLICIES_H
