//===- CheckpointPipeline.h - From a model to a verified plan --------------===//
//
// The whole way of the data as one pipeline: differentiate (where there is a @loss),
// group-loss-head, group-kernels, reserve-library-workspace, annotate-memory, plan-checkpoints,
// apply-checkpoints, plan-arena, verify-plan, report-memory.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PIPELINES_CHECKPOINTPIPELINE_H
#define LLMMEM_PIPELINES_CHECKPOINTPIPELINE_H

#include "llmmem/Transforms/Checkpoints.h"
#include "mlir/Pass/PassManager.h"

namespace llmmem {

struct CheckpointPipelineOptions {
  std::string policy = "budget";
  std::string budget; // as people write it, empty: none
  std::string device = "h100";
  double seconds = 10;
  bool groupLossHead = true;      // else logits are values like any other
  std::string lossChunk = "auto"; // tokens at a time: auto, whole, or so many
  std::string epilogues = "auto"; // of products: auto, separate, unshared, fused or generated
  bool groupKernels = true; // false: every op is a kernel of its own, as in the papers' formulas
  bool libraryWorkspace = false; // products have what the device table gives a library
  std::string emitProblem, emitPlan;
  bool printReport = false;
  std::string reportJson;
};

/// Appends the passes; `outcome` receives what the IR does not say (status, seconds).
void buildCheckpointPipeline(mlir::OpPassManager &passes, const CheckpointPipelineOptions &options,
                             std::shared_ptr<CheckpointOutcome> outcome);

} // namespace llmmem

#endif // LLMMEM_PIPELINES_CHECKPOINTPIPELINE_H
