//===- DecideCheckpoints.cpp - Keep, recompute, order ----------------------===//
//
// The decision itself is `planning::plan`; this file hands it the step and writes the answer into
// the IR.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Transforms/DecideCheckpoints.h"
#include "NamedPlaces.h"
#include "OffloadDecisions.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Planning/Model/Decisions.h"
#include "llmmem/Planning/Variants/TimedVariants.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;
using planning::OpIndex;

//===----------------------------------------------------------------------===//
// The answer, written into the IR
//===----------------------------------------------------------------------===//

static llm::Decision toAnnotation(planning::Decision decision) {
  switch (decision) {
  case planning::Decision::Unsaved:
    return llm::Decision::Unsaved;
  case planning::Decision::Keep:
    return llm::Decision::Keep;
  case planning::Decision::Recompute:
    return llm::Decision::Recompute;
  case planning::Decision::Offload:
    return llm::Decision::Offload;
  }
  return llm::Decision::Unsaved;
}

static void writeDecisions(const ExtractedProblem &extracted, ArrayRef<OpIndex> steps) {
  std::vector<planning::Decision> decisions =
      planning::findDecisions(planning::Graph(extracted.problem), steps);
  for (Operation *op : extracted.ops) {
    SmallVector<llm::Decision> words;
    bool anySaved = false;
    for (Value result : op->getResults()) {
      planning::Decision decision = decisions[extracted.indexOf.lookup(result)];
      anySaved |= decision != planning::Decision::Unsaved;
      words.push_back(toAnnotation(decision));
    }
    if (anySaved)
      llm::writeDecisions(op, words);
  }
}

static void writePlan(func::FuncOp step, const StepStorage &storage,
                      const CheckpointRequest &request, const ExtractedProblem &extracted,
                      const planning::Plan &plan, ArrayRef<ChunkChoice> chunks,
                      int64_t costWithoutBudget) {
  Builder builder(step.getContext());
  for (auto [id, op] : llvm::enumerate(extracted.ops))
    op->setAttr(LlmDialect::kId, builder.getI64IntegerAttr(id));
  for (const ChunkChoice &chunk : chunks) {
    chunk.op->setAttr(LlmDialect::kChunk, builder.getI64IntegerAttr(chunk.rows));
    if (chunk.op->hasAttr(LlmDialect::kCost))
      chunk.op->setAttr(LlmDialect::kCost, toAttribute(chunk.cost, builder.getContext()));
  }
  SmallVector<int64_t> schedule = writeCopies(step, extracted, plan);
  step->setAttr(LlmDialect::kSchedule, builder.getDenseI64ArrayAttr(schedule));
  writeNamedPlaces(step, extracted, storage, plan, schedule);
  step->setAttr(LlmDialect::kPolicy, builder.getStringAttr(nameOf(request.policy)));
  if (request.budget)
    step->setAttr(LlmDialect::kBudget, builder.getI64IntegerAttr(*request.budget));
  if (request.host.budget)
    step->setAttr(LlmDialect::kHostBudget, builder.getI64IntegerAttr(*request.host.budget));
  NamedAttrList certificate;
  certificate.append("bound", builder.getStringAttr(plan.bound));
  certificate.append("cost_lower_bound_ns", builder.getI64IntegerAttr(plan.costLowerBound));
  certificate.append("cost_without_budget_ns", builder.getI64IntegerAttr(costWithoutBudget));
  certificate.append("peak_lower_bound", builder.getI64IntegerAttr(std::max<int64_t>(
                                             0, plan.peakLowerBound - extracted.residentPadding)));
  if (plan.time)
    certificate.append("time_lower_bound_ns", builder.getI64IntegerAttr(plan.time->lowerBound));
  step->setAttr(LlmDialect::kCertificate, certificate.getDictionary(builder.getContext()));
  writeDecisions(extracted, plan.steps);
}

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

bool llmmem::hasHostCopies(func::FuncOp step) {
  return llvm::any_of(step.getBody().front(), [](Operation &op) { return llm::isHostCopy(&op); });
}

/// Returns whether state on the host comes and leaves, or is updated there, in every plan.
static bool usesHost(func::FuncOp step) {
  return hasHostCopies(step) ||
         llvm::any_of(step.getBody().front(), [](Operation &op) { return llm::runsOnHost(&op); });
}

/// Returns the problem of `chosen` in the form of a plan.
static ExtractedProblem inVariant(const StepVariant &chosen, const planning::VariantSet &variants,
                                  const planning::ProblemVariantPlan &made) {
  ExtractedProblem extracted = chosen.extracted;
  extracted.problem = *variants.problemOf(
      {static_cast<int32_t>(made.alternative), static_cast<int32_t>(made.chosen.tiling)});
  extracted.values.resize(extracted.problem.values.size()); // null: the host's
  return extracted;
}

/// Returns the same problem of a copy of its step, which `copies` leads to.
static ExtractedProblem inCopy(const ExtractedProblem &extracted, const IRMapping &copies) {
  ExtractedProblem result = extracted;
  for (Operation *&op : result.ops)
    op = copies.lookupOrNull(op);
  for (Value &value : result.values)
    value = value ? copies.lookupOrNull(value) : Value();
  result.indexOf.clear();
  for (auto [value, index] : extracted.indexOf)
    if (Value copy = copies.lookupOrNull(value))
      result.indexOf[copy] = index;
  return result;
}

/// Returns what the program of a plan takes, which may be of another budget than the one asked for,
/// or nothing where it cannot be made.
static std::optional<int64_t> timeOfPlan(CheckpointRequest request, const StepVariant &chosen,
                                         const planning::VariantSet &variants,
                                         const planning::ProblemVariantPlan &made,
                                         ProgramTimer timeOf) {
  IRMapping copies;
  OwningOpRef<func::FuncOp> copy = cast<func::FuncOp>(chosen.step->clone(copies));
  const ExtractedProblem extracted = inCopy(inVariant(chosen, variants, made), copies);
  SmallVector<ChunkChoice> chunks = chosen.tilings.chunks[made.chosen.tiling];
  for (ChunkChoice &chunk : chunks)
    chunk.op = copies.lookupOrNull(chunk.op);
  const planning::Plan &plan = made.chosen.plan;
  request.budget.reset();
  writePlan(*copy, StepStorage(*copy), request, extracted, plan, chunks,
            /*costWithoutBudget=*/0);
  const FailureOr<int64_t> time = timeOf(*copy);
  return std::optional<int64_t>(time); // empty where it failed
}

/// Finds the best plan of all forms. Where state on the host comes and leaves while a plan's ops
/// run, the program of a plan is timed, and it takes no longer with more budget.
static planning::ProblemVariantPlan planBest(func::FuncOp step, const CheckpointRequest &request,
                                             ArrayRef<StepVariant> alternatives,
                                             const planning::VariantSet &variants,
                                             planning::PlanOptions options,
                                             ProgramTimer timeProgram) {
  auto timeOf = [&](const planning::ProblemVariantPlan &made) {
    return timeOfPlan(request, alternatives[made.alternative], variants, made, timeProgram);
  };
  if (request.host.budget) {
    options.movesState = usesHost(step);
    options.timeOf = [&](planning::VariantNumber variant, const planning::Plan &plan) {
      return timeOf({static_cast<size_t>(variant.alternative),
                     {static_cast<size_t>(variant.tiling), plan},
                     {}});
    };
    return planVariants(variants, options);
  }
  return hasHostCopies(step) ? planVariantsByTime(variants, options, timeOf)
                             : planVariants(variants, options);
}

FailureOr<CheckpointDecision> llmmem::decideCheckpoints(func::FuncOp step,
                                                        std::vector<StepVariant> alternatives,
                                                        const CheckpointRequest &request,
                                                        const DeviceModel &device,
                                                        ProgramTimer timeOf) {
  CheckpointDecision decision;
  decision.alternatives = std::move(alternatives);
  decision.variants = variantSetOf(step, decision.alternatives, request.budget);
  if (!hasHostCopies(step)) // nothing leaves within the step then
    decision.costWithoutBudget = costWithoutBudget(decision.variants);
  if (failed(addHostCopies(step, request, device, decision.alternatives, decision.variants)))
    return failure();
  decision.options.policy = request.policy;
  decision.options.workSeconds = request.seconds;
  decision.best =
      planBest(step, request, decision.alternatives, decision.variants, decision.options, timeOf);
  decision.variants.stated = {static_cast<int32_t>(decision.best.alternative),
                              static_cast<int32_t>(decision.best.chosen.tiling)};
  decision.chosen().extracted = inVariant(decision.chosen(), decision.variants, decision.best);
  return decision;
}

void llmmem::writeCheckpoints(func::FuncOp step, const CheckpointRequest &request,
                              CheckpointDecision &decision, int64_t withoutBudgetNs) {
  StepVariant &chosen = decision.chosen();
  // The bound is that of every alternative, and one may align more resident buffers than another.
  int64_t mostPadding = 0;
  for (const StepVariant &alternative : decision.alternatives)
    mostPadding = std::max(mostPadding, alternative.extracted.residentPadding);
  decision.best.chosen.plan.peakLowerBound -= mostPadding - chosen.extracted.residentPadding;
  writePlan(chosen.step, chosen.storage, request, chosen.extracted, decision.plan(),
            chosen.tilings.chunks[decision.best.chosen.tiling], withoutBudgetNs);
  recordOutcomes(decision.alternatives, chosen, decision.best.outcomes);
  applyVariant(step, chosen);
}
