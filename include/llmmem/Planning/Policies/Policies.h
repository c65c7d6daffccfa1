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
#include "llvm/ADT/ArrayRef.h"

namespace llmmem::planning {

class Graph;

enum class PolicyKind : uint8_t { None, EveryK, Sqrt, Full, Selective, Budget, LeastPeak };

struct Policy {
  PolicyKind kind = PolicyKind::Budget;
  int64_t every = 1;             // EveryK
  std::vector<OpIndex> selected; // Selective: the forward ops whose results are recomputed
};

/// The steps of a policy that does not look at the budget.
using FixedPolicy = std::vector<OpIndex> (*)(const Graph &, const Policy &);

/// One line of the table of policies.
struct PolicyEntry {
  PolicyKind kind;
  llvm::StringLiteral name;    // as in --policy=NAME
  llvm::StringLiteral takes;   // the number behind NAME=, or empty
  llvm::StringLiteral summary; // what it keeps, for help
  FixedPolicy decide;          // null where the budget decides
};

llvm::ArrayRef<PolicyEntry> policyTable();

/// The names of the table: "none, every=K, sqrt, full, selective, budget or least-peak".
std::string policyNames();

/// The table for a tool's help, a line each: "  none        keep everything, in the given order".
std::string policyHelp();

/// Parses one of these names. Example: "every=3" is {EveryK, 3}.
llvm::Expected<Policy> parsePolicy(llvm::StringRef text);

/// The text that is parsed to `policy`.
std::string nameOf(const Policy &policy);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_POLICIES_POLICIES_H
