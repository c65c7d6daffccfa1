//===- PlanVerifier.h - Is the final program what it claims? ---------------===//
//
// The verifier derives lifetimes, overlaps and the peak of a planned step anew, from its ops,
// `llm.offsets` and `llm.workspace` alone. It checks each number that a planned step claims as far
// as its own ops can refute it; a lower bound that is too low is only weak.
//
// What is its own: the walk over the ops, lifetimes, places and sums, the bytes of each type, in
// checked arithmetic (lib/Analysis/PlanBytes.h), and the rules of what is a view, what is a
// constant and what may be written in place (lib/Analysis/PlanRules.h), from types and from what
// each op computes. It calls nothing of the planner, of the extraction of problems, of the
// placement, or of lib/Layout: a slip there does not hide here.
//
// What it shares with them is what no type says: the FLOPs, bytes moved and workspace of an op
// (CostOpInterface), what a start, a wait and a copy is (LlmOps.h, StateCopies.h), and the word of
// ops of dialects that it does not know (BufferOpInterface and the `llm.*` attributes that state
// the same). An op that says there what its kernel does not do is a false plan that is accepted:
// those words are tested by running kernels (unittests/Execution/InPlaceTest.cpp).
//
// clang-format off
// The rules, by the names that stand in the diagnostics. lib/Analysis/PlanBytes.cpp checks [capture] and
// the [size] of values, PlanFlights.cpp [flight], PlanClones.cpp [clone] and [latest], PlanClaims.cpp those from [applied]
// on, and PlanVerifier.cpp all others.
//   [size]         every value is of a type whose bytes are known and no more than 2^63 bits, and all values and
//                  workspaces together, rounded up to 256 each, are less than 2^63 bytes, as are an arena and what is
//                  resident with it
//   [capture]      no region of an op reads a value from outside, but for constants
//   [offsets]      every op has one offset for each result, multiples of 256, and no result leaves the arena
//   [workspace]    an op that needs a workspace has one of that size, inside the arena
//   [view]         a view has its source's offset
//   [argument]     offset -1 exactly where the bytes are an argument's
//   [clobber]      nothing reads an argument's bytes after they were overwritten; what overwrites them reads them
//                  by operands alone that it may take over, and as one result
//   [overlap]      no two values that are held together share a byte, but for an in-place result and the
//                  value that it may take over, by each operand that reads it, and that no op reads later
//   [flight]       between the start of a collective, copy or update on the host and its wait nothing but what is
//                  started and runs after it writes bytes that it reads, writes or takes as workspace; waits of
//                  collectives, of device-to-host copies, of host-to-device copies and of updates each come in
//                  the order of the starts. The ops' own verifier refuses an op that reads a result before its wait
//                  (`verifyStart`)
//   [host]         nothing but copies, waits, the end and updates that touch no value of the device touches values
//                  of the host's memory
//   [clone]        a clone does what its original does, on runs of the same operands, after it; `llm.instance`
//                  counts the runs, and no two ops have one `llm.id`
//   [latest]       each reader, the function's end too, reads the latest run before it of what it reads, or what came
//                  back of that run from the host; what was started has run where its wait stands
//   [peak]         `llm.peak` is the largest sum of live bytes, `llm.arena` the end of the highest buffer
//                  (`llm.host_arena` that of the host's)
//   [budget]       resident bytes, each argument's rounded up to 256, + arena <= `llm.budget`; of the host's
//                  memory <= `llm.host_budget`
//   [applied]      nothing is left of `llm.schedule`, `llm.copies`, `llm.places` and `llm.chunk`:
//                  what was decided was done
//   [policy]       `llm.policy` is one that there is; 'none' has no clones, 'budget' has `llm.budget`
//   [decision]     `llm.decision` says about each result what the backward and the update read: a later run
//                  ("recompute"), else what came back from the host ("offload"), the first ("keep"), nothing
//                  ("unsaved")
//   [cost]         `llm.bytes` and `llm.cost` say what the op says itself; a clone costs what its original costs
//   [certificate]  `peak_lower_bound` <= the peak; `cost_lower_bound_ns` <= the ns of all ops by `llm.cost`,
//                  clones included, which then every op has (a step that was never annotated has none at
//                  all, and its bound on the cost is not checked)
//   [epilogues]    one choice of `llm.epilogues` was taken, at the cost and the peak of this program; none that
//                  was compared is below the bounds, or, but for policy 'least-peak', cheaper
// clang-format on
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_ANALYSIS_PLANVERIFIER_H
#define LLMMEM_ANALYSIS_PLANVERIFIER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// Emits an error for each broken rule; succeeds where there is none.
llvm::LogicalResult verifyPlan(mlir::func::FuncOp step);

} // namespace llmmem

#endif // LLMMEM_ANALYSIS_PLANVERIFIER_H
