//===- Policies.cpp - The table of policies --------------------------------===//

#include "llmmem/Planning/Policies/Policies.h"
#include "FixedPolicies.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace llmmem::planning;

/// A new policy is one line here.
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

llvm::ArrayRef<PolicyEntry> llmmem::planning::policyTable() { return table; }

static std::string usage(const PolicyEntry &entry) {
  return (entry.takes.empty() ? llvm::Twine(entry.name) : entry.name + "=" + entry.takes).str();
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
    lines += "  " + name + entry.summary.str() + "\n";
  }
  return lines;
}

llvm::Expected<Policy> llmmem::planning::parsePolicy(llvm::StringRef text) {
  auto [name, argument] = text.split('=');
  for (const PolicyEntry &entry : table) {
    if (entry.name != name)
      continue;
    Policy policy;
    policy.kind = entry.kind;
    bool takesNumber = !entry.takes.empty();
    if (takesNumber != text.contains('=') ||
        (takesNumber && (argument.getAsInteger(10, policy.every) || policy.every < 1)))
      break;
    return policy;
  }
  return llvm::createStringError("unknown policy '" + text + "': expected " + policyNames() +
                                 ", K at least 1");
}

std::string llmmem::planning::nameOf(const Policy &policy) {
  const PolicyEntry &entry = *llvm::find_if(
      table, [&](const PolicyEntry &candidate) { return candidate.kind == policy.kind; });
  return entry.name.str() + (entry.takes.empty() ? "" : "=" + std::to_string(policy.every));
}
