//===- Ejection.h - Ejection chains that fit a packing into a capacity -----------------===//
//
// Shapes that end above the capacity become unplaced. One after another is placed at the offset
// where the shapes that it collides with have the least weight; these are ejected, gain weight and
// become unplaced: an ejection chain (Glover 1996), with weights as in guided local search (Faroe,
// Pisinger and Zachariasen 2003). Placed shapes never overlap, so large shapes find their offsets
// first and small ones fill the free ranges.
//
//   capacity ---------------        c is unplaced; at its best offset it collides only with b, and
//              | a |  | b |         b fits next to a
//              +---+  +---+
//
// It works best with many small shapes: where the search within a capacity (PackSearch.h) does not
// finish on hundreds of them, this closes more than half of the distance from a skyline to the live
// sum.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_ALLOCATION_EJECTION_H
#define LLMMEM_LIB_PLANNING_ALLOCATION_EJECTION_H

#include "Skyline.h"
#include "Tuning/Constants.h"
#include "llmmem/Planning/Allocation/Placement.h"

namespace llmmem::planning {

/// Changes `offsets`, a packing of `shapes`, into one within the capacity of `options`. It counts
/// down `work` by the edges of shapes that it visits. It returns false and leaves `offsets`
/// unchanged where `work` does not suffice, or where work of `patience` does not reduce what is
/// unplaced.
bool fitByEjection(const Shapes &shapes, const PackOptions &options, int64_t &work,
                   std::vector<int64_t> &offsets, int64_t patience = INT64_MAX);

/// Returns the patience for packings where chains mostly fail: the chains that succeed leave less
/// and less unplaced.
inline int64_t littlePatience(int64_t work) { return work / tuning::patiencePart; }

/// Returns `wanted` without overlaps. Of two shapes that overlap, the one of less area moves above
/// `capacity`, which is where ejection chains begin. So does a shape that has no wanted offset,
/// which a negative number marks.
std::vector<int64_t> withoutOverlaps(const Shapes &shapes, llvm::ArrayRef<int64_t> wanted,
                                     int64_t capacity);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_ALLOCATION_EJECTION_H
