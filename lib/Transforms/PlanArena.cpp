//===- PlanArena.cpp - A place for every value -----------------------------===//

#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Planning/ByteSize.h"
#include "llmmem/Planning/Placement.h"
#include "llmmem/Transforms/Arena.h"
#include "mlir/IR/Builders.h"
#include <numeric>

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

/// Packs the ops in the order in which they stand: nothing is left to decide but the offsets.
static planning::Plan placeInOrder(const planning::Problem &problem) {
  planning::Plan plan;
  plan.steps.resize(problem.ops.size());
  std::iota(plan.steps.begin(), plan.steps.end(), 0);
  planning::PackOptions options;
  options.alignment = problem.alignment;
  if (problem.budget)
    options.capacity = *problem.budget - problem.residentBytes();
  // No less search than the planner had when it found that the schedule fits; it ends where it does.
  options.work = planning::packWork(problem.budget ? 10.0 : 0.02);
  planning::placeSteps(problem, plan, options);
  return plan;
}

static void writeOffsets(func::FuncOp step, const StepStorage &storage,
                         const ExtractedProblem &extracted, const planning::Plan &plan) {
  Builder builder(step.getContext());
  llvm::DenseMap<Value, int64_t> offsetOf;
  for (const planning::InstanceOffset &entry : plan.offsets)
    if (Value value = extracted.values[entry.value])
      offsetOf[value] = entry.offset;
  for (Operation &op : step.getBody().front().without_terminator()) {
    SmallVector<int64_t> offsets;
    for (Value result : op.getResults())
      offsets.push_back(storage.getArgument(result) ? -1
                                                    : offsetOf.lookup(storage.getRoot(result)));
    op.setAttr(LlmDialect::kOffsets, builder.getDenseI64ArrayAttr(offsets));
  }
  for (const planning::WorkspaceOffset &entry : plan.workspaces) {
    planning::OpIndex index = plan.steps[entry.step];
    extracted.ops[index]->setAttr(
        LlmDialect::kWorkspace,
        builder.getDenseI64ArrayAttr({entry.offset, extracted.problem.ops[index].workspace}));
  }
  step->setAttr(LlmDialect::kArena, builder.getI64IntegerAttr(plan.arena));
  step->setAttr(LlmDialect::kPeak, builder.getI64IntegerAttr(plan.peak));
}

LogicalResult llmmem::planArena(func::FuncOp step, const DeviceModel &device) {
  FailureOr<StepStorage> storage = StepStorage::compute(step);
  if (failed(storage))
    return failure();
  FailureOr<ExtractedProblem> extracted = extractProblem(step, *storage, device);
  if (failed(extracted))
    return failure();
  auto budget = step->getAttrOfType<IntegerAttr>(LlmDialect::kBudget);
  if (budget)
    extracted->problem.budget = budget.getInt();
  planning::Plan plan = placeInOrder(extracted->problem);
  int64_t total = extracted->problem.residentBytes() + plan.arena;
  if (budget && total > budget.getInt())
    return step.emitError() << "needs " << planning::formatByteSize(total)
                            << " of resident bytes and arena, more than the budget of "
                            << planning::formatByteSize(budget.getInt());
  writeOffsets(step, *storage, *extracted, plan);
  return success();
}
