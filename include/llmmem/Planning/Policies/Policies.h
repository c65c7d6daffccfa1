//===- Policies.h - Policies that choose the kept values -------------------===//
//
// A policy decides which saved values (written in the forward, read in the backward) are kept. The
// table of policies is the only list of them: the parser, the help of the tools and the tests read
// it. To add one: docs/Recipes/AddAPolicy.md.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_POLICIES_POLICIES_H
#define LLMMEM_PLANNING_POLICIES_POLICIES_H

#include "llmmem/Planning/Model/Problem.h"
#include <span>

namespace llmmem::planning {

class Graph;

enum class PolicyKind : uint8_t { None, EveryK, Sqrt, Full, Selective, Budget, LeastPeak };

struct Policy {
  PolicyKind kind = PolicyKind::Budget;
  int64_t every = 1;             // EveryK
  std::vector<OpIndex> selected; // Selective: the forward ops whose results are recomputed
};

/// A function that returns the steps of a policy that does not look at the budget.
using FixedPolicy = std::vector<OpIndex> (*)(const Graph &, const Policy &);

/// One row of the table of policies.
struct PolicyEntry {
  PolicyKind kind;
  std::string_view name;    // as in --policy=NAME
  std::string_view takes;   // the number after NAME=, or empty
  std::string_view summary; // what it keeps, for the help
  FixedPolicy decide;       // null where the budget decides
};

LLMMEM_EXPORT std::span<const PolicyEntry> policyTable();

/// Returns the names of the table: "none, every=K, sqrt, full, selective, budget or least-peak".
LLMMEM_EXPORT std::string policyNames();

/// Returns the table for a tool's help, a line each: "  none        keep everything, in the given
/// order".
LLMMEM_EXPORT std::string policyHelp();

/// Parses one of these names. Example: "every=3" is {EveryK, 3}.
LLMMEM_EXPORT Result<Policy> parsePolicy(std::string_view text);

/// Returns the text that parses to `policy`.
LLMMEM_EXPORT std::string nameOf(const Policy &policy);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_POLICIES_POLICIES_H
