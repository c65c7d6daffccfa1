//===- ExposedCosts.h - What compute waits for the link -----------------------===//
//
// The cost of a collective that runs beside compute is what compute waits for it. Models that add
// up costs (RepeatedBlocks.h) so have the time of a step whose collectives are started.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_SCHEDULERS_EXPOSEDCOSTS_H
#define LLMMEM_PLANNING_SCHEDULERS_EXPOSEDCOSTS_H

#include "llmmem/Planning/Model/Problem.h"

namespace llmmem::planning {

/// `problem` on one resource. Its ops run once in an order that hides the link where no byte is
/// short, each collective ahead of its reader by as long as the longest two take; an op of the link
/// then costs what compute waits for it, or stands still behind the last op of compute. All costs
/// add up to the time of that order. As it is where everything runs on one resource.
///
/// Example, gathers g1 g2 of 10 on the link, matmuls m1 m2 of 10 that read them: g1 costs 10, g2 0.
Problem withExposedCosts(const Problem &problem);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_SCHEDULERS_EXPOSEDCOSTS_H
