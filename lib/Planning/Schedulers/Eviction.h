//===- Eviction.h - Recomputation on any graph -----------------------------------===//
//
// For graphs without a chain's structure: while some step holds too much, drop one of the values
// that lie idle there and run its writer again just before its next reader, with what it needs; the
// one that costs least per byte, as dynamic tensor rematerialization chooses (Kirisame et al., ICLR
// 2021), but with the future known.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_EVICTION_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_EVICTION_H

#include "llmmem/Planning/Model/Schedule.h"

namespace llmmem::planning {

/// Inserts repeats into `steps` until nothing exceeds `capacity`; false where it got stuck or ran
/// out of `work` (steps looked at), with the best it reached. At most `deepest` ops in a row run
/// again for a value.
bool evictUntilFits(const Graph &graph, std::vector<OpIndex> &steps, int64_t capacity, int deepest,
                    int64_t &work);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_EVICTION_H
