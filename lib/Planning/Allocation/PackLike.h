//===- PackLike.h - Pack as a similar schedule is packed ----------------------------===//
//
// On the way to the smallest footprint, dozens of schedules are packed, each of which differs from
// the one before in a few steps. So most buffers may lie where they lay, and ejection chains find
// offsets for the others. From a packing that fits the capacity the same chains go on to the live
// bytes. Otherwise the same schedule would be packed again for each capacity that is a little
// lower.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_ALLOCATION_PACKLIKE_H
#define LLMMEM_LIB_PLANNING_ALLOCATION_PACKLIKE_H

#include "PackShapes.h"

namespace llmmem::planning {

/// Packs `shapes` as `packShapes` does, beginning at the offsets that are `wanted`; a negative
/// number is no offset. Where the capacity is met, it goes on to look for a smaller packing.
Packing packLike(const Shapes &shapes, const PackOptions &options,
                 const std::vector<int64_t> &wanted);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_ALLOCATION_PACKLIKE_H
