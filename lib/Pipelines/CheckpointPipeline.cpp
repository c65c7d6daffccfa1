//===- CheckpointPipeline.cpp - From a model to a verified plan ------------===//

#include "llmmem/Pipelines/CheckpointPipeline.h"
#include "llmmem/Transforms/Passes.h"

using namespace llmmem;

void llmmem::buildCheckpointPipeline(mlir::OpPassManager &passes,
                                     const CheckpointPipelineOptions &options,
                                     std::shared_ptr<CheckpointOutcome> outcome) {
  DifferentiateOptions differentiate;
  differentiate.ifPresent = true;
  passes.addPass(createDifferentiate(differentiate));
  if (options.groupLossHead)
    passes.addPass(createGroupLossHead());
  if (options.groupKernels)
    passes.addPass(createGroupKernels());
  if (options.libraryWorkspace) {
    ReserveLibraryWorkspaceOptions reserve;
    reserve.device = options.device;
    passes.addPass(createReserveLibraryWorkspace(reserve));
  }

  AnnotateMemoryOptions annotate;
  annotate.device = options.device;
  passes.addPass(createAnnotateMemory(annotate));

  PlanCheckpointsOptions plan;
  plan.policy = options.policy;
  plan.budget = options.budget;
  plan.device = options.device;
  plan.seconds = options.seconds;
  plan.chunk = options.lossChunk;
  // A product with its epilogue is a group like any other.
  plan.epilogues = options.groupKernels ? options.epilogues : "separate";
  plan.emitProblem = options.emitProblem;
  plan.emitPlan = options.emitPlan;
  passes.addPass(createPlanCheckpoints(plan, outcome));

  // No clean-up stands between here and the verifier: what is verified is what is printed.
  passes.addPass(createApplyCheckpoints());
  PlanArenaOptions arena;
  arena.device = options.device;
  passes.addPass(createPlanArena(arena));
  passes.addPass(createVerifyPlan());

  ReportMemoryOptions report;
  report.print = options.printReport;
  report.json = options.reportJson;
  report.device = options.device;
  passes.addPass(createReportMemory(report, outcome));
}
