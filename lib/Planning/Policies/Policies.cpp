//===- Policies.cpp - The table of policies --------------------------------===//

#include "llmmem/Planning/Policies/Policies.h"
#include "FixedPolicies.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace llmmem::planning;

/// A new policy adds one line here.
static constexpr PolicyEntry table[] = {
    {PolicyKind::None, "none", "", "keep everything, in the given order", keepEverything},
    {PolicyKind::EveryK, "every", "K", "keep the inputs of every K-th block", keepEveryKth},
    {PolicyKind::Sqrt, "sqrt", "", "every=K with K = sqrt(number of blocks)", keepEverySqrt},
    {PolicyKind::Full, "full", "", "keep the input of each block alone", keepBlockInputs},
    {PolicyKind::Selective, "selective", "", "recompute the core of attention alone",
     recomputeSelected},
    {PolicyKind::Budget, "budget", "", "the least recomputation that fits the budget", nullptr},
    {PolicyKind::LeastPeak, "least-peak", "", "the least peak that can be found", nullptr},
};

std::span<const PolicyEntry> llmmem::planning::policyTable() { return table; }

static std::string usage(const PolicyEntry &entry) {
  std::string text(entry.name);
  return entry.takes.empty() ? text : text + "=" + std::string(entry.takes);
}

std::string llmmem::planning::policyNames() {
  std::string names;
  for (const PolicyEntry &entry : table) {
    if (&entry != table)
      names += &entry == std::end(table) - 1 ? " or " : ", ";
    names += usage(entry);
  }
  return names;
}

std::string llmmem::planning::policyHelp() {
  std::string lines;
  for (const PolicyEntry &entry : table) {
    std::string name = usage(entry);
    name.resize(std::max<size_t>(name.size(), 12), ' ');
    lines += "  " + name + std::string(entry.summary) + "\n";
  }
  return lines;
}

llmmem::Result<Policy> llmmem::planning::parsePolicy(std::string_view text) {
  auto [name, argument] = llvm::StringRef(text).split('=');
  for (const PolicyEntry &entry : table) {
    if (llvm::StringRef(entry.name) != name)
      continue;
    Policy policy;
    policy.kind = entry.kind;
    bool takesNumber = !entry.takes.empty();
    if (takesNumber != llvm::StringRef(text).contains('=') ||
        (takesNumber && (argument.getAsInteger(10, policy.every) || policy.every < 1)))
      break;
    return policy;
  }
  return Failure{"unknown policy '" + std::string(text) + "': expected " + policyNames() +
                 ", K at least 1"};
}

std::string llmmem::planning::nameOf(const Policy &policy) {
  const PolicyEntry &entry = *llvm::find_if(
      table, [&](const PolicyEntry &candidate) { return candidate.kind == policy.kind; });
  return std::string(entry.name) + (entry.takes.empty() ? "" : "=" + std::to_string(policy.every));
}
