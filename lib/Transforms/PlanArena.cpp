//===- PlanArena.cpp - A place for every value of a step without a plan -----===//

#include "ArenaPlaces.h"
#include "HostArena.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Layout/Places.h"
#include "llmmem/Transforms/Arena.h"
#include "llmmem/Transforms/Passes.h"
#include "llmmem/Transforms/StepPass.h"

namespace llmmem {
#define GEN_PASS_DEF_PLANARENA
#include "llmmem/Transforms/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

/// Packs the live ranges of a step whose ops are in the order in which they will run.
static ArenaPlaces placeInOrder(const ExtractedProblem &extracted, const StepStorage &storage) {
  planning::Plan plan = packInOrder(extracted.problem);
  ArenaPlaces places;
  for (const planning::InstanceOffset &entry : plan.offsets)
    if (Value value = extracted.values[entry.value])
      places.values[value] = entry.offset;
  HostArena host = placeForUpdates(extracted, storage);
  placeLeaving(extracted, storage, host);
  for (auto [value, offset] : host.offsets)
    places.values[value] = offset;
  for (const planning::WorkspaceOffset &entry : plan.workspaces)
    places.workspaces[extracted.ops[plan.steps[entry.step]]] = entry.offset;
  return places;
}

/// Returns whether the places of a plan were written: it decided about bytes as well as about ops.
static bool isPlacedByPlan(func::FuncOp step) {
  return step->hasAttr(LlmDialect::kPolicy) && step->hasAttr(LlmDialect::kArena);
}

static LogicalResult checkPlaced(func::FuncOp step) {
  for (Operation &op : step.getBody().front().without_terminator()) {
    if (!hasOffsets(&op))
      return op.emitError() << "needs '" << LlmDialect::kOffsets << "' with " << op.getNumResults()
                            << " entries, as the plan of its step has a place for every value; the "
                               "step was edited after apply-checkpoints: plan the model again";
  }
  return success();
}

LogicalResult llmmem::planArena(func::FuncOp step, const StepStorage &storage,
                                const DeviceModel &device) {
  if (step->hasAttr(LlmDialect::kPlaces))
    return step.emitError() << "has '" << LlmDialect::kPlaces
                            << "', which were not applied; run apply-checkpoints";
  if (isPlacedByPlan(step))
    return checkPlaced(step);
  FailureOr<ExtractedProblem> extracted = extractProblem(step, storage, device);
  if (failed(extracted))
    return failure();
  if (auto budget = step->getAttrOfType<IntegerAttr>(LlmDialect::kBudget))
    extracted->problem.budget = budget.getInt();
  return writeArena(step, storage, placeInOrder(*extracted, storage));
}

namespace {
struct PlanArenaPass : StepPass<llmmem::impl::PlanArenaBase<PlanArenaPass>> {
  using StepPass::StepPass;
  LogicalResult runOnStep(func::FuncOp step) override {
    const StepStorage *storage = getStorage();
    const DeviceModel *table = getDevice(device);
    if (!storage || !table || failed(planArena(step, *storage, *table)))
      return failure();
    markAnalysesPreserved<StepStorage>();
    return success();
  }
};
} // namespace
