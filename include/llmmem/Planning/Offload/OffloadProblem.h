//===- OffloadProblem.h - Values that may leave for the host ------------------===//
//
// Offload is a third decision, next to keep and recompute. `withHostCopies` adds to a problem of
// one memory the host's memory and, for each value that may leave the device, two optional copies:
// one on copy_up, from the value into a value of the host, and one on copy_down, back into the
// value. The result is a problem of version 2 like any other (Model/Problem.h). `plan` decides
// which copies run and when, and `verify` checks the plan.
//
// A value may leave if it has bytes, an op that must run writes it, and another op lies between two
// of its uses (its writer, its readers and, where it is kept, the end). Resident values stay.
//
// Sizes are in bytes and costs in nanoseconds. A copy takes latency + bytes / rate, rounded up.
// It is an error if the host's budget is below the smallest value that may leave, if a rate is 0,
// or if the problem already has several memories or resources.
//
// Example: 1,000 bytes at 25 GB/s and a latency of 10 ns take 50 ns each way.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_OFFLOAD_OFFLOADPROBLEM_H
#define LLMMEM_PLANNING_OFFLOAD_OFFLOADPROBLEM_H

#include "llmmem/Planning/Model/Problem.h"

namespace llmmem::planning {

/// The link between the device and the host. Copies run one at a time in each direction.
struct HostLink {
  int64_t up = 0, down = 0; // bytes per second to the host, and to the device
  int64_t latency = 0;      // ns of each copy
};

/// Returns the ns of a copy of `bytes` at `rate` bytes per second, rounded up, and the largest
/// number where the result exceeds it.
int64_t timeOfCopy(int64_t bytes, int64_t rate, int64_t latency);

/// Reads `25GB/s`, for both directions, or `25GB/s,20GB/s`, to the host and to the device. It
/// refuses 0.
LLMMEM_EXPORT Result<HostLink> parseHostLink(std::string_view text);

/// Returns `problem` with the copies to a host of `hostBudget` bytes. Ops and values keep their
/// positions, and the new ones follow them: for each value that may leave, in the order of the
/// values, one value and then the copy to the host and the copy to the device. Where `mayLeave` has
/// an entry for each value, those of which it is false stay on the device.
LLMMEM_EXPORT Result<Problem> withHostCopies(const Problem &problem, int64_t hostBudget,
                                             const HostLink &link,
                                             const std::vector<bool> &mayLeave = {});

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_OFFLOAD_OFFLOADPROBLEM_H
