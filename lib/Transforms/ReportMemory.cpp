//===- ReportMemory.cpp - Prints the facts of a planned step ---------------===//

#include "StepPass.h"
#include "llmmem/Analysis/MemoryReport.h"
#include "llmmem/Support/TextFile.h"
#include "llmmem/Transforms/Passes.h"
#include "llvm/Support/FormatVariadic.h"

namespace llmmem {
#define GEN_PASS_DEF_REPORTMEMORY
#include "llmmem/Transforms/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;

namespace {
struct ReportMemoryPass : StepPass<llmmem::impl::ReportMemoryBase<ReportMemoryPass>> {
  using StepPass::StepPass;
  ReportMemoryPass(ReportMemoryOptions options, std::shared_ptr<CheckpointOutcome> outcome)
      : StepPass(std::move(options)), outcome(std::move(outcome)) {}

  LogicalResult runOnStep(func::FuncOp step) override {
    markAllAnalysesPreserved();
    const StepStorage *storage = getStorage();
    const DeviceModel *table = getDevice(device);
    if (!storage || !table)
      return failure();
    FailureOr<MemoryReport> report =
        MemoryReport::compute(step, *storage, getAnalysis<StepLiveness>(), *table);
    if (failed(report))
      return failure();
    if (outcome) {
      report->planningSeconds = outcome->seconds;
      report->checked = outcome->checked;
    }
    return emit(step, *report);
  }

  LogicalResult emit(func::FuncOp step, const MemoryReport &report) {
    report.emitRemarks(step);
    if (print)
      report.print(llvm::errs());
    else if (outcome)
      report.printSummary(llvm::errs());
    if (json.empty())
      return success();
    std::string text = llvm::formatv("{0:2}\n", report.toJson());
    if (llvm::Error error = writeTextFile(json, text))
      return step.emitError() << llvm::toString(std::move(error));
    return success();
  }

  std::shared_ptr<CheckpointOutcome> outcome;
};
} // namespace

std::unique_ptr<Pass> llmmem::createReportMemory(ReportMemoryOptions options,
                                                 std::shared_ptr<CheckpointOutcome> outcome) {
  return std::make_unique<ReportMemoryPass>(std::move(options), std::move(outcome));
}
