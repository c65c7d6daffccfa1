//===- PackSubAlignment.h - Place buffers smaller than the alignment last ---------===//
//
// An arena ends at the last byte of its topmost buffer, without the padding after it. So a loss of
// 4 bytes that is live at the peak step costs 4 bytes at the top of the arena, and a whole unit of
// the alignment anywhere below.
//
// Example: alignment 256, buffers of 512 and 4 bytes that live together: 4 on top makes an arena of
// 516 bytes, the live sum; 512 on top one of 768.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_ALLOCATION_PACKSUBALIGNMENT_H
#define LLMMEM_LIB_PLANNING_ALLOCATION_PACKSUBALIGNMENT_H

#include "PackShapes.h"
#include <optional>

namespace llmmem::planning {

/// Packs the shapes of at least the alignment first, and then the smaller ones, each at its lowest
/// free offset. Returns nothing where there are no smaller ones, or too many.
std::optional<Packing> packSubAlignmentLast(const Shapes &shapes,
                                            const std::vector<bool> &isSubAlignment,
                                            const PackOptions &options);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_ALLOCATION_PACKSUBALIGNMENT_H
