//===- Passes.h - The transforms, as passes --------------------------------===//

#ifndef LLMMEM_TRANSFORMS_PASSES_H
#define LLMMEM_TRANSFORMS_PASSES_H

#include "llmmem/Transforms/CheckpointOutcome.h"
#include "llmmem/Transforms/Checkpoints.h"
#include "llmmem/Transforms/DescribeOps.h"
#include "llmmem/Transforms/Epilogues.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace llmmem {

#define GEN_PASS_DECL
#include "llmmem/Transforms/Passes.h.inc"

/// Reads and checks the options of `plan-checkpoints`: the one place where the texts of a policy, a
/// budget and chunks are parsed. The error names the first option that is wrong in itself or beside
/// another, as `spell` writes it: "budget" may be --checkpoint-budget.
llvm::Expected<CheckpointRequest>
readCheckpointRequest(const PlanCheckpointsOptions &options,
                      llvm::function_ref<std::string(llvm::StringRef)> spell);

/// As the plain creators; `outcome` receives, and hands on, what the IR does not say.
std::unique_ptr<mlir::Pass> createPlanCheckpoints(PlanCheckpointsOptions options,
                                                  std::shared_ptr<CheckpointOutcome> outcome);
std::unique_ptr<mlir::Pass> createReportMemory(ReportMemoryOptions options,
                                               std::shared_ptr<CheckpointOutcome> outcome);

#define GEN_PASS_REGISTRATION
#include "llmmem/Transforms/Passes.h.inc"

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_PASSES_H
