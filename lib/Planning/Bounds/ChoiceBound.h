//===- ChoiceBound.h - What other program points prove at most --------------------===//
//
// A choice at one program point, what is held there and what runs again after it, says what may be
// held at another point as well: all that is needed there, except for what the choice runs again.
// So the choices that the minimum cuts of one program point have found bound what other points can
// add. Each bound takes a walk over the graph, and no minimum cut.
//
// Example: f writes a, t1 and t2 follow, then b reads a. The choice at t1 that runs f again holds
// nothing at t2 either. Where the choice that holds a fits at t2, t2 proves nothing more.
//

#ifndef LLMMEM_LIB_PLANNING_BOUNDS_CHOICEBOUND_H
#define LLMMEM_LIB_PLANNING_BOUNDS_CHOICEBOUND_H

#include "llmmem/Planning/Bounds/Bounds.h"

namespace llmmem::planning {

class ChoiceBound {
public:
  /// `choices` belong to a cut at `programPoint`. Some schedule within `budget` pays `known` > 0
  /// for recomputation.
  ChoiceBound(const Graph &graph, OpIndex programPoint, llvm::ArrayRef<CutChoice> choices,
              int64_t budget, int64_t known);

  /// Returns a bound on what any prices of `programPoint` and `other`, which is an ancestor or a
  /// descendant, prove together.
  int64_t mostTogether(OpIndex other) const;
  /// Returns a bound on what any price proves at the first run of `op`, if `later` first runs
  /// later, or in any case without `later`.
  int64_t mostAt(OpIndex op, OpIndex later = -1) const;

private:
  struct Held {
    int64_t bytes = 0, repeatCost = 0; // cost of what runs again after it
  };
  class Walk;
  int64_t capacityAt(OpIndex op) const { return budget - fixedBytesAt(graph, op); }

  const Graph &graph;
  OpIndex programPoint;
  llvm::SmallVector<CutChoice, 2> choices;
  int64_t budget, known;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BOUNDS_CHOICEBOUND_H
