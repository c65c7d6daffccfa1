//===- Ejection.h - Fits a packing into a capacity by putting shapes out ---------------===//
//
// Shapes that stand above the capacity wait. One after the other is put where what it collides with
// weighs least, and what it collides with waits in its turn, heavier than before: an ejection chain
// (Glover 1996), guided by weights that a shape gains whenever it is put out, as in guided local
// search (Faroe, Pisinger and Zachariasen 2003). No two shapes ever overlap, so large shapes find
// their places first and small ones fill what is left.
//
//   capacity ---------------        c waits; where it would stand only b is in its way, and
//              | a |  | b |         b fits beside a
//              +---+  +---+
//
// Many small shapes are its strength: where a search within a capacity (PackSearch.h) gets lost
// among hundreds of them, this closes more than half of what a skyline loses.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_ALLOCATION_EJECTION_H
#define LLMMEM_LIB_PLANNING_ALLOCATION_EJECTION_H

#include "Skyline.h"

namespace llmmem::planning {

/// Changes `offsets`, a packing of `shapes`, into one within `capacity`; false where `work` (edges
/// of shapes looked at, counted down) does not suffice: then `offsets` are as they were.
bool fitByEjection(const Shapes &shapes, int64_t capacity, int64_t &work,
                   std::vector<int64_t> &offsets);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_ALLOCATION_EJECTION_H
