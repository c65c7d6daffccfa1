//===- PackShapes.h - Offsets for shapes ------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_ALLOCATION_PACKSHAPES_H
#define LLMMEM_LIB_PLANNING_ALLOCATION_PACKSHAPES_H

#include "Skyline.h"
#include "llmmem/Planning/Allocation/Placement.h"

namespace llmmem::planning {

/// Packs `shapes`, whose sizes are multiples of the alignment already. The heuristics come first;
/// then, within `options.work`, the core (PackCore.h) or the exact search. It stops at the lower
/// bound or at `options.capacity`.
Packing packShapes(const Shapes &shapes, const PackOptions &options);

/// Packs a core (PackCore.h) in the same way, without looking for a smaller one and without
/// ejection chains. The offsets are of use where the arena is within `options.capacity`.
Packing packCore(const Shapes &core, const PackOptions &options);

/// Returns where the topmost shape ends.
int64_t arenaOf(const Shapes &shapes, llvm::ArrayRef<int64_t> offsets);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_ALLOCATION_PACKSHAPES_H
