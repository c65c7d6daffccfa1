//===- HostRequest.cpp - What of the host's memory a plan may use -------------===//

#include "llmmem/Planning/Offload/HostRequest.h"
#include "llmmem/Support/ByteSize.h"

using namespace llmmem;
using namespace llmmem::planning;

Result<HostRequest>
planning::readHostRequest(const HostOptions &given,
                          llvm::function_ref<std::string(llvm::StringRef)> spell) {
  if (given.latency && *given.latency < 0)
    return Failure{spell("link-latency") + ": expected a number of ns, 0 or more"};
  if (!given.budget) {
    if (!given.link && !given.latency)
      return HostRequest{};
    return Failure{spell(given.link ? "link" : "link-latency") +
                   ": it leads to no memory; give the host's bytes with " + spell("host-budget") +
                   "=64GB"};
  }
  llvm::Expected<int64_t> budget = parseByteSize(*given.budget);
  if (!budget)
    return Failure{spell("host-budget") + ": " + llvm::toString(budget.takeError())};
  HostRequest request{*budget, std::nullopt, given.latency};
  if (!given.link)
    return request;
  Result<HostLink> link = parseHostLink(*given.link);
  if (!link)
    return Failure{spell("link") + ": " + link.error()};
  request.link = *link;
  return request;
}
