//===- Policies.cpp - The table of policies --------------------------------===//

#include "llmmem/Planning/Policies/Policies.h"
#include "FixedPolicies.h"
#include "llmmem/Planning/Policies/Modules.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace llmmem::planning;
using llvm::StringRef;

/// A new policy adds one line here.
static constexpr PolicyEntry table[] = {
    {PolicyKind::None, "none", PolicyArgument::Nothing, "keep everything, in the given order",
     keepEverything},
    {PolicyKind::EveryK, "every", PolicyArgument::Number, "keep the inputs of every K-th block",
     keepEveryKth},
    {PolicyKind::Sqrt, "sqrt", PolicyArgument::Nothing, "every=K with K = sqrt(number of blocks)",
     keepEverySqrt},
    {PolicyKind::Full, "full", PolicyArgument::Nothing, "keep the input of each block alone",
     keepBlockInputs},
    {PolicyKind::Selective, "selective", PolicyArgument::Modules,
     "recompute modules of each block; without any, the core of attention", recomputeSelected},
    {PolicyKind::Budget, "budget", PolicyArgument::Nothing,
     "the least recomputation that fits the budget", nullptr},
    {PolicyKind::LeastPeak, "least-peak", PolicyArgument::Nothing,
     "the least peak that can be found", nullptr},
};

std::span<const PolicyEntry> llmmem::planning::policyTable() { return table; }

static const PolicyEntry &entryOf(PolicyKind kind) {
  return *llvm::find_if(table, [&](const PolicyEntry &entry) { return entry.kind == kind; });
}

static std::string usage(const PolicyEntry &entry) {
  std::string text(entry.name);
  switch (entry.takes) {
  case PolicyArgument::Nothing:
    return text;
  case PolicyArgument::Number:
    return text + "=K";
  case PolicyArgument::Modules:
    return text + "[=MODULES]";
  }
  return text;
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

static void addLine(std::string &lines, std::string name, std::string_view summary) {
  name.resize(std::max<size_t>(name.size(), 22), ' ');
  lines += "  " + name + " " + std::string(summary) + "\n";
}

std::string llmmem::planning::policyHelp() {
  std::string lines;
  for (const PolicyEntry &entry : table)
    addLine(lines, usage(entry), entry.summary);
  lines += "  MODULES, separated by commas:\n";
  for (const ModuleEntry &entry : moduleTable())
    addLine(lines, "  " + std::string(entry.name), entry.summary);
  lines += "  after full and selective:\n";
  addLine(lines, "  +layers=N", "recompute in every N-th block alone");
  addLine(lines, "  +first=M", "recompute in the first M blocks of a program or stage alone");
  lines += "  after all that look at no budget:\n";
  addLine(lines, "  +reshard", "gather the parameters of a block again for its backward");
  return lines;
}

//===----------------------------------------------------------------------===//
// The text of a policy
//===----------------------------------------------------------------------===//

static bool readNumber(StringRef text, int64_t &number) {
  return !text.getAsInteger(10, number) && number >= 1;
}

/// Reads what follows `=`, and says whether the policy takes it.
static llmmem::Result<bool> readArgument(const PolicyEntry &entry, bool isGiven, StringRef argument,
                                         Policy &policy) {
  if (entry.takes != PolicyArgument::Modules)
    return isGiven == (entry.takes == PolicyArgument::Number) &&
           (!isGiven || readNumber(argument, policy.every));
  if (!isGiven)
    return true;
  for (StringRef name : llvm::split(argument, ',')) {
    if (!findModule(name))
      return llmmem::Failure{"unknown module '" + name.str() + "' of the policy '" +
                             std::string(entry.name) + "': expected " + moduleNames()};
    if (!llvm::is_contained(policy.modules, name))
      policy.modules.push_back(name.str());
  }
  return true;
}

/// Reads one option, which follows `+`. Returns what is wrong with it, or nothing.
static std::optional<std::string> readOption(const PolicyEntry &entry, StringRef option,
                                             Policy &policy) {
  auto refuse = [&](const std::string &why) {
    return "option '+" + option.str() + "' of the policy '" + std::string(entry.name) + "': " + why;
  };
  auto [name, number] = option.split('=');
  if (option == "reshard") {
    if (!entry.decide)
      return refuse("the budget decides what is gathered again; leave it out");
    policy.reshards = true;
    return std::nullopt;
  }
  if (name != "layers" && name != "first")
    return refuse("expected +reshard, +layers=N or +first=M");
  if (policy.kind != PolicyKind::Full && policy.kind != PolicyKind::Selective)
    return refuse("it is of full and selective, which recompute block by block");
  int64_t given = 0;
  if (!readNumber(number, given))
    return refuse("expected a number of at least 1");
  if (name == "layers")
    policy.blocks.every = given;
  else
    policy.blocks.first = given;
  return std::nullopt;
}

llmmem::Result<Policy> llmmem::planning::parsePolicy(std::string_view text) {
  auto [head, options] = StringRef(text).split('+');
  auto [name, argument] = head.split('=');
  const auto *entry =
      llvm::find_if(table, [&](const PolicyEntry &it) { return StringRef(it.name) == name; });
  const Failure unknown{"unknown policy '" + std::string(text) + "': expected " + policyNames() +
                        ", K at least 1"};
  if (entry == std::end(table))
    return unknown;
  Policy policy;
  policy.kind = entry->kind;
  Result<bool> isTaken = readArgument(*entry, head.contains('='), argument, policy);
  if (!isTaken)
    return Failure{isTaken.error()};
  if (!*isTaken)
    return unknown;
  if (StringRef(text).contains('+'))
    for (StringRef option : llvm::split(options, '+'))
      if (std::optional<std::string> why = readOption(*entry, option, policy))
        return Failure{*why};
  return policy;
}

std::string llmmem::planning::nameOf(const Policy &policy) {
  const PolicyEntry &entry = entryOf(policy.kind);
  std::string text(entry.name);
  if (entry.takes == PolicyArgument::Number)
    text += "=" + std::to_string(policy.every);
  if (!policy.modules.empty())
    text += "=" + llvm::join(policy.modules, ",");
  if (policy.blocks.every != 1)
    text += "+layers=" + std::to_string(policy.blocks.every);
  if (policy.blocks.first)
    text += "+first=" + std::to_string(*policy.blocks.first);
  return policy.reshards ? text + "+reshard" : text;
}
