//===- Recreate.h - Cheaper schedules by ruin and recreate -----------------------===//
//
// Ruin and recreate (Schrimpf, Schneider, Stamm-Wilbrandt and Dueck 2000): repeats are removed as
// if there were more bytes, and what then exceeds the capacity is evicted anew. Near the least
// memory, where a step runs half of its ops again, one descent by eviction ends far from the
// cheapest schedule, and each such attempt costs little more than a few profiles.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_RECREATE_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_RECREATE_H

#include "llmmem/Planning/Model/Schedule.h"
#include <optional>

namespace llmmem::planning {

/// Schedules that fit `capacity` as `steps` do and are cheaper, each cheaper than the one before
/// it: as long as some amount of bytes to ruin by finds one and `work` (steps visited) is left. A
/// value is recomputed through at most `deepest` ancestors in a row. Deterministic.
std::vector<std::vector<OpIndex>> recreate(const Graph &graph, std::vector<OpIndex> steps,
                                           int64_t capacity, int deepest, int64_t &work);

/// One that fits `capacity`, made in the same way of one that needs a little more, by ruining
/// little; nothing where eviction then finds none.
std::optional<std::vector<OpIndex>> recreateLower(const Graph &graph, llvm::ArrayRef<OpIndex> steps,
                                                  int64_t capacity, int deepest, int64_t &work);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_RECREATE_H
