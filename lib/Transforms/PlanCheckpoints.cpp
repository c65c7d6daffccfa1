//===- PlanCheckpoints.cpp - Keep, recompute, order ------------------------===//
//
// The decision itself is `planning::plan`; this file hands it the step and writes the answer into
// the IR.
//
//===----------------------------------------------------------------------===//

#include "HostCopies.h"
#include "NamedPlaces.h"
#include "NoPlan.h"
#include "llmmem/Analysis/MemoryReport.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Planning/Alternatives/TimedForms.h"
#include "llmmem/Planning/Bounds/Prove.h"
#include "llmmem/Planning/Formats/Explain.h"
#include "llmmem/Planning/Model/SavedValues.h"
#include "llmmem/Planning/Proofs/Check.h"
#include "llmmem/Planning/Sweep/BudgetOutlook.h"
#include "llmmem/Transforms/StartCollectives.h"
#include "llmmem/Transforms/StepAlternatives.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;
using planning::OpIndex;
using planning::ValueIndex;

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
  if (request.hostBudget)
    step->setAttr(LlmDialect::kHostBudget, builder.getI64IntegerAttr(*request.hostBudget));
  NamedAttrList certificate;
  certificate.append("bound", builder.getStringAttr(plan.bound));
  certificate.append("cost_lower_bound_ns", builder.getI64IntegerAttr(plan.costLowerBound));
  certificate.append("cost_without_budget_ns", builder.getI64IntegerAttr(costWithoutBudget));
  certificate.append("peak_lower_bound",
                     builder.getI64IntegerAttr(plan.peakLowerBound - extracted.residentPadding));
  if (plan.time)
    certificate.append("time_lower_bound_ns", builder.getI64IntegerAttr(plan.time->lowerBound));
  step->setAttr(LlmDialect::kCertificate, certificate.getDictionary(builder.getContext()));
  writeDecisions(extracted, plan.steps);
}

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

static LogicalResult emitText(func::FuncOp step, StringRef path, CheckpointOutcome &outcome,
                              llvm::function_ref<void(raw_ostream &)> print) {
  if (path.empty() || outcome.texts == CheckpointOutcome::Texts::Dropped)
    return success();
  std::string text;
  llvm::raw_string_ostream os(text);
  print(os);
  if (llvm::Error error = outcome.write(path, std::move(text)))
    return step.emitError() << llvm::toString(std::move(error));
  return success();
}

/// Writes what proves the plan's bounds, after checking it. A proof is of the one problem that the
/// plan is for: the other choices of chunks and epilogues are not in it.
static LogicalResult emitProof(func::FuncOp step, const CheckpointRequest &request,
                               const planning::Problem &problem, const planning::Plan &plan,
                               bool isOnlyChoice, CheckpointOutcome &outcome) {
  if (request.emitProof.empty() || outcome.texts == CheckpointOutcome::Texts::Dropped)
    return success();
  const planning::Proof proof = planning::prove(problem, plan);
  SmallVector<StringRef> checked;
  const std::vector<planning::ClaimCheck> checks = planning::checkProof(problem, plan, proof);
  for (const planning::ClaimCheck &it : checks) {
    if (it.verdict == planning::Verdict::Refused)
      return step.emitError("the proof found is wrong and is not written; please report this: ")
             << it.claim << ": " << it.message;
    if (it.verdict == planning::Verdict::Checked && it.claim != "plan")
      checked.push_back(it.claim);
  }
  outcome.checked = checked.empty() ? "nothing" : llvm::join(checked, ", ");
  if (!isOnlyChoice && !checked.empty())
    outcome.checked += " with the chunks and epilogues taken";
  return emitText(step, request.emitProof, outcome,
                  [&](raw_ostream &os) { os << planning::toJson(problem, proof); });
}

/// What `explain` asks for: one value or op by its name, or all.
static LogicalResult explainTo(CheckpointOutcome &outcome, func::FuncOp step,
                               const CheckpointRequest &request, const planning::StepForms &forms,
                               const planning::Problem &problem, const planning::Plan &plan) {
  if (request.explain != kExplainAll) {
    std::optional<std::string> text = planning::explainNamed(problem, plan, request.explain);
    if (!text)
      return step.emitError("explain: no value or op of it is named '") << request.explain << "'";
    outcome.print(std::move(*text));
    return success();
  }
  planning::PlanOptions options;
  options.policy = request.policy;
  options.seconds = request.seconds;
  outcome.print(planning::explanationText(problem, planning::explainPlan(problem, plan)) +
                planning::peakText(problem, plan) +
                planning::outlookText(planning::lookAround(forms, options, plan.cost),
                                      planning::costWithoutBudget(forms).value_or(plan.baseCost)));
  return success();
}

/// Whether state that lies on the host comes and leaves, in every plan.
static bool hasHostCopies(func::FuncOp step) {
  return llvm::any_of(step.getBody().front(), [](Operation &op) { return llm::isHostCopy(&op); });
}

/// What a planned step takes, by its report: how far collectives or copies run beside other ops is
/// known when it is placed and they are started.
static FailureOr<int64_t> timeOfPlanned(func::FuncOp step, const DeviceModel &device) {
  if (failed(applyCheckpoints(step, StepStorage(step))) ||
      failed(hasHostCopies(step) ? startHostCopies(step, StepStorage(step))
                                 : startCollectives(step, StepStorage(step))))
    return failure();
  StepStorage storage(step);
  FailureOr<MemoryReport> report =
      MemoryReport::compute(step, storage, StepLiveness(step, storage), device);
  if (failed(report))
    return failure();
  return report->plannedNs();
}

/// What `step` takes without a budget.
static FailureOr<int64_t> timeOfFreeStep(func::FuncOp step, const CheckpointRequest &request,
                                         const DeviceModel &device) {
  CheckpointRequest free;
  free.policy.kind = planning::PolicyKind::None;
  free.seconds = request.seconds;
  free.chunk = request.chunk;
  free.epilogues = request.epilogues;
  free.overlap = request.overlap;
  CheckpointOutcome outcome;
  OwningOpRef<func::FuncOp> copy = step.clone();
  if (failed(planCheckpoints(*copy, StepStorage(*copy), free, device, outcome)))
    return failure();
  return timeOfPlanned(*copy, device);
}

/// What the step takes without a budget, whatever chunks and epilogues it then has. `cost`: of its
/// ops one after another, where nothing runs beside them.
static FailureOr<int64_t> timeWithoutBudget(func::FuncOp step, const CheckpointRequest &request,
                                            std::optional<int64_t> cost, const planning::Plan &plan,
                                            const DeviceModel &device) {
  if (cost)
    return *cost;
  if (request.policy.kind == planning::PolicyKind::None)
    return plan.duration();
  return timeOfFreeStep(step, request, device);
}

/// The problem of `chosen` in the form of a plan.
static ExtractedProblem inForm(const StepAlternative &chosen, const planning::StepForms &forms,
                               const planning::AlternativePlan &made) {
  ExtractedProblem extracted = chosen.extracted;
  extracted.problem = *forms.problemOf(
      {static_cast<int32_t>(made.alternative), static_cast<int32_t>(made.chosen.tiling)});
  extracted.values.resize(extracted.problem.values.size()); // null: the host's
  return extracted;
}

/// The same of a copy of its step, which `copies` leads to.
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

/// What the program of a plan takes, which may be of another budget than the one asked for; nothing
/// where it cannot be made.
static std::optional<int64_t> timeOfPlan(CheckpointRequest request, const StepAlternative &chosen,
                                         const planning::StepForms &forms,
                                         const planning::AlternativePlan &made,
                                         const DeviceModel &device) {
  IRMapping copies;
  OwningOpRef<func::FuncOp> copy = cast<func::FuncOp>(chosen.step->clone(copies));
  const ExtractedProblem extracted = inCopy(inForm(chosen, forms, made), copies);
  SmallVector<ChunkChoice> chunks = chosen.tilings.chunks[made.chosen.tiling];
  for (ChunkChoice &chunk : chunks)
    chunk.op = copies.lookupOrNull(chunk.op);
  const planning::Plan &plan = made.chosen.plan;
  request.budget.reset();
  writePlan(*copy, StepStorage(*copy), request, extracted, plan, chunks,
            /*costWithoutBudget=*/0);
  FailureOr<int64_t> time = timeOfPlanned(*copy, device);
  return failed(time) ? std::nullopt : std::optional(*time);
}

/// The best plan of all forms. Where what lies on the host comes and leaves beside every plan, the
/// program of a plan is timed, and takes no longer with more budget.
static planning::AlternativePlan planBest(func::FuncOp step, const CheckpointRequest &request,
                                          ArrayRef<StepAlternative> alternatives,
                                          const planning::StepForms &forms,
                                          const planning::PlanOptions &options,
                                          const DeviceModel &device) {
  if (request.hostBudget || !hasHostCopies(step))
    return planForms(forms, options);
  return planFormsByTime(forms, options, [&](const planning::AlternativePlan &made) {
    return timeOfPlan(request, alternatives[made.alternative], forms, made, device);
  });
}

LogicalResult llmmem::planCheckpoints(func::FuncOp step, const StepStorage &storage,
                                      const CheckpointRequest &request, const DeviceModel &device,
                                      CheckpointOutcome &outcome) {
  if (step->hasAttr(LlmDialect::kArena))
    return step.emitError(
        "is planned already, and its clones would pass for the model's own ops; plan "
        "the model that it was made from");
  FailureOr<std::vector<StepAlternative>> alternatives =
      makeStepAlternatives(step, storage, request, device);
  if (failed(alternatives))
    return failure();
  warnOfNoEffect(step, request, *alternatives);
  planning::StepForms forms = formsOf(step, *alternatives, request.budget);
  const std::optional<int64_t> freeCost = // nothing leaves within the step then
      hasHostCopies(step) ? std::nullopt : costWithoutBudget(forms);
  if (failed(addHostCopies(step, request, device, *alternatives, forms)))
    return failure();
  planning::PlanOptions options;
  options.policy = request.policy;
  options.seconds = request.seconds;
  planning::AlternativePlan best = planBest(step, request, *alternatives, forms, options, device);
  auto &[tiling, plan] = best.chosen;
  StepAlternative &chosen = (*alternatives)[best.alternative];
  ExtractedProblem &extracted = chosen.extracted;
  forms.stated = {static_cast<int32_t>(best.alternative), static_cast<int32_t>(tiling)};
  extracted = inForm(chosen, forms, best);
  outcome.status = plan.status;
  outcome.seconds = plan.seconds;
  if (failed(emitText(step, request.emitProblem, outcome,
                      [&](raw_ostream &os) { os << planning::toJson(forms); })) ||
      failed(emitText(step, request.emitPlan, outcome,
                      [&](raw_ostream &os) { os << planning::toJson(extracted.problem, plan); })) ||
      failed(emitProof(step, request, extracted.problem, plan, !forms.hasSeveral(), outcome)))
    return failure();
  if (std::optional<std::string> why = planning::checkPlannable(extracted.problem))
    return step.emitError() << *why;
  if (plan.status != planning::Status::Feasible) {
    findLeast(extracted, forms, options, plan, outcome);
    reportNoPlan(chosen.step, request, extracted, plan, outcome);
    (void)emitText(step, request.failureReport, outcome,
                   [&](raw_ostream &os) { os << noPlanJson(request, outcome); });
    return failure();
  }
  if (!request.explain.empty() && outcome.texts != CheckpointOutcome::Texts::Dropped &&
      failed(explainTo(outcome, step, request, forms, extracted.problem, plan)))
    return failure();
  FailureOr<int64_t> free = timeWithoutBudget(step, request, freeCost, plan, device);
  if (failed(free))
    return failure();
  writePlan(chosen.step, chosen.storage, request, extracted, plan, chosen.tilings.chunks[tiling],
            *free);
  recordOutcomes(*alternatives, chosen, best.outcomes);
  outcome.changedOps = static_cast<bool>(chosen.copy);
  takeAlternative(step, chosen);
  return success();
}
