//===- BothArenas.h - Offsets on the device and on the host -----------------------===//
//
// This file places a schedule with copies. Each memory is packed separately
// (Allocation/Placement.h), and the time of the plan follows from both placements.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_OFFLOAD_BOTHARENAS_H
#define LLMMEM_LIB_PLANNING_OFFLOAD_BOTHARENAS_H

#include "llmmem/Planning/Allocation/Placement.h"
#include "llmmem/Planning/Model/Plan.h"

namespace llmmem::planning {

class BothArenas {
public:
  explicit BothArenas(const Problem &problem);

  /// Fills in all of `plan` for its steps, except for its status and its bounds. `work` has the
  /// meaning that it has in PackOptions.
  void place(Plan &plan, int64_t work, Cancellation *cancellation) const;

  /// Returns the first memory whose resident bytes and arena exceed its budget, and -1 where all
  /// fit.
  MemoryIndex overfull(const Plan &plan) const;

private:
  Plan placeIn(MemoryIndex memory, const std::vector<OpIndex> &steps, int64_t work,
               Cancellation *cancellation) const;

  const Problem &problem;
  Problem views[2]; // the problem as each memory sees it: values of the other have no bytes
};

/// Returns all round trips of the plan, sorted by the step that brings the value back.
std::vector<PlannedCopy> listCopies(const Problem &problem, const Plan &plan);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_OFFLOAD_BOTHARENAS_H
