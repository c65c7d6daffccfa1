//===- PeakMoves.h - Orders that hold less at one step ------------------------------===//
//
// Only a move across the fullest step can lower the peak of an order. For each op this considers
// two: one from before that step to after it, with the ops before the step that wait for its
// results, and one from after it to before it, with the ops that it waits for itself.
//
// Example: an update reads a gradient g twice, m = f(g), then v = k(g), then w = u(m, v), and m may
// lie where g was: while k runs, g, m and v are held. With f after k, two of them at most.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_STRUCTURE_PEAKMOVES_H
#define LLMMEM_LIB_PLANNING_STRUCTURE_PEAKMOVES_H

#include "llmmem/Planning/Model/Schedule.h"

namespace llmmem::planning {

/// Returns orders of the ops of `order`, each op once, made by one such move each, that hold less
/// at the step that ran at `full`; the least bytes come first. It takes O(n) for each op that is
/// near enough to move.
std::vector<std::vector<OpIndex>> moveAcross(const Graph &graph, llvm::ArrayRef<OpIndex> order,
                                             int32_t full);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_STRUCTURE_PEAKMOVES_H
