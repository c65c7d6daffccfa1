//===- PlanCheckpoints.cpp - Keep, recompute, order ------------------------===//
//
// The decision itself is `planning::plan`; this file hands it the step and writes the answer into
// the IR.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Planning/Bounds/Prove.h"
#include "llmmem/Planning/Model/SavedValues.h"
#include "llmmem/Planning/Proofs/Check.h"
#include "llmmem/Support/ByteSize.h"
#include "llmmem/Support/TextFile.h"
#include "llmmem/Transforms/StepAlternatives.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;
using planning::OpIndex;
using planning::Phase;
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

/// The planner's offsets, step by step: each result with bytes in the arena, then the workspace.
/// `plan-arena` takes them over, so that what was found to fit is what is written.
static void writePlacement(func::FuncOp step, const ExtractedProblem &extracted,
                           const StepStorage &storage, const planning::Plan &plan) {
  std::map<std::pair<int32_t, ValueIndex>, int64_t> offsets;
  llvm::DenseMap<int32_t, int64_t> workspaces;
  for (const planning::InstanceOffset &entry : plan.offsets)
    offsets[{entry.step, entry.value}] = entry.offset;
  for (const planning::WorkspaceOffset &entry : plan.workspaces)
    workspaces[entry.step] = entry.offset;
  SmallVector<int64_t> placement;
  for (auto [number, index] : llvm::enumerate(plan.steps)) {
    for (Value result : extracted.ops[index]->getResults())
      if (!storage.getArgument(result))
        placement.push_back(offsets[{number, extracted.indexOf.lookup(result)}]);
    if (extracted.problem.ops[index].workspace > 0)
      placement.push_back(workspaces.lookup(number));
  }
  step->setAttr(LlmDialect::kPlacement, Builder(step.getContext()).getDenseI64ArrayAttr(placement));
}

static void writePlan(func::FuncOp step, const CheckpointRequest &request,
                      const ExtractedProblem &extracted, const planning::Plan &plan,
                      ArrayRef<ChunkChoice> chunks) {
  Builder builder(step.getContext());
  for (const ChunkChoice &chunk : chunks) {
    chunk.op->setAttr(LlmDialect::kChunk, builder.getI64IntegerAttr(chunk.rows));
    if (chunk.op->hasAttr(LlmDialect::kCost))
      chunk.op->setAttr(LlmDialect::kCost, toAttribute(chunk.cost, builder.getContext()));
  }
  SmallVector<int64_t> schedule(plan.steps.begin(), plan.steps.end());
  step->setAttr(LlmDialect::kSchedule, builder.getDenseI64ArrayAttr(schedule));
  step->setAttr(LlmDialect::kPolicy, builder.getStringAttr(nameOf(request.policy)));
  if (request.budget)
    step->setAttr(LlmDialect::kBudget, builder.getI64IntegerAttr(*request.budget));
  NamedAttrList certificate;
  certificate.append("bound", builder.getStringAttr(plan.bound));
  certificate.append("cost_lower_bound_ns", builder.getI64IntegerAttr(plan.costLowerBound));
  certificate.append("peak_lower_bound",
                     builder.getI64IntegerAttr(plan.peakLowerBound - extracted.residentPadding));
  if (plan.time)
    certificate.append("time_lower_bound_ns", builder.getI64IntegerAttr(plan.time->lowerBound));
  step->setAttr(LlmDialect::kCertificate, certificate.getDictionary(builder.getContext()));
  writeDecisions(extracted, plan.steps);
}

//===----------------------------------------------------------------------===//
// No plan
//===----------------------------------------------------------------------===//

/// What could be done about a value that is in the way.
static std::string adviceFor(const planning::Problem &problem, ValueIndex index, Value value) {
  if (problem.values[index].resident) {
    auto argument = dyn_cast_or_null<BlockArgument>(value);
    llm::Role role = argument ? getRole(argument) : llm::Role::Input;
    if (role == llm::Role::Gradient)
      return "resident gradient: import with --gradients transient";
    if (role == llm::Role::OptimizerState)
      return "optimizer state: import with --optimizer sgd, or shard it";
    return (llm::stringifyRole(role) + ": held throughout; fewer layers, or shard it").str();
  }
  if (value && getPhase(value.getDefiningOp()) == Phase::Forward)
    return "activation: a smaller batch or sequence shrinks it";
  return "gradient or temporary: a smaller batch or sequence shrinks it";
}

static std::string sizeText(int64_t bytes) {
  return formatByteSize(bytes) + " (" + std::to_string(bytes) + " bytes)";
}

/// What is held throughout, by role: mostly the larger part, and no plan can shrink it.
static void explainResidents(func::FuncOp step, const ExtractedProblem &extracted,
                             InFlightDiagnostic &diagnostic) {
  const planning::Problem &problem = extracted.problem;
  llvm::MapVector<StringRef, std::pair<int64_t, std::string>> byRole;
  for (ValueIndex index = 0; index < static_cast<ValueIndex>(problem.values.size()); ++index) {
    auto argument = dyn_cast_or_null<BlockArgument>(extracted.values[index]);
    if (!argument || !problem.values[index].resident)
      continue;
    auto &[bytes, advice] = byRole[llm::stringifyRole(getRole(argument))];
    bytes += problem.values[index].bytes;
    advice = adviceFor(problem, index, argument);
  }
  for (auto &[role, entry] : byRole)
    diagnostic.attachNote(step.getLoc())
        << "resident '" << role << "' holds " << sizeText(entry.first) << "; " << entry.second;
  if (extracted.residentPadding > 0)
    diagnostic.attachNote(step.getLoc())
        << "resident buffers begin on multiples of " << kArenaAlignment << " bytes, which adds "
        << sizeText(extracted.residentPadding);
}

/// Says, where the budget fails: the least that a plan was found for, the proved bound, and what is
/// held there.
static void explainFailure(func::FuncOp step, const CheckpointRequest &request,
                           const ExtractedProblem &extracted, const planning::Plan &plan,
                           const CheckpointOutcome &outcome) {
  const planning::Problem &problem = extracted.problem;
  Operation *where = step;
  if (plan.witness && plan.witness->op)
    where = extracted.ops[*plan.witness->op];
  auto diagnostic = where->emitError();
  diagnostic << (plan.status == planning::Status::Infeasible ? "no plan exists"
                                                             : "no plan was found")
             << " under a budget of " << sizeText(*request.budget) << " with policy '"
             << nameOf(request.policy) << "': least peak found " << sizeText(outcome.leastPeak)
             << ", which needs a budget of " << outcome.leastBudget
             << " bytes; proved lower bound on the peak " << sizeText(outcome.peakLowerBound);
  if (!plan.witness) {
    explainResidents(step, extracted, diagnostic);
    return;
  }
  diagnostic.attachNote(where->getLoc())
      << plan.witness->why << "; resident bytes "
      << sizeText(problem.residentBytes() - extracted.residentPadding);
  size_t shown = 0;
  for (ValueIndex index : plan.witness->values) {
    if (problem.values[index].bytes == 0 || shown++ == 8)
      break; // largest first
    Value value = extracted.values[index];
    // An argument's location would print the whole signature.
    Operation *writer = value ? value.getDefiningOp() : nullptr;
    diagnostic.attachNote(writer ? writer->getLoc() : where->getLoc())
        << "'" << problem.values[index].name << "' holds " << sizeText(problem.values[index].bytes)
        << "; " << adviceFor(problem, index, value);
  }
  explainResidents(step, extracted, diagnostic);
}

/// Whether `plan` keeps its promise and the other does not, or keeps it for less.
static bool isBetter(const planning::Plan &plan, const planning::Plan &other, bool wantsLeast) {
  bool fits = plan.status == planning::Status::Feasible;
  if (fits != (other.status == planning::Status::Feasible))
    return fits;
  return wantsLeast || !fits ? plan.arena < other.arena : plan.cost < other.cost;
}

/// Phases that were found in another compiler's graph (`llm.loss`) are no facts. Where the plan
/// that trusts them is not close to the proved bound, the structure that the planner finds alone is
/// tried too.
static planning::AlternativePlan
planWithAndWithoutPhases(func::FuncOp step, std::vector<planning::AlternativeProblem> &problems,
                         planning::AlternativeChoice choice, const planning::PlanOptions &options) {
  planning::AlternativePlan best = planning::planAlternatives(problems, choice, options);
  planning::Plan &trusting = best.chosen.plan;
  bool wantsLeast = options.policy.kind == planning::PolicyKind::LeastPeak;
  bool isClose = trusting.status == planning::Status::Feasible &&
                 trusting.cost - trusting.costLowerBound <= trusting.baseCost / 100;
  if (!step->hasAttr(LlmDialect::kLoss) || trusting.status == planning::Status::Infeasible ||
      (!wantsLeast && options.policy.kind != planning::PolicyKind::Budget) ||
      (isClose && !wantsLeast))
    return best;
  std::vector<planning::AlternativeProblem> unlabelled = problems;
  for (planning::AlternativeProblem &alternative : unlabelled)
    for (planning::Op &op : alternative.problem.ops)
      op.phase = Phase::None;
  planning::AlternativePlan other = planning::planAlternatives(unlabelled, choice, options);
  other.chosen.plan.seconds += trusting.seconds;
  trusting.seconds = other.chosen.plan.seconds;
  return isBetter(other.chosen.plan, trusting, wantsLeast) ? other : best;
}

/// The least that can be promised instead: the fixed policy's own plan, or the least peak of any.
static void findLeast(func::FuncOp step, const ExtractedProblem &extracted,
                      std::vector<planning::AlternativeProblem> alternatives,
                      planning::AlternativeChoice choice, planning::PlanOptions options,
                      const planning::Plan &plan, CheckpointOutcome &outcome) {
  outcome.noPlan = true;
  planning::Plan least = plan;
  if (plan.steps.empty()) {
    for (planning::AlternativeProblem &alternative : alternatives)
      alternative.problem.budget.reset();
    options.policy.kind = planning::PolicyKind::LeastPeak;
    least = planWithAndWithoutPhases(step, alternatives, choice, options).chosen.plan;
  }
  outcome.leastPeak = least.peak - extracted.residentPadding;
  outcome.leastBudget = extracted.problem.residentBytes() + least.arena;
}

/// What a program learns of a budget that no plan keeps (docs/Design/Reports.md).
static std::string failureReport(const CheckpointRequest &request,
                                 const CheckpointOutcome &outcome) {
  bool proved = outcome.status == planning::Status::Infeasible;
  llvm::json::Object certificate{{"peak_lower_bound", outcome.peakLowerBound}};
  if (!outcome.checked.empty())
    certificate["checked"] = outcome.checked;
  llvm::json::Object report{{"format", "llmmem-memory-report"},
                            {"version", 1},
                            {"status", proved ? "infeasible" : "unknown"},
                            {"policy", nameOf(request.policy)},
                            {"budget", request.budget.value_or(0)},
                            {"least_peak_found", outcome.leastPeak},
                            {"least_budget_found", outcome.leastBudget},
                            {"certificate", std::move(certificate)},
                            {"planning_seconds", outcome.seconds}};
  return llvm::formatv("{0:2}\n", llvm::json::Value(std::move(report))).str();
}

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

static LogicalResult emitText(func::FuncOp step, StringRef path,
                              llvm::function_ref<void(raw_ostream &)> print) {
  if (path.empty())
    return success();
  std::string text;
  llvm::raw_string_ostream os(text);
  print(os);
  if (llvm::Error error = writeTextFile(path, text))
    return step.emitError() << llvm::toString(std::move(error));
  return success();
}

/// Writes what proves the plan's bounds, after checking it. A proof is of the one problem that the
/// plan is for: the other choices of chunks and epilogues are not in it.
static LogicalResult emitProof(func::FuncOp step, const CheckpointRequest &request,
                               const planning::Problem &problem, const planning::Plan &plan,
                               bool isOnlyChoice, CheckpointOutcome &outcome) {
  if (request.emitProof.empty())
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
  return emitText(step, request.emitProof,
                  [&](raw_ostream &os) { os << planning::toJson(problem, proof); });
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
  std::vector<planning::AlternativeProblem> problems;
  for (const StepAlternative &alternative : *alternatives)
    problems.push_back(alternative.toPlan(request.budget));
  planning::PlanOptions options;
  options.policy = request.policy;
  options.seconds = request.seconds;
  planning::AlternativeChoice choice = choiceAmongAlternatives(step);
  planning::AlternativePlan best = planWithAndWithoutPhases(step, problems, choice, options);
  auto &[tiling, plan] = best.chosen;
  StepAlternative &chosen = (*alternatives)[best.alternative];
  ExtractedProblem &extracted = chosen.extracted;
  extracted.problem =
      planning::withTiling(problems[best.alternative].problem, chosen.tilings.tilings[tiling]);
  outcome.status = plan.status;
  outcome.seconds = plan.seconds;
  outcome.peakLowerBound = plan.peakLowerBound - extracted.residentPadding;
  if (failed(emitText(step, request.emitProblem,
                      [&](raw_ostream &os) { os << planning::toJson(extracted.problem); })) ||
      failed(emitText(step, request.emitPlan,
                      [&](raw_ostream &os) { os << planning::toJson(extracted.problem, plan); })) ||
      failed(emitProof(step, request, extracted.problem, plan,
                       problems.size() == 1 && problems.front().tilings.size() == 1, outcome)))
    return failure();
  if (std::optional<std::string> why = planning::checkPlannable(extracted.problem))
    return step.emitError() << *why;
  if (plan.status != planning::Status::Feasible) {
    findLeast(step, extracted, std::move(problems), choice, options, plan, outcome);
    explainFailure(chosen.step, request, extracted, plan, outcome);
    (void)emitText(step, request.failureReport,
                   [&](raw_ostream &os) { os << failureReport(request, outcome); });
    return failure();
  }
  writePlan(chosen.step, request, extracted, plan, chosen.tilings.chunks[tiling]);
  writePlacement(chosen.step, extracted, chosen.storage, plan);
  recordOutcomes(*alternatives, chosen, best.outcomes);
  outcome.changedOps = static_cast<bool>(chosen.copy);
  takeAlternative(step, chosen);
  return success();
}
