//===- Planner.h - The one entry to every solver ---------------------------===//
//
// Problem in, Plan out. The policy names what decides; all policies share the scheduling, the placement and the
// verifier. A new policy is one file under lib/Planning/Policies and one line in its table.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_PLANNER_H
#define LLMMEM_PLANNING_PLANNER_H

#include "llmmem/Planning/Plan.h"
#include <functional>

namespace llmmem::planning {

/// What decides which saved values (written in forward, read in backward) are kept.
enum class PolicyKind : uint8_t {
  None,      // keep everything, recompute nothing, in the given order
  EveryK,    // keep the inputs of every K-th block; recompute what lies between
  Sqrt,      // EveryK with K = round(sqrt(number of blocks))
  Full,      // keep every block's input alone (EveryK with K = 1)
  Selective, // keep everything but what the ops in `selected` write (core attention)
  Budget,    // least cost whose resident + arena fits Problem::budget
  LeastPeak, // the least peak that can be found
};

struct Policy {
  PolicyKind kind = PolicyKind::Budget;
  int64_t every = 1;             // EveryK
  std::vector<OpIndex> selected; // Selective: the forward ops whose results are recomputed
};

/// Parses `none`, `every=K`, `sqrt`, `full`, `selective`, `budget`.
llvm::Expected<Policy> parsePolicy(llvm::StringRef text);

struct PlanOptions {
  Policy policy;
  double seconds = 10; // mapped to a count of work by a fixed rate: equal flags give equal plans
  std::function<void(llvm::StringRef)> progress; // told what begins, and within long stages what is searched
};

/// Plans `problem`, which must be valid. The result always verifies; where no plan was found its status says
/// whether that is proved, and its witness where. Policies other than Budget and LeastPeak ignore the budget
/// when they decide, and report Unknown, with the plan they made, when their plan exceeds it.
Plan plan(const Problem &problem, const PlanOptions &options);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_PLANNER_H
