//===- NoPlan.h - What is said where a budget has no plan ------------------===//
//
// The report has three lines for a screen: what fails, whether a smaller batch would do, and what
// to try next. `explain=all` prints all else.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_REPORTS_NOPLAN_H
#define LLMMEM_LIB_REPORTS_NOPLAN_H

#include "llmmem/Reports/CheckpointOutcome.h"
#include "llmmem/Transforms/DecideCheckpoints.h"

namespace llmmem {

inline constexpr llvm::StringLiteral kExplainAll = "all";

/// Finds the least that can be promised instead, in `outcome`: the fixed policy's own plan, or the
/// least peak of any. Returns the problem that it is of, which need not be the chosen
/// alternative's.
const ExtractedProblem &findLeast(const CheckpointDecision &decision, CheckpointOutcome &outcome);

/// Says, where the budget fails, the least that a plan was found for, the proved bound, and what
/// would do. `extracted` is the problem of `plan`, and `ofLeast` that of the least.
void reportNoPlan(mlir::func::FuncOp step, const CheckpointRequest &request,
                  const ExtractedProblem &extracted, const ExtractedProblem &ofLeast,
                  const planning::Plan &plan, const CheckpointOutcome &outcome);

/// Returns the same for programs (docs/Design/Reports.md).
std::string noPlanJson(const CheckpointRequest &request, const CheckpointOutcome &outcome);

/// Warns of a chunk or a policy that the step has no op for.
void warnOfNoEffect(mlir::func::FuncOp step, const CheckpointRequest &request,
                    llvm::ArrayRef<StepVariant> alternatives);

} // namespace llmmem

#endif // LLMMEM_LIB_REPORTS_NOPLAN_H
