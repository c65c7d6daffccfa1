//===- ChoiceBound.h - What other moments prove at most ---------------------------===//
//
// A choice at one moment, what is held there and what runs again behind it, says what may be held
// at another moment as well: all that is needed there, but for what the choice runs again. So the
// choices that one moment's minimum cuts have found bound what other moments can add, in a walk
// over the graph each and without a minimum cut.
//
// Example: f writes a, t1 and t2 follow, then b reads a. The choice at t1 that runs f again holds
// nothing at t2 either. Where the one that holds a fits beside t2, t2 proves nothing more.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BOUNDS_CHOICEBOUND_H
#define LLMMEM_LIB_PLANNING_BOUNDS_CHOICEBOUND_H

#include "llmmem/Planning/Bounds/Bounds.h"

namespace llmmem::planning {

class ChoiceBound {
public:
  /// `choices` are of a cut at `moment`. Some schedule within `budget` pays `known` > 0 for
  /// recomputation.
  ChoiceBound(const Graph &graph, OpIndex moment, llvm::ArrayRef<CutChoice> choices, int64_t budget,
              int64_t known);

  /// No prices of `moment` and `other`, which is an ancestor or a descendant, prove more together.
  int64_t mostTogether(OpIndex other) const;
  /// No price proves more at the first run of `op`, if `later` first runs later; without, whatever
  /// does.
  int64_t mostAt(OpIndex op, OpIndex later = -1) const;

private:
  struct Held {
    int64_t bytes = 0, repeatCost = 0; // of what runs again behind it
  };
  class Walk;
  int64_t capacityAt(OpIndex op) const { return budget - bytesBeside(graph, op); }

  const Graph &graph;
  OpIndex moment;
  llvm::SmallVector<CutChoice, 2> choices;
  int64_t budget, known;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BOUNDS_CHOICEBOUND_H
