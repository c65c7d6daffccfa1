//===- CopyOrder.h - When copies run beside a schedule of the device --------------===//
//
// A schedule of the device runs as it is; the values chosen leave and come back beside it. Copies
// up start as soon as their value is there and the link is free, those that make room first first.
// Copies down come in the order in which their readers do; each holds its bytes from its start, and
// starts ahead of its reader where all steps up to it have room. Compute waits where its bytes have
// not left yet, or a value is not back.
//
// In the order that comes out a copy up stands where it ends and a copy down where it starts, so
// that live ranges in the order are those in time.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_OFFLOAD_COPYORDER_H
#define LLMMEM_LIB_PLANNING_OFFLOAD_COPYORDER_H

#include "AbsentValues.h"

namespace llmmem::planning {

struct CopyOrder {
  std::vector<OpIndex> steps; // of the whole problem
  int64_t time = 0;           // where no two buffers share bytes that the capacity has twice
};

struct CopyLimits {
  int64_t capacity; // bytes of the device at any time, resident ones included
  /// How much earlier than it takes a copy down may start.
  int64_t ahead = INT64_MAX / 4;
  /// Orders that take longer are not asked for.
  int64_t time = INT64_MAX;
};

/// Nothing where the capacity does not suffice, or the order takes longer than asked for.
std::optional<CopyOrder> orderCopies(const OffloadShape &shape, const Problem &problem,
                                     const AbsentValues &values, const std::vector<int32_t> &gaps,
                                     const CopyLimits &limits);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_OFFLOAD_COPYORDER_H
