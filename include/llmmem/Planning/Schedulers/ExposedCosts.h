//===- ExposedCosts.h - What compute waits for the link -----------------------===//
//
// The cost of a collective that overlaps compute is the time that compute waits for it. With such
// costs, models that add up costs (RepeatedBlocks.h) give the time of a step whose collectives are
// started asynchronously.
//

#ifndef LLMMEM_PLANNING_SCHEDULERS_EXPOSEDCOSTS_H
#define LLMMEM_PLANNING_SCHEDULERS_EXPOSEDCOSTS_H

#include "llmmem/Planning/Model/Problem.h"

namespace llmmem::planning {

/// Returns `problem` on one resource. Its ops run once in an order that hides the link where memory
/// is not short, each collective ahead of its reader by as long as the longest two take; an op of
/// the link then costs what compute waits for it, or waits idle after the last op of compute. All
/// costs add up to the time of that order. A problem on one resource is returned as it is.
///
/// Example, gathers g1 g2 of 10 on the link, matmuls m1 m2 of 10 that read them: g1 costs 10, g2 0.
Problem withExposedCosts(const Problem &problem);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_SCHEDULERS_EXPOSEDCOSTS_H
