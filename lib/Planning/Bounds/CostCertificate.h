//===- CostCertificate.h - Lower bound on the cost of a plan ----------------------===//

#ifndef LLMMEM_LIB_PLANNING_BOUNDS_COSTCERTIFICATE_H
#define LLMMEM_LIB_PLANNING_BOUNDS_COSTCERTIFICATE_H

#include "llmmem/Planning/Model/Graph.h"
#include "llmmem/Planning/Model/Plan.h"

namespace llmmem::planning {

/// Returns how many minimum cuts one certificate may take, for its graph's size: a second for the
/// largest.
size_t numCuts(const Graph &graph);

/// Raises the lower bound on the cost of `plan`, whose problem has a budget, by cuts at the fullest
/// program points of its schedule. `mainCut` is the op at which the forward ends.
void raiseCostBound(const Graph &graph, OpIndex mainCut, Plan &plan);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BOUNDS_COSTCERTIFICATE_H
