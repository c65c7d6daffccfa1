//===- PlacedSearch.h - All schedules and all placements of a small problem -----===//
//
// A schedule whose live bytes fit need not have an arena that fits. Where that happens, the
// schedule and its offsets are searched together: a state is the set of ops that have run and the
// offset of each value in the arena. An op may run if its operands are in the arena; its results
// overwrite the values whose bytes they take, and values are dropped in no other way. A state is
// dominated by one of no more cost that has at least the same values at the same offsets.
//
// In every plan the buffers can be moved down until each is at offset 0 or directly above another
// one. So every offset is a sum of sizes, and if no plan is found none exists.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_PLACEDSEARCH_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_PLACEDSEARCH_H

#include "llmmem/Planning/Model/Graph.h"
#include "llmmem/Planning/Model/Plan.h"

namespace llmmem::planning {

struct PlacedAnswer {
  enum class Kind { Found, None, GaveUp } kind = Kind::GaveUp;
  Plan plan;              // where found: steps, offsets, workspaces, arena, peak and cost
  int64_t leastArena = 0; // where none was found: no plan has a smaller arena than this
};

/// Returns the cheapest plan whose arena is at most `arena` bytes. It counts `work` down by arcs.
/// It gives up where none is left, and on problems that are not small or whose sizes have too many
/// sums.
PlacedAnswer cheapestPlaced(const Graph &graph, int64_t arena, int64_t &work);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_PLACEDSEARCH_H
