//===- PackCore.h - Pack the full steps first ----------------------------------------===//
//
// A schedule that recomputes has few steps that are nearly as full as the capacity. The shapes that
// are live there, in the time of these steps alone, are a much smaller packing: the core. Each
// packing of all shapes is one of the core, so a core that does not pack is not worth the rest; nor
// is one of more shapes than the search may place, as heuristics pack few of them. Where it packs,
// the others find their offsets around it by ejection chains, as most of the time there is room.
//
//   live bytes |      _           capacity    the core: a, b and c at the steps [5, 7), where all
//              |  _  | |_                     are live; d and e are placed around them
//              |_| |_|   |__
//              +------------- time
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_ALLOCATION_PACKCORE_H
#define LLMMEM_LIB_PLANNING_ALLOCATION_PACKCORE_H

#include "Skyline.h"
#include "llmmem/Planning/Allocation/Placement.h"

namespace llmmem::planning {

/// TooLarge: most steps are full. Unpacked: no packing of the core was found or looked for, or none
/// of the rest around it.
enum class CoreOutcome { Packed, TooLarge, Unpacked };

/// Fills `offsets` with a packing of `shapes` within `capacity` where it finds one. It tries cores
/// of several sizes, each with some of the work of `options`.
CoreOutcome packCoreFirst(const Shapes &shapes, const PackOptions &options, int64_t capacity,
                          std::vector<int64_t> &offsets);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_ALLOCATION_PACKCORE_H
