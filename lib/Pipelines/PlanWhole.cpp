//===- PlanWhole.cpp - Plans a module as the pipeline does, and measures it -----===//

#include "PlanWhole.h"
#include "llmmem/Analysis/Step.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "llmmem/Layout/ResidentBytes.h"
#include "llmmem/Reports/MemoryReport.h"
#include "llmmem/Transforms/PipelineStages.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace llmmem;

std::unique_ptr<CheckpointPipelineOptions>
llmmem::copyOf(const CheckpointPipelineOptions &options) {
  auto copy = std::make_unique<CheckpointPipelineOptions>();
  copy->copyOptionValuesFrom(options);
  return copy;
}

FailureOr<WholePlan> llmmem::measurePlan(ModuleOp module, ArrayRef<const DeviceModel *> tables) {
  WholePlan plan;
  for (func::FuncOp function : findStepFunctions(module)) {
    auto stage = function->getAttrOfType<IntegerAttr>(llm::LlmDialect::kStage);
    const DeviceModel &device = *tables[stage ? stage.getInt() : 0];
    const StepResidents residents(function);
    int64_t bytes = residents.device.allocated;
    if (auto arena = function->getAttrOfType<IntegerAttr>(llm::LlmDialect::kArena))
      bytes += arena.getInt();
    auto runs = function->getAttrOfType<IntegerAttr>(llm::LlmDialect::kMicroBatches);
    plan.bytes = std::max(plan.bytes, bytes);
    if (stage)
      continue;
    const StepStorage storage(function);
    FailureOr<MemoryReport> report =
        MemoryReport::compute(function, storage, StepLiveness(function, storage), device);
    if (failed(report))
      return failure();
    plan.ns +=
        report->time.plannedNs() * (runs && function.getName() == "step" ? runs.getInt() : 1);
  }
  if (!module->hasAttr(llm::LlmDialect::kPipeline))
    return plan;
  FailureOr<planning::PipelineTime> time = modelPipeline(module, tables);
  if (failed(time))
    return failure();
  plan.ns = time->ns;
  return plan;
}

llvm::Expected<WholePlan> llmmem::planWhole(OwningOpRef<ModuleOp> module,
                                            const CheckpointPipelineOptions &options,
                                            ArrayRef<const DeviceModel *> tables) {
  std::string text;
  ScopedDiagnosticHandler handler(module->getContext(), [&](Diagnostic &diagnostic) {
    if (text.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
      text = diagnostic.str();
    return success();
  });
  PassManager passes(module->getContext());
  auto outcome = std::make_shared<CheckpointOutcome>();
  outcome->texts = CheckpointOutcome::Texts::Dropped;
  buildCheckpointPipeline(passes, options, outcome);
  if (failed(passes.run(*module))) {
    if (outcome->noPlan)
      return llvm::createStringError(text);
    return WholePlan{.refusal = text};
  }
  FailureOr<WholePlan> plan = measurePlan(*module, tables);
  if (failed(plan))
    return llvm::createStringError(text);
  return *plan;
}
