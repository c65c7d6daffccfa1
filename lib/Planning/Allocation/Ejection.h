//===- Ejection.h - Ejection chains that fit a packing into a capacity -----------------===//
//
// Shapes that end above the capacity become unplaced. One after another is placed at the offset
// where the shapes it collides with have the least weight; these are ejected, gain weight and
// become unplaced: an ejection chain (Glover 1996), with weights as in guided local search (Faroe,
// Pisinger and Zachariasen 2003). Placed shapes never overlap, so large shapes find their offsets
// first and small ones fill the gaps.
//
//   capacity ---------------        c is unplaced; at its best offset it collides only with b, and
//              | a |  | b |         b fits beside a
//              +---+  +---+
//
// It works best with many small shapes: where the search within a capacity (PackSearch.h) does not
// finish on hundreds of them, this closes more than half of a skyline's gap to the live sum.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_ALLOCATION_EJECTION_H
#define LLMMEM_LIB_PLANNING_ALLOCATION_EJECTION_H

#include "Skyline.h"
#include "Tuning/Constants.h"
#include "llmmem/Planning/Allocation/Placement.h"

namespace llmmem::planning {

/// Changes `offsets`, a packing of `shapes`, into one within the capacity of `options`; false where
/// `work` (edges of shapes visited, counted down) does not suffice, or `patience` of it leaves no
/// less unplaced: then `offsets` are as they were.
bool fitByEjection(const Shapes &shapes, const PackOptions &options, int64_t &work,
                   std::vector<int64_t> &offsets, int64_t patience = INT64_MAX);

/// Where chains mostly fail: those that end leave less and less unplaced.
inline int64_t littlePatience(int64_t work) { return work / tuning::patiencePart; }

/// `wanted` without what overlaps: of two shapes that do, the one of less area lies above
/// `capacity` then, which is where ejection chains begin. So does what is wanted nowhere, at less
/// than 0.
std::vector<int64_t> withoutOverlaps(const Shapes &shapes, llvm::ArrayRef<int64_t> wanted,
                                     int64_t capacity);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_ALLOCATION_EJECTION_H
