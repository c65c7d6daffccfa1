//===- CostCertificate.h - What recomputation no plan can avoid -------------------===//

#ifndef LLMMEM_LIB_PLANNING_BOUNDS_COSTCERTIFICATE_H
#define LLMMEM_LIB_PLANNING_BOUNDS_COSTCERTIFICATE_H

#include "llmmem/Planning/Model/Graph.h"
#include "llmmem/Planning/Model/Plan.h"

namespace llmmem::planning {

/// Minimum cuts that one certificate may take, for its graph's size: a second for the largest.
size_t numCuts(const Graph &graph);

/// Raises the cost's bound of `plan`, whose problem has a budget, by what the moments of its
/// schedule prove; `mainCut` is the op at which the forward is over.
void raiseCostBound(const Graph &graph, OpIndex mainCut, Plan &plan);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BOUNDS_COSTCERTIFICATE_H
