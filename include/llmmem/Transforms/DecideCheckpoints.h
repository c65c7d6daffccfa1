//===- DecideCheckpoints.h - Which plan a step gets -------------------------===//
//
// `decideCheckpoints` gets the best plan of a step from the planner, and `writeCheckpoints` writes
// it into the IR. Neither prints, and neither depends on the passes that run afterwards: where the
// best plan depends on those, the caller models the program of a plan. `planCheckpoints`
// (Reports/PlanCheckpoints.h) does both, and reports the outcome.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TRANSFORMS_DECIDECHECKPOINTS_H
#define LLMMEM_TRANSFORMS_DECIDECHECKPOINTS_H

#include "llmmem/Transforms/StepVariants.h"

namespace llmmem {

/// Models in ns what the program takes that `planned` becomes, a step on which a plan is written;
/// fails where it cannot be made. It may change `planned`.
using ProgramTimer = llvm::function_ref<llvm::FailureOr<int64_t>(mlir::func::FuncOp planned)>;

/// Holds the best plan of a step, or the reason why there is none, with what it was chosen from.
struct CheckpointDecision {
  std::vector<StepVariant> alternatives;
  planning::VariantSet variants; // of all alternatives; `stated` is the chosen one
  planning::PlanOptions options;
  planning::ProblemVariantPlan best;
  /// Says what the ops take without a budget; nothing where some of them run at the same time as
  /// others.
  std::optional<int64_t> costWithoutBudget;

  /// Returns the alternative that the plan is for. Its problem has the chunks that were chosen.
  StepVariant &chosen() { return alternatives[best.alternative]; }
  const planning::Plan &plan() const { return best.chosen.plan; }
};

/// Returns whether state that lies on the host comes and leaves, in every plan.
bool hasHostCopies(mlir::func::FuncOp step);

/// Plans all of `alternatives`, which are those of `step`, and takes the best plan; it need not be
/// feasible. Where state on the host comes and leaves at the same time as ops run, plans are
/// compared by `timeOf`. Fails, after a located diagnostic, where nothing may leave for the host.
llvm::FailureOr<CheckpointDecision>
decideCheckpoints(mlir::func::FuncOp step, std::vector<StepVariant> alternatives,
                  const CheckpointRequest &request, const DeviceModel &device, ProgramTimer timeOf);

/// Makes `step` what the plan is for, which is feasible, and writes `llm.id` on its ops,
/// `llm.schedule`, `llm.places`, `llm.decision`, `llm.chunk`, `llm.policy`, `llm.budget`,
/// `llm.certificate`, and `llm.epilogues` where there was a choice; with a budget of the host
/// `llm.host_budget`, and `llm.copies` where something leaves. `withoutBudgetNs` is what the step
/// takes without a budget.
void writeCheckpoints(mlir::func::FuncOp step, const CheckpointRequest &request,
                      CheckpointDecision &decision, int64_t withoutBudgetNs);

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_DECIDECHECKPOINTS_H
