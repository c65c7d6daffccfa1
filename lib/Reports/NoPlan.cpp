//===- NoPlan.cpp - What is said where a budget has no plan ----------------===//

#include "NoPlan.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Dialect/TiledOps.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "llmmem/Layout/ResidentBytes.h"
#include "llmmem/Planning/Bounds/Bounds.h"
#include "llmmem/Planning/Policies/Modules.h"
#include "llmmem/Support/ByteSize.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace llmmem;
using planning::Phase;
using planning::ValueIndex;

/// Returns the line alone. Below a location with a column its source line is printed, which for a
/// function is the whole signature: tens of kilobytes of a large model.
static Location withoutColumn(Location location) {
  if (auto file = location->findInstanceOf<FileLineColLoc>())
    return FileLineColLoc::get(file.getFilename(), file.getLine(), 0);
  return location;
}

//===----------------------------------------------------------------------===//
// What is held, for those who ask
//===----------------------------------------------------------------------===//

/// Says what could be done about what has this role, and is held throughout.
static std::string adviceFor(StringRef role) {
  switch (llm::symbolizeRole(role).value_or(llm::Role::Input)) {
  case llm::Role::Gradient:
    return "resident gradient: import with --gradients transient";
  case llm::Role::OptimizerState:
    return "optimizer state: import with --optimizer sgd, or shard it";
  case llm::Role::KvCache:
    return "cache: import with fewer sequences (--batch) or a shorter --context, or split it "
           "over ranks (--mesh=tp=N)";
  default:
    return (role + ": held throughout; fewer layers, or shard it").str();
  }
}

/// Says what could be done about a value that is in the way.
static std::string adviceFor(const planning::Problem &problem, ValueIndex index, Value value) {
  if (problem.values[index].resident) {
    auto argument = dyn_cast_or_null<BlockArgument>(value);
    return adviceFor(llm::stringifyRole(argument ? getRole(argument) : llm::Role::Input));
  }
  if (value && getPhase(value.getDefiningOp()) == Phase::Forward)
    return "activation: a smaller batch or sequence shrinks it";
  return "gradient or temporary: a smaller batch or sequence shrinks it";
}

static std::string sizeText(int64_t bytes) {
  return formatByteSize(bytes) + " (" + std::to_string(bytes) + " bytes)";
}

/// Explains what is held throughout, by role: mostly the larger part, and no plan can shrink it.
static void explainResidents(Location location, const StepResidents &residents,
                             InFlightDiagnostic &diagnostic) {
  for (const auto &[role, bytes] : residents.byRole)
    if (bytes > 0)
      diagnostic.attachNote(location)
          << "resident '" << role << "' holds " << sizeText(bytes) << "; " << adviceFor(role);
  if (const int64_t padding = residents.device.padding())
    diagnostic.attachNote(location) << "resident buffers begin on multiples of " << kArenaAlignment
                                    << " bytes, which adds " << sizeText(padding);
}

static void explainHeld(Location location, const ExtractedProblem &extracted,
                        const planning::Witness &witness, InFlightDiagnostic &diagnostic) {
  const planning::Problem &problem = extracted.problem;
  diagnostic.attachNote(location) << witness.why << "; resident bytes "
                                  << sizeText(problem.residentBytes() - extracted.residentPadding);
  size_t shown = 0;
  for (ValueIndex index : witness.values) {
    if (problem.values[index].bytes == 0 || shown++ == 8)
      break; // largest first
    Value value = extracted.values[index];
    Operation *writer = value ? value.getDefiningOp() : nullptr;
    diagnostic.attachNote(writer ? withoutColumn(writer->getLoc()) : location)
        << "'" << problem.values[index].name << "' holds " << sizeText(problem.values[index].bytes)
        << "; " << adviceFor(problem, index, value);
  }
}

//===----------------------------------------------------------------------===//
// The three lines
//===----------------------------------------------------------------------===//

/// Says whether any batch could fit, and what there is less of.
static std::string summaryOf(const CheckpointRequest &request, const ExtractedProblem &extracted,
                             const StepResidents &residents, const CheckpointOutcome &outcome) {
  int64_t resident = extracted.problem.residentBytes();
  auto ofCaches = residents.byRole.find(llm::stringifyRole(llm::Role::KvCache).str());
  int64_t caches = ofCaches == residents.byRole.end() ? Count() : ofCaches->second;
  if (resident > *request.budget && caches > 0)
    return "resident bytes alone, " + sizeText(resident) + ", exceed it, of which caches are " +
           sizeText(caches) +
           ": fewer sequences, a shorter context or more ranks (--mesh=tp=N) have less";
  if (resident > *request.budget)
    return "resident bytes alone, " + sizeText(resident) +
           ", exceed it, so no batch fits; transient gradients, another optimizer or more ranks "
           "make them fewer (llmmem-fit plans with each)";
  return "resident bytes are " + sizeText(resident) + "; the step needs " +
         sizeText(outcome.least.budget - resident) +
         " in addition to them; a smaller batch or sequence needs less";
}

/// Says which command to try next. A budget below a megabyte is mostly a number whose unit was
/// forgotten.
static std::string hintFor(const CheckpointRequest &request) {
  constexpr int64_t kMegabyte = 1'000'000;
  std::string more = request.host.budget ? "without a host --explain" : "--explain";
  more += " lists what is held, and what would shrink it";
  if (*request.budget >= kMegabyte)
    return more;
  std::string number = std::to_string(*request.budget);
  return "the budget is below a megabyte, and a number without a unit is bytes: " + number +
         "GB is " + number + " * 10^9; " + more;
}

void llmmem::reportNoPlan(func::FuncOp step, const CheckpointRequest &request,
                          const ExtractedProblem &extracted, const ExtractedProblem &ofLeast,
                          const planning::Plan &plan, const CheckpointOutcome &outcome) {
  Operation *where = step;
  const auto ops = static_cast<planning::OpIndex>(extracted.ops.size()); // copies come after these
  if (plan.witness && plan.witness->op && *plan.witness->op < ops)
    where = extracted.ops[*plan.witness->op];
  // An op that ranks do together has a name and no line.
  if (!where->getLoc()->findInstanceOf<FileLineColLoc>())
    where = step;
  Location location = withoutColumn(where->getLoc());
  auto diagnostic = emitError(location);
  diagnostic << (plan.status == planning::Status::Infeasible ? "no plan exists"
                                                             : "no plan was found")
             << " under a budget of " << sizeText(*request.budget) << " with policy '"
             << nameOf(request.policy) << "': least peak found " << sizeText(outcome.least.peak)
             << ", which needs a budget of " << outcome.least.budget
             << " bytes; proved lower bound on the budget "
             << sizeText(outcome.least.budgetLowerBound);
  const StepResidents residents(step);
  diagnostic.attachNote(location) << summaryOf(request, ofLeast, residents, outcome);
  if (request.explain != kExplainAll) {
    diagnostic.attachNote(location) << hintFor(request);
    return;
  }
  if (plan.witness)
    explainHeld(location, extracted, *plan.witness, diagnostic);
  explainResidents(withoutColumn(step.getLoc()), residents, diagnostic);
}

//===----------------------------------------------------------------------===//
// For programs
//===----------------------------------------------------------------------===//

/// For a plan without steps the planner bounds what any arena needs, in which each buffer is a
/// multiple of the alignment. The live values have exact sizes, and may be fewer bytes. The bound
/// is that of every alternative that was planned, and no two need have the same padding.
static void takeLowerBounds(const CheckpointDecision &decision, CheckpointOutcome &outcome) {
  const planning::Plan &plan = decision.plan();
  outcome.least.budgetLowerBound = plan.peakLowerBound;
  outcome.least.peakLowerBound = plan.peakLowerBound;
  for (auto [number, alternative] : llvm::enumerate(decision.alternatives)) {
    if (!decision.best.outcomes[number].planned)
      continue;
    int64_t live = plan.peakLowerBound;
    if (plan.steps.empty()) {
      const planning::ProblemVariant &variant = decision.variants.alternatives[number];
      const planning::TiledProblem leastMemory(variant.problem, variant.tilings.back());
      live = std::max(variant.problem.residentBytes(), live - planning::paddingOf(leastMemory));
    }
    outcome.least.peakLowerBound =
        std::min(outcome.least.peakLowerBound, live - alternative.extracted.residentPadding);
  }
}

const ExtractedProblem &llmmem::findLeast(const CheckpointDecision &decision,
                                          CheckpointOutcome &outcome) {
  outcome.noPlan = true;
  planning::Plan least = decision.plan();
  size_t number = decision.best.alternative;
  if (least.steps.empty()) {
    planning::VariantSet variants = decision.variants;
    variants.setBudget(std::nullopt);
    planning::PlanOptions options = decision.options;
    options.policy.kind = planning::PolicyKind::LeastPeak;
    planning::ProblemVariantPlan made = planVariants(variants, options);
    number = made.alternative;
    least = std::move(made.chosen.plan);
  }
  takeLowerBounds(decision, outcome);
  const ExtractedProblem &extracted = decision.alternatives[number].extracted;
  outcome.least.peak = least.peak - extracted.residentPadding;
  outcome.least.budget = extracted.problem.residentBytes() + least.arena;
  return extracted;
}

/// Returns what a program learns of a budget that no plan keeps (docs/Design/Reports.md).
std::string llmmem::noPlanJson(const CheckpointRequest &request, const CheckpointOutcome &outcome) {
  bool proved = outcome.status == planning::Status::Infeasible;
  llvm::json::Object certificate{{"peak_lower_bound", outcome.least.peakLowerBound},
                                 {"budget_lower_bound", outcome.least.budgetLowerBound}};
  if (!outcome.checked.empty())
    certificate["checked"] = outcome.checked;
  llvm::json::Object report{{"format", "llmmem-memory-report"},
                            {"version", 1},
                            {"status", proved ? "infeasible" : "unknown"},
                            {"policy", nameOf(request.policy)},
                            {"budget", request.budget.value_or(0)},
                            {"least_peak_found", outcome.least.peak},
                            {"least_budget_found", outcome.least.budget},
                            {"certificate", std::move(certificate)},
                            {"planning_seconds", outcome.seconds}};
  return llvm::formatv("{0:2}\n", llvm::json::Value(std::move(report))).str();
}

//===----------------------------------------------------------------------===//
// What has no effect
//===----------------------------------------------------------------------===//

static bool isTransfer(Operation &op) {
  auto cost = dyn_cast<CostOpInterface>(op);
  return cost && cost.getTransfer();
}

static bool isForward(Operation &op) { return getPhase(&op) == Phase::Forward; }
static bool isBackward(Operation &op) { return getPhase(&op) == Phase::Backward; }
static bool isLossApart(Operation &op) { return isa<llm::CrossEntropyOp, llm::TargetLossOp>(op); }

/// Returns whether it is one of several functions of a step: stages, or what runs for each
/// micro-batch and the update after it. Only some of these have something to act on that a flag is
/// about.
static bool isOneOfSeveral(func::FuncOp step) {
  auto module = step->getParentOfType<ModuleOp>();
  return module && llvm::range_size(module.getOps<func::FuncOp>()) > 1;
}

/// Warns of each module of the policy that the step has no values of.
static void warnOfEmptyModules(func::FuncOp step, const CheckpointRequest &request,
                               const StepVariant &form) {
  if (request.policy.kind != planning::PolicyKind::Selective)
    return;
  planning::Policy policy = request.policy;
  policy.selected = form.extracted.coreAttention;
  if (policy.modules.empty())
    policy.modules = {"core_attn"};
  for (const std::string &module : modulesWithoutValues(form.extracted.problem, policy))
    emitWarning(withoutColumn(step.getLoc()))
        << "policy 'selective' recomputes " << module << ", and @" << step.getName()
        << (module == "core_attn" ? " has no op that is marked as llm.core_attention"
                                  : " has no block with values of it")
        << ": all of it is kept";
}

void llmmem::warnOfNoEffect(func::FuncOp step, const CheckpointRequest &request,
                            ArrayRef<StepVariant> alternatives) {
  Location location = withoutColumn(step.getLoc());
  auto isOfLoss = [](const ChunkChoice &choice) { return !isa<llm::TiledOp>(choice.op); };
  bool hasChunks = llvm::any_of(alternatives, [&](const StepVariant &it) {
    return llvm::any_of(it.tilings.chunks.front(), isOfLoss);
  });
  const bool isWhole = !isOneOfSeveral(step);
  const bool hasLoss = isWhole || llvm::any_of(step.getOps(), isLossApart);
  const bool hasForward = isWhole || llvm::any_of(step.getOps(), isForward);
  if (request.chunk.kind != ChunkRequest::Kind::Auto && !hasChunks && hasLoss)
    emitWarning(location)
        << "a chunk is asked for (--loss-chunk), and no op of @" << step.getName()
        << " works in chunks: its loss is no loss head (docs/Design/Architecture.md)";
  for (const StepVariant &it : alternatives.take_front())
    for (const ChunkChoice &choice : it.tilings.chunks.front())
      if (isOfLoss(choice) && request.chunk.kind == ChunkRequest::Kind::Rows &&
          choice.rows < request.chunk.rows)
        emitWarning(withoutColumn(choice.op->getLoc()))
            << "a chunk of " << request.chunk.rows << " tokens is asked for (--loss-chunk), and "
            << choice.op->getName() << " has " << choice.rows
            << ": it runs whole, which --loss-chunk=whole says, too";
  if (request.overlap && hasForward && llvm::none_of(step.getOps(), isTransfer))
    emitWarning(location) << "collectives are to run at the same time as compute (--overlap), and @"
                          << step.getName() << " has none: it is the step of one rank (--mesh)";
  if (request.packsSaved && hasForward && llvm::none_of(step.getOps(), isBackward))
    emitWarning(location) << "saved values may be held in 8 bits (--saved-bits), and @"
                          << step.getName() << " has no backward that reads any";
  if (isWhole)
    warnOfEmptyModules(step, request, alternatives.front());
}
