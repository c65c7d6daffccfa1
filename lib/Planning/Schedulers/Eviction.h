//===- Eviction.h - Recomputation on any graph -----------------------------------===//
//
// For graphs that are not chains. While some step holds too much, one of the values that are live
// but not used there is dropped and recomputed just before its next reader, with the ancestors that
// are no longer live. The value that costs least per byte is chosen, as in dynamic tensor
// rematerialization (Kirisame et al., ICLR 2021), but with the rest of the schedule known.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_EVICTION_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_EVICTION_H

#include "llmmem/Planning/Model/Schedule.h"

namespace llmmem::planning {

/// Inserts repeats into `steps` until no step exceeds `capacity`; false where no proposal helps or
/// `work` (steps visited) runs out, with the best schedule so far in `steps`. A value is recomputed
/// through at most `deepest` ancestors in a row.
bool evictUntilFits(const Graph &graph, std::vector<OpIndex> &steps, int64_t capacity, int deepest,
                    int64_t &work);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_EVICTION_H
