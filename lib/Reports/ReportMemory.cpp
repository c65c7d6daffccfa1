//===- ReportMemory.cpp - Prints the facts of a planned step ---------------===//

#include "llmmem/Reports/CheckpointOutcome.h"
#include "llmmem/Reports/MemoryReport.h"
#include "llmmem/Reports/Passes.h"
#include "llmmem/Transforms/PipelineStages.h"
#include "llmmem/Transforms/StepPass.h"
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

  /// No problem was extracted from a step that was planned elsewhere.
  LogicalResult checkTypes(func::FuncOp step) override { return checkSizes(step); }

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
    report->emitRemarks(step);
    if (!outcome)
      return emit(step, *report);
    auto module = step->getParentOfType<ModuleOp>();
    size_t count = module ? findStepFunctions(module).size() : 1;
    std::optional<MemoryReport> fullest = outcome->addReport(step, std::move(*report), count);
    if (!fullest)
      return success();
    return failed(addPipeline(module, *fullest)) ? failure() : emit(step, *fullest);
  }

  /// Adds the pipeline of the stages, which are all planned when the last of them is.
  LogicalResult addPipeline(ModuleOp module, MemoryReport &report) {
    auto pipeline = module ? module->getAttrOfType<DictionaryAttr>(llm::LlmDialect::kPipeline)
                           : DictionaryAttr();
    if (!pipeline)
      return success();
    SmallVector<const DeviceModel *> tables;
    for (StringRef part : partsOfStages(device.getValue()))
      if (!tables.emplace_back(getAnalysis<DeviceTables>().get(part, getOperation())))
        return failure();
    FailureOr<planning::PipelineTime> time = modelPipeline(module, tables);
    if (failed(time))
      return failure();
    auto count = pipeline.getAs<IntegerAttr>("micro_batches");
    report.several.pipeline = {pipeline.getAs<StringAttr>("schedule").str(),
                               count ? count.getInt() : 1, time->ns, time->bubble()};
    return success();
  }

  LogicalResult emit(func::FuncOp step, const MemoryReport &report) {
    CheckpointOutcome alone;
    CheckpointOutcome &receiver = outcome ? *outcome : alone;
    std::string text;
    llvm::raw_string_ostream os(text);
    if (print)
      report.print(os);
    else if (outcome)
      report.printSummary(os);
    receiver.print(std::move(text));
    if (json.empty())
      return success();
    std::string forPrograms = llvm::formatv("{0:2}\n", report.toJson());
    if (llvm::Error error = receiver.write(json, std::move(forPrograms)))
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
