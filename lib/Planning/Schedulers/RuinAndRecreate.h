//===- RuinAndRecreate.h - Cheaper schedules by ruin and recreate ----------------===//
//
// Ruin and recreate (Schrimpf, Schneider, Stamm-Wilbrandt and Dueck 2000): it removes repeats as if
// there were more bytes, and evicts anew what then exceeds the capacity. Near the least memory,
// where a step runs half of its ops again, one descent by eviction ends far from the cheapest
// schedule, and each such attempt costs little more than a few profiles.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_RUINANDRECREATE_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_RUINANDRECREATE_H

#include "llmmem/Planning/Model/Schedule.h"
#include <optional>

namespace llmmem::planning {

/// Returns schedules that fit `capacity` as `steps` do and are cheaper, each cheaper than the one
/// before it. It goes on as long as some amount of bytes to ruin by finds one and `work` (steps
/// visited) is left. A value is recomputed through at most `deepest` ancestors in a row. The search
/// is deterministic.
std::vector<std::vector<OpIndex>> ruinAndRecreate(const Graph &graph, std::vector<OpIndex> steps,
                                                  int64_t capacity, int deepest, int64_t &work);

/// Returns a schedule that fits `capacity`, made in the same way from one that exceeds it a little,
/// by ruining little. Returns nothing where eviction then finds none.
std::optional<std::vector<OpIndex>> ruinAndRecreateWithin(const Graph &graph,
                                                          llvm::ArrayRef<OpIndex> steps,
                                                          int64_t capacity, int deepest,
                                                          int64_t &work);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_RUINANDRECREATE_H
