//===- CopyOrder.h - When the copies of a schedule of the device run --------------===//
//
// The schedule of the device stays as it is, and the copies of the evicted values overlap its
// steps. A device-to-host copy starts as soon as its value is written and the link is free; of
// several, the one that can free bytes first. Host-to-device copies run in the order of their
// readers. Each of them holds its bytes from its start, and starts before its reader where all
// steps up to the reader have room. Compute waits where a step has no room because a value has not
// left yet, and where an operand has not come back.
//
// In the resulting order a device-to-host copy has the position at which it ends, and a
// host-to-device copy that at which it starts. So live ranges in the order are those in time.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_OFFLOAD_COPYORDER_H
#define LLMMEM_LIB_PLANNING_OFFLOAD_COPYORDER_H

#include "EvictedValues.h"

namespace llmmem::planning {

struct CopyOrder {
  std::vector<OpIndex> steps; // ops of the whole problem
  int64_t time = 0; // assumes that buffers share bytes only where the capacity requires it
};

struct CopyLimits {
  int64_t capacity; // bytes of the device that may be held at any time, resident ones included
  /// How much earlier than its own duration requires a host-to-device copy may start.
  int64_t ahead = INT64_MAX / 4;
  /// Orders that take longer are not returned.
  int64_t time = INT64_MAX;
};

/// Orders the copies of the chosen intervals. Returns nothing where the capacity does not suffice,
/// or where the order takes longer than `limits.time`.
std::optional<CopyOrder> orderCopies(const OffloadShape &shape, const Problem &problem,
                                     const EvictedValues &values,
                                     const std::vector<int32_t> &intervals,
                                     const CopyLimits &limits);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_OFFLOAD_COPYORDER_H
