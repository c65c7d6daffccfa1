//===- CanonicalProblem.h - The same numbering for all equal problems --------------===//
//
// A search whose ties are broken by numbers ends at another schedule where the same graph comes
// with other numbers, labels or another order. Here ops are numbered by what the graph alone says
// of them: by the longest path from an input, then by that to the end, then by colour (Colours.h),
// and values by the first op that names them. What still ties is alike in its neighbourhood, and
// follows the order of what it reads.
//
// Example: twelve blocks with labels in the order of a model, and the same shuffled without labels:
// the problems are equal except for ids and names.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_STRUCTURE_CANONICALPROBLEM_H
#define LLMMEM_LIB_PLANNING_STRUCTURE_CANONICALPROBLEM_H

#include "llmmem/Planning/Model/Graph.h"
#include "llmmem/Planning/Model/Plan.h"

namespace llmmem::planning {

struct CanonicalProblem {
  Problem problem;                 // without labels
  std::vector<OpIndex> opOf;       // per op of `problem`: its number in the original
  std::vector<ValueIndex> valueOf; // per value of `problem`

  /// Turns a plan of `problem` into one of the problem that it was made from.
  void restoreNumbers(Plan &plan) const;
};

CanonicalProblem makeCanonical(const Graph &graph);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_STRUCTURE_CANONICALPROBLEM_H
