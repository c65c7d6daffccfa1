//===- PlacedSearch.h - All schedules and all placements of a small problem -----===//
//
// A schedule whose live bytes fit need not have an arena that fits. Where that happens, the
// schedule and its offsets are searched together: a state is what stands where in the arena. An op
// may run where its operands stand; its results overwrite what stood in their place, and nothing is
// dropped in any other way. A state is beaten by one of no more cost that has the same and more in
// the same places.
//
// Every plan can be pushed down until each buffer stands on the floor or on another buffer, so sums
// of sizes are all the offsets there are: what is not found does not exist.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_PLACEDSEARCH_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_PLACEDSEARCH_H

#include "llmmem/Planning/Model/Graph.h"
#include "llmmem/Planning/Model/Plan.h"

namespace llmmem::planning {

struct PlacedAnswer {
  enum class Kind { Found, None, GaveUp } kind = Kind::GaveUp;
  Plan plan;              // found: steps, offsets, workspaces, arena, peak and cost
  int64_t leastArena = 0; // none: no plan has a smaller arena than this
};

/// The cheapest plan whose arena is at most `arena` bytes. Counts `work` down by arcs and gives
/// up where none is left, and on problems that are not small or whose sizes have too many sums.
PlacedAnswer cheapestPlaced(const Graph &graph, int64_t arena, int64_t &work);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_PLACEDSEARCH_H
