//===- Colours.h - Equal ops have equal colours --------------------------------===//
//
// The colours of ops depend on the graph alone, and not on ids, names, or the given order. A colour
// starts from an op's own numbers (cost, workspace, sizes of what it reads and writes) and is
// refined, round by round, by the colours of the writers of its operands and of the readers of its
// results: Weisfeiler and Leman, "The reduction of a graph to canonical form" (1968). After few
// rounds ops that differ in their neighbourhood differ in colour, while those at the same place of
// two equal blocks do not. Ties between ready ops are broken by colour, so that equal blocks get
// equal orders.
//
// O(rounds x (ops + reads)) time.
//
// Example: in x -> k -> rope -> attention <- v <- x, where k and v are equal products, one round
// tells k from v: its reader is rope.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_STRUCTURE_COLOURS_H
#define LLMMEM_LIB_PLANNING_STRUCTURE_COLOURS_H

#include "llmmem/Planning/Model/Graph.h"

namespace llmmem::planning {

/// Returns the colour of each op after so many rounds. Equal problems in any order give equal
/// colours.
std::vector<uint64_t> findColours(const Graph &graph, int rounds);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_STRUCTURE_COLOURS_H
