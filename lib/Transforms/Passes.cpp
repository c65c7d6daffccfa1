//===- Passes.cpp - Thin passes over the functions of this folder ----------===//

#include "llmmem/Transforms/Passes.h"
#include "llmmem/Analysis/MemoryReport.h"
#include "llmmem/Analysis/PlanVerifier.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Support/ByteSize.h"
#include "llmmem/Support/TextFile.h"
#include "llmmem/Transforms/AnnotateMemory.h"
#include "llmmem/Transforms/Arena.h"
#include "llmmem/Transforms/GroupKernels.h"
#include "llmmem/Transforms/LibraryWorkspace.h"
#include "llvm/Support/FormatVariadic.h"

namespace llmmem {
#define GEN_PASS_DEF_GROUPKERNELS
#define GEN_PASS_DEF_FUSEEPILOGUES
#define GEN_PASS_DEF_ANNOTATEMEMORY
#define GEN_PASS_DEF_PLANCHECKPOINTS
#define GEN_PASS_DEF_APPLYCHECKPOINTS
#define GEN_PASS_DEF_PLANARENA
#define GEN_PASS_DEF_VERIFYPLAN
#define GEN_PASS_DEF_REPORTMEMORY
#define GEN_PASS_DEF_RESERVELIBRARYWORKSPACE
#include "llmmem/Transforms/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;

/// The device table of a pass option, or a diagnostic.
static FailureOr<DeviceModel> getDevice(ModuleOp module, StringRef name) {
  llvm::Expected<DeviceModel> device = loadDeviceModel(name);
  if (!device)
    return module.emitError() << llvm::toString(device.takeError());
  return *device;
}

namespace {
struct GroupKernelsPass : llmmem::impl::GroupKernelsBase<GroupKernelsPass> {
  using Base::Base;
  void runOnOperation() override {
    func::FuncOp step = findStep(getOperation());
    if (!step)
      return signalPassFailure();
    GroupingCounts counts = groupKernels(step);
    numKernels = counts.kernels;
    numGrouped = counts.grouped;
    numCopies = counts.copies;
  }
};

struct FuseEpiloguesPass : llmmem::impl::FuseEpiloguesBase<FuseEpiloguesPass> {
  using Base::Base;
  void runOnOperation() override {
    func::FuncOp step = findStep(getOperation());
    if (!step)
      return signalPassFailure();
    numFused = fuseEpilogues(step, which);
  }
};

struct ReserveLibraryWorkspacePass
    : llmmem::impl::ReserveLibraryWorkspaceBase<ReserveLibraryWorkspacePass> {
  using Base::Base;
  void runOnOperation() override {
    func::FuncOp step = findStep(getOperation());
    FailureOr<DeviceModel> model = getDevice(getOperation(), device);
    if (!step || failed(model))
      return signalPassFailure();
    numOps = reserveLibraryWorkspace(step, *model);
  }
};

struct AnnotateMemoryPass : llmmem::impl::AnnotateMemoryBase<AnnotateMemoryPass> {
  using Base::Base;
  void runOnOperation() override {
    func::FuncOp step = findStep(getOperation());
    FailureOr<DeviceModel> model = getDevice(getOperation(), device);
    if (!step || failed(model) || failed(annotateMemory(step, *model)))
      signalPassFailure();
  }
};

struct PlanCheckpointsPass : llmmem::impl::PlanCheckpointsBase<PlanCheckpointsPass> {
  using Base::Base;
  PlanCheckpointsPass(PlanCheckpointsOptions options, std::shared_ptr<CheckpointOutcome> outcome)
      : Base(std::move(options)), outcome(std::move(outcome)) {}

  void runOnOperation() override {
    func::FuncOp step = findStep(getOperation());
    FailureOr<DeviceModel> model = getDevice(getOperation(), device);
    CheckpointRequest request;
    if (!step || failed(model) || failed(readRequest(request)))
      return signalPassFailure();
    CheckpointOutcome local;
    if (failed(planCheckpoints(step, request, *model, outcome ? *outcome : local)))
      return signalPassFailure();
    countDecisions(step);
  }

  LogicalResult readRequest(CheckpointRequest &request) {
    request.policy = policy;
    request.seconds = seconds;
    request.emitProblem = emitProblem;
    request.emitPlan = emitPlan;
    request.failureReport = failureReport;
    llvm::Expected<ChunkRequest> rows = parseChunkRequest(chunk);
    if (!rows)
      return getOperation().emitError() << "chunk: " << llvm::toString(rows.takeError());
    request.chunk = *rows;
    llvm::Expected<std::optional<Epilogues>> choice = parseEpilogues(epilogues);
    if (!choice)
      return getOperation().emitError() << "epilogues: " << llvm::toString(choice.takeError());
    request.epilogues = *choice;
    if (budget.empty())
      return success();
    llvm::Expected<int64_t> bytes = parseByteSize(budget);
    if (!bytes)
      return getOperation().emitError() << "budget: " << llvm::toString(bytes.takeError());
    request.budget = *bytes;
    return success();
  }

  void countDecisions(func::FuncOp step) {
    step.walk([&](Operation *op) {
      auto decisions = op->getAttrOfType<ArrayAttr>(llm::LlmDialect::kDecision);
      if (!decisions)
        return;
      for (auto word : decisions.getAsRange<StringAttr>()) {
        numKept += word == "keep";
        numRecomputed += word == "recompute";
      }
    });
  }

  std::shared_ptr<CheckpointOutcome> outcome;
};

struct ApplyCheckpointsPass : llmmem::impl::ApplyCheckpointsBase<ApplyCheckpointsPass> {
  using Base::Base;
  void runOnOperation() override {
    func::FuncOp step = findStep(getOperation());
    FailureOr<int64_t> clones = failure();
    if (step)
      clones = applyCheckpoints(step);
    if (failed(clones))
      return signalPassFailure();
    numClones = *clones;
  }
};

struct PlanArenaPass : llmmem::impl::PlanArenaBase<PlanArenaPass> {
  using Base::Base;
  void runOnOperation() override {
    func::FuncOp step = findStep(getOperation());
    FailureOr<DeviceModel> model = getDevice(getOperation(), device);
    if (!step || failed(model) || failed(planArena(step, *model)))
      signalPassFailure();
  }
};

struct VerifyPlanPass : llmmem::impl::VerifyPlanBase<VerifyPlanPass> {
  using Base::Base;
  void runOnOperation() override {
    func::FuncOp step = findStep(getOperation());
    if (!step || failed(verifyPlan(step)))
      signalPassFailure();
  }
};

struct ReportMemoryPass : llmmem::impl::ReportMemoryBase<ReportMemoryPass> {
  using Base::Base;
  ReportMemoryPass(ReportMemoryOptions options, std::shared_ptr<CheckpointOutcome> outcome)
      : Base(std::move(options)), outcome(std::move(outcome)) {}

  void runOnOperation() override {
    markAllAnalysesPreserved();
    func::FuncOp step = findStep(getOperation());
    FailureOr<DeviceModel> model = getDevice(getOperation(), device);
    if (!step || failed(model))
      return signalPassFailure();
    FailureOr<MemoryReport> report = MemoryReport::compute(step, *model);
    if (failed(report))
      return signalPassFailure();
    if (outcome)
      report->planningSeconds = outcome->seconds;
    report->emitRemarks(step);
    if (print)
      report->print(llvm::errs());
    else if (outcome)
      report->printSummary(llvm::errs());
    if (!json.empty())
      if (llvm::Error error =
              writeTextFile(json, llvm::formatv("{0:2}\n", report->toJson()).str())) {
        step.emitError() << llvm::toString(std::move(error));
        signalPassFailure();
      }
  }

  std::shared_ptr<CheckpointOutcome> outcome;
};
} // namespace

std::unique_ptr<Pass> llmmem::createPlanCheckpoints(PlanCheckpointsOptions options,
                                                    std::shared_ptr<CheckpointOutcome> outcome) {
  return std::make_unique<PlanCheckpointsPass>(std::move(options), std::move(outcome));
}

std::unique_ptr<Pass> llmmem::createReportMemory(ReportMemoryOptions options,
                                                 std::shared_ptr<CheckpointOutcome> outcome) {
  return std::make_unique<ReportMemoryPass>(std::move(options), std::move(outcome));
}
