//===- PlanVerifier.h - Is the final program what it claims? ---------------===//
//
// Derives lifetimes, overlaps and the peak of a planned step anew, from its ops, `llm.offsets` and
// `llm.workspace` alone. Shares no code with the planner, the placement or StepLiveness: a slip
// there must not hide here.
//
// The rules, by the names that stand in the diagnostics:
//   [offsets]   every op has one offset for each result, multiples of 256, and no result leaves the
//   arena [workspace] an op that needs a workspace has one of that size, inside the arena [view] a
//   view has its source's offset [argument]  offset -1 exactly where the bytes are an argument's
//   [clobber]   nothing reads an argument's bytes after they were overwritten
//   [overlap]   no two values that are held together share a byte, but for an in-place result and
//   the operand that
//               it may take over and that nobody reads later
//   [clone]     a clone does what its original does, on runs of the same operands
//   [peak]      `llm.peak` is the largest sum of live bytes, `llm.arena` the end of the highest
//   buffer [budget]    resident bytes + arena <= `llm.budget`
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_ANALYSIS_PLANVERIFIER_H
#define LLMMEM_ANALYSIS_PLANVERIFIER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// Emits an error for each broken rule; success where there is none.
llvm::LogicalResult verifyPlan(mlir::func::FuncOp step);

} // namespace llmmem

#endif // LLMMEM_ANALYSIS_PLANVERIFIER_H
