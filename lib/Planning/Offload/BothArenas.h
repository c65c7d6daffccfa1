//===- BothArenas.h - Offsets on the device and on the host -----------------------===//
//
// The offsets of a schedule with copies: each memory is packed by itself (Allocation/Placement.h),
// and the time that comes of both is the plan's.
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

  /// Fills all of `plan` but its status and its bounds, for its steps. `work` as in PackOptions.
  void place(Plan &plan, int64_t work, Cancellation *cancellation) const;

  /// The first memory whose resident bytes and arena exceed its budget; -1: all fit.
  MemoryIndex overfull(const Plan &plan) const;

private:
  Plan placeIn(MemoryIndex memory, const std::vector<OpIndex> &steps, int64_t work,
               Cancellation *cancellation) const;

  const Problem &problem;
  Problem views[2]; // what each memory holds, the other's values without bytes
};

/// All round trips of the plan, by the step that brings the value back.
std::vector<PlannedCopy> listCopies(const Problem &problem, const Plan &plan);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_OFFLOAD_BOTHARENAS_H
