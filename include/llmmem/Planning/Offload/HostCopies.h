//===- HostCopies.h - Values that may leave for the host ----------------------===//
//
// Offload as a third decision beside keep and recompute. `withHostCopies` adds to a problem of one
// memory the host's memory and, for each value that may leave the device, two optional copies: one
// on copy_up, from the value into one of the host, one on copy_down back into the value. The result
// is a problem of version 2 like any other (Model/Problem.h); `plan` decides which copies run and
// when, and `verify` checks it.
//
// A value may leave where an op that must run writes it, it has bytes, and another op stands
// between two of its uses (its writer, its readers and, where it is kept, the end). Resident values
// stay.
//
// Units: bytes; a cost is a nanosecond. A copy takes latency + bytes / rate, rounded up.
// Errors: a budget of the host below the smallest value that may leave, a rate of 0, a problem that
// has several memories or resources already.
//
// Example: 1,000 bytes at 25 GB/s and a latency of 10 ns take 50 ns each way.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_OFFLOAD_HOSTCOPIES_H
#define LLMMEM_PLANNING_OFFLOAD_HOSTCOPIES_H

#include "llmmem/Planning/Model/Problem.h"

namespace llmmem::planning {

/// Between the device and the host; copies run one at a time in each direction.
struct HostLink {
  int64_t up = 0, down = 0; // bytes per second of one direction
  int64_t latency = 0;      // ns of each copy
};

/// ns of a copy of `bytes` at `rate` bytes per second, rounded up; the largest number where it is
/// longer than that.
int64_t timeOfCopy(int64_t bytes, int64_t rate, int64_t latency);

/// Reads `25GB/s`, of each direction, or `25GB/s,20GB/s`, up and down; refuses 0.
LLMMEM_EXPORT Result<HostLink> parseHostLink(std::string_view text);

/// `problem` with the copies to a host of `hostBudget` bytes. Ops and values keep their positions;
/// the new ones stand behind them.
LLMMEM_EXPORT Result<Problem> withHostCopies(const Problem &problem, int64_t hostBudget,
                                             const HostLink &link);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_OFFLOAD_HOSTCOPIES_H
