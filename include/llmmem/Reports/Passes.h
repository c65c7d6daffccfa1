//===- Passes.h - The passes that say what a plan is ------------------------===//
//
// `plan-checkpoints` and `report-memory` are described where all stages are (Transforms/Passes.td).
// They are implemented above the transforms: what they say about a plan depends on the passes that
// run after it is decided.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_REPORTS_PASSES_H
#define LLMMEM_REPORTS_PASSES_H

#include "llmmem/Reports/CheckpointOutcome.h"
#include "llmmem/Transforms/Checkpoints.h"
#include "llmmem/Transforms/Passes.h"

namespace llmmem {

/// Reads and checks the options of `plan-checkpoints`: the one place where the texts of a policy, a
/// budget and chunks are parsed. The error names the first option that is wrong in itself or
/// together with another, as `spell` writes it: "budget" may be --checkpoint-budget.
llvm::Expected<CheckpointRequest>
readCheckpointRequest(const PlanCheckpointsOptions &options,
                      llvm::function_ref<std::string(llvm::StringRef)> spell);

/// These do what the plain creators do; `outcome` receives, and hands on, what the IR does not say.
std::unique_ptr<mlir::Pass> createPlanCheckpoints(PlanCheckpointsOptions options,
                                                  std::shared_ptr<CheckpointOutcome> outcome);
std::unique_ptr<mlir::Pass> createReportMemory(ReportMemoryOptions options,
                                               std::shared_ptr<CheckpointOutcome> outcome);

} // namespace llmmem

#endif // LLMMEM_REPORTS_PASSES_H
