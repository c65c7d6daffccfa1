//===- HostRequest.h - What of the host's memory a plan may use ---------------===//
//
// llmmem-plan and the passes take the same options for it (PlannerOptions.td), and read them here.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_OFFLOAD_HOSTREQUEST_H
#define LLMMEM_PLANNING_OFFLOAD_HOSTREQUEST_H

#include "llmmem/Planning/Offload/OffloadProblem.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace llmmem::planning {

/// Says what of the host's memory a plan may use.
struct HostRequest {
  std::optional<int64_t> budget; // bytes that values may leave for; without it nothing leaves
  /// Says what copies take; without it the device's table says so of its link to the host.
  std::optional<HostLink> link;
  std::optional<int64_t> linkLatency; // ns, in the place of the link's
};

/// Holds the options as they were given: bytes as in 64GB, a rate as in 25GB/s, and ns.
struct HostOptions {
  std::optional<std::string> budget, link;
  std::optional<int64_t> latency;
};

/// Reads the options. It is an error if one cannot be read, or if there is a link or a latency
/// without a budget. Messages name an option as `spell` writes its name, as in --host-budget.
Result<HostRequest> readHostRequest(const HostOptions &given,
                                    llvm::function_ref<std::string(llvm::StringRef)> spell);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_OFFLOAD_HOSTREQUEST_H
