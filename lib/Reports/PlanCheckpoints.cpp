//===- PlanCheckpoints.cpp - Decides, reports the outcome, and writes it ----===//

#include "llmmem/Reports/PlanCheckpoints.h"
#include "NoPlan.h"
#include "PlannedTime.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Planning/Bounds/Prove.h"
#include "llmmem/Planning/Formats/Explain.h"
#include "llmmem/Planning/Proofs/Check.h"
#include "llmmem/Planning/Sweep/BudgetOutlook.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace llmmem;

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
  if (request.files.proof.empty() || outcome.texts == CheckpointOutcome::Texts::Dropped)
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
  return emitText(step, request.files.proof, outcome,
                  [&](raw_ostream &os) { os << planning::toJson(problem, proof); });
}

/// Writes the files of problem, plan and proof that are asked for, whether there is a plan or not.
static LogicalResult emitFiles(func::FuncOp step, const CheckpointRequest &request,
                               CheckpointDecision &decision, CheckpointOutcome &outcome) {
  const planning::Problem &problem = decision.chosen().extracted.problem;
  const planning::Plan &plan = decision.plan();
  return success(
      succeeded(emitText(step, request.files.problem, outcome,
                         [&](raw_ostream &os) { os << planning::toJson(decision.variants); })) &&
      succeeded(emitText(step, request.files.plan, outcome,
                         [&](raw_ostream &os) { os << planning::toJson(problem, plan); })) &&
      succeeded(emitProof(step, request, problem, plan,
                          /*isOnlyChoice=*/!decision.variants.hasSeveral(), outcome)));
}

/// Says why there is no plan, and what would do, to people and to programs.
static void tellNoPlan(func::FuncOp step, const CheckpointRequest &request,
                       CheckpointDecision &decision, CheckpointOutcome &outcome) {
  StepVariant &chosen = decision.chosen();
  const ExtractedProblem &ofLeast = findLeast(decision, outcome);
  reportNoPlan(chosen.step, request, chosen.extracted, ofLeast, decision.plan(), outcome);
  (void)emitText(step, request.files.failure, outcome,
                 [&](raw_ostream &os) { os << noPlanJson(request, outcome); });
}

/// Prints what `explain` asks for: one value or op by its name, or all.
static LogicalResult explainTo(CheckpointOutcome &outcome, func::FuncOp step,
                               const CheckpointRequest &request, CheckpointDecision &decision) {
  const planning::Problem &problem = decision.chosen().extracted.problem;
  const planning::Plan &plan = decision.plan();
  if (request.explain != kExplainAll) {
    Result<std::string> text = planning::explainNamed(problem, plan, request.explain);
    if (!text)
      return step.emitError("explain: ") << text.error();
    outcome.print(std::move(*text));
    return success();
  }
  const planning::VariantSet &variants = decision.variants;
  outcome.print(
      planning::explanationText(problem, planning::explainPlan(problem, plan)) +
      planning::peakText(problem, plan) +
      planning::outlookText(planning::lookAround(variants, decision.options, plan.cost),
                            planning::costWithoutBudget(variants).value_or(plan.baseCost)));
  return success();
}

LogicalResult llmmem::planCheckpoints(func::FuncOp step, const StepStorage &storage,
                                      const CheckpointRequest &request, const DeviceModel &device,
                                      CheckpointOutcome &outcome) {
  if (step->hasAttr(llm::LlmDialect::kArena))
    return step.emitError(
        "is planned already, and its clones would pass for the model's own ops; plan "
        "the model that it was made from");
  FailureOr<std::vector<StepVariant>> alternatives =
      makeStepVariants(step, storage, request, device);
  if (failed(alternatives))
    return failure();
  warnOfNoEffect(step, request, *alternatives);
  FailureOr<CheckpointDecision> decision =
      decideCheckpoints(step, std::move(*alternatives), request, device, [&](func::FuncOp planned) {
        return timeOfPlanned(planned, request, device);
      });
  if (failed(decision))
    return failure();
  outcome.status = decision->plan().status;
  outcome.seconds = decision->plan().seconds;
  if (failed(emitFiles(step, request, *decision, outcome)))
    return failure();
  if (std::optional<std::string> why =
          planning::checkPlannable(decision->chosen().extracted.problem))
    return step.emitError() << *why;
  if (outcome.status != planning::Status::Feasible) {
    tellNoPlan(step, request, *decision, outcome);
    return failure();
  }
  if (!request.explain.empty() && outcome.texts != CheckpointOutcome::Texts::Dropped &&
      failed(explainTo(outcome, step, request, *decision)))
    return failure();
  FailureOr<int64_t> free = timeWithoutBudget(step, request, *decision, device);
  if (failed(free))
    return failure();
  outcome.changedOps = static_cast<bool>(decision->chosen().copy);
  writeCheckpoints(step, request, *decision, *free);
  return success();
}
