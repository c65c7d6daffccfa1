//===- ChainProgram.h - The best option for every part ------------------------===//
//
// A dynamic programme over the chain. While part i runs, forward or backward, the parts before it
// hold what their options hold, and part i needs its own peak beside that. So the state is the sum
// of what is held so far, and each option is allowed where that sum and its peaks fit. Exact up to
// the rounding of the states.
//
// Example: two parts with options (cost 0, held 10, peaks 10) and (cost 1, held 2, peaks 10),
// capacity 12: the first part takes the second option (2 + 10 fits), the second keeps.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_CHAINPROGRAM_H
#define LLMMEM_LIB_PLANNING_CHAINPROGRAM_H

#include "ChainOptions.h"
#include <optional>

namespace llmmem::planning {

/// The cheapest choice per part under `capacity` bytes in all, resident included; nothing where
/// none fits.
std::optional<std::vector<int32_t>> chooseOptions(const ChainOptions &options, int64_t capacity);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_CHAINPROGRAM_H
