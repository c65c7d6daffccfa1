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
struct Chain;
struct Retention;

enum class PolicyKind : uint8_t { None, EveryK, Sqrt, Full, Selective, Budget, LeastPeak };

/// Says in which blocks a policy recomputes, of those that one program runs, counted from 1.
struct BlockChoice {
  int64_t every = 1;            // every n-th block
  std::optional<int64_t> first; // the first m blocks alone
};

struct Policy {
  PolicyKind kind = PolicyKind::Budget;
  int64_t every = 1;                // EveryK
  std::vector<std::string> modules; // Selective: names of Policies/Modules.h; none is core_attn
  std::vector<OpIndex> selected;    // Selective: the forward ops of core attention
  BlockChoice blocks;               // Full and Selective
  /// Whether parameters that blocks gather from other ranks are gathered again for the backward
  /// (FSDP's reshard_after_forward).
  bool reshards = false;
};

/// A function that says what a policy holds that does not look at the budget: it discards the
/// values that it recomputes, of a retention that holds all.
using FixedPolicy = void (*)(const Graph &, const Chain &, const Policy &, Retention &);

/// What follows a policy's name after `=`.
enum class PolicyArgument : uint8_t { Nothing, Number, Modules };

/// One row of the table of policies.
struct PolicyEntry {
  PolicyKind kind;
  std::string_view name;    // as in --policy=NAME
  PolicyArgument takes;     // a number is required, modules may be left out
  std::string_view summary; // what it keeps, for the help
  FixedPolicy decide;       // null where the budget decides
};

LLMMEM_EXPORT std::span<const PolicyEntry> policyTable();

/// Returns the names of the table: "none, every=K, sqrt, full, selective[=MODULES], budget or
/// least-peak".
LLMMEM_EXPORT std::string policyNames();

/// Returns the table for a tool's help, a line each: "  none        keep everything, in the given
/// order", with the modules and the options.
LLMMEM_EXPORT std::string policyHelp();

/// Parses one of these names, and options after it. Examples: "every=3" is {EveryK, 3},
/// "selective=mlp,layernorm+reshard" recomputes two modules and gathers parameters again, and
/// "full+layers=2" recomputes every second block.
LLMMEM_EXPORT Result<Policy> parsePolicy(std::string_view text);

/// Returns the text that parses to `policy`.
LLMMEM_EXPORT std::string nameOf(const Policy &policy);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_POLICIES_POLICIES_H
