//===- PackLight.h - What is smaller than the alignment, placed last -----------------===//
//
// An arena ends where its topmost buffer's own bytes do: the padding behind them is not held. So a
// loss of 4 bytes that is live at the fullest step costs 4 bytes on top of all others, and a whole
// unit of the alignment anywhere below.
//
// Example: alignment 256, buffers of 512 and 4 bytes that live together: 4 on top makes an arena of
// 516 bytes, the live sum; 512 on top one of 768.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_ALLOCATION_PACKLIGHT_H
#define LLMMEM_LIB_PLANNING_ALLOCATION_PACKLIGHT_H

#include "PackShapes.h"
#include <optional>

namespace llmmem::planning {

/// Packs `shapes` without those that are light, and then these, each at the lowest offset that is
/// left; nothing where none is light, or more are than is worth the while.
std::optional<Packing> packLightLast(const Shapes &shapes, const std::vector<bool> &isLight,
                                     const PackOptions &options);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_ALLOCATION_PACKLIGHT_H
