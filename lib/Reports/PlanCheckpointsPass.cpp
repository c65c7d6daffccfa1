//===- PlanCheckpointsPass.cpp - The planner's options, and the pass -------===//

#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Layout/StepLiveness.h"
#include "llmmem/Reports/Passes.h"
#include "llmmem/Reports/PlanCheckpoints.h"
#include "llmmem/Support/ByteSize.h"
#include "llmmem/Support/LlvmResult.h"
#include "llmmem/Transforms/StepPass.h"
#include "llvm/Support/Path.h"

namespace llmmem {
#define GEN_PASS_DEF_PLANCHECKPOINTS
#include "llmmem/Transforms/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

/// Puts what `parsed` holds into `value`; an error names the option.
template <typename T, typename Value>
static llvm::Error take(const std::string &option, llvm::Expected<T> parsed, Value &value) {
  if (!parsed)
    return llvm::createStringError(option + ": " + llvm::toString(parsed.takeError()));
  value = *parsed;
  return llvm::Error::success();
}

/// Reads the host's budget and the way there.
static llvm::Error readHost(const PlanCheckpointsOptions &options,
                            llvm::function_ref<std::string(StringRef)> spell,
                            CheckpointRequest &request) {
  planning::HostOptions given;
  if (!options.hostBudget.empty())
    given.budget = options.hostBudget;
  if (!options.link.empty())
    given.link = options.link;
  if (options.linkLatency != -1)
    given.latency = options.linkLatency;
  Result<planning::HostRequest> host = planning::readHostRequest(given, spell);
  if (!host)
    return llvm::createStringError(host.error());
  request.host = *host;
  if (!host->budget)
    return llvm::Error::success();
  const std::string budget = spell("host-budget");
  if (options.savedBits != 0)
    return llvm::createStringError(budget + " and " + spell("saved-bits") +
                                   " do not go together yet: take one of them");
  if (options.overlap)
    return llvm::createStringError(budget + " and " + spell("overlap") +
                                   " do not go together yet: take one of them");
  if (!options.emitProof.empty() || !options.explain.empty())
    return llvm::createStringError(spell(options.explain.empty() ? "emit-proof" : "explain") +
                                   " is of plans of one memory; leave it or " + budget + " out");
  return llvm::Error::success();
}

llvm::Expected<CheckpointRequest>
llmmem::readCheckpointRequest(const PlanCheckpointsOptions &options,
                              llvm::function_ref<std::string(StringRef)> spell) {
  CheckpointRequest request;
  std::string budget = spell("budget"), policy = spell("policy");
  if (!options.budget.empty())
    if (llvm::Error error = take(budget, parseByteSize(options.budget), request.budget))
      return error;
  if (llvm::Error error =
          take(policy, toExpected(planning::parsePolicy(options.policy)), request.policy))
    return error;
  if (request.policy.kind == planning::PolicyKind::Budget && !request.budget)
    return llvm::createStringError(policy + "=budget needs " + budget + ", as in " + budget +
                                   "=40GB");
  if (llvm::Error error = take(spell("chunk"), parseChunkRequest(options.chunk), request.chunk))
    return error;
  if (!(options.seconds >= 0))
    return llvm::createStringError(spell("seconds") + ": expected a number of seconds, 0 or more");
  request.seconds = options.seconds;
  request.epilogues = options.epilogues;
  if (options.savedBits != 0 && options.savedBits != 8)
    return llvm::createStringError(spell("saved-bits") + " is " + llvm::Twine(options.savedBits) +
                                   ", expected 8; leave it out to keep all bits");
  request.packsSaved = options.savedBits == 8;
  request.overlap = options.overlap;
  if (llvm::Error error = readHost(options, spell, request))
    return error;
  request.files = {.problem = options.emitProblem,
                   .plan = options.emitPlan,
                   .proof = options.emitProof,
                   .failure = options.failureReport};
  request.explain = options.explain;
  return request;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct PlanCheckpointsPass : StepPass<llmmem::impl::PlanCheckpointsBase<PlanCheckpointsPass>> {
  using StepPass::StepPass;
  PlanCheckpointsPass(PlanCheckpointsOptions options, std::shared_ptr<CheckpointOutcome> outcome)
      : StepPass(std::move(options)), outcome(std::move(outcome)) {}

  LogicalResult runOnStep(func::FuncOp step) override {
    PlanCheckpointsOptions given = options();
    given.budget = partOfStage(budget.getValue(), step).str();
    llvm::Expected<CheckpointRequest> request =
        readCheckpointRequest(given, [](StringRef option) { return option.str(); });
    if (!request)
      return step.emitError() << llvm::toString(request.takeError());
    const StepStorage *storage = getStorage();
    const DeviceModel *table = getDevice(device);
    if (!storage || !table)
      return failure();
    nameFiles(step, *request);
    CheckpointOutcome result;
    if (outcome) {
      result.texts = outcome->texts;
      result.reportStream = outcome->reportStream;
    }
    LogicalResult planned = planCheckpoints(step, *storage, *request, *table, result);
    if (outcome)
      outcome->add(result);
    if (failed(planned))
      return failure();
    if (!result.changedOps)
      markAnalysesPreserved<StepStorage, StepLiveness>();
    countDecisions(step);
    return success();
  }

  /// Names the files of a step of several functions: those after the first write next to its files,
  /// as `problem.json` and `problem.update.json`.
  static void nameFiles(func::FuncOp step, CheckpointRequest &request) {
    auto module = step->getParentOfType<ModuleOp>();
    if (!module || findStepFunctions(module).front() == step)
      return;
    for (std::string *file : {&request.files.problem, &request.files.plan, &request.files.proof})
      if (!file->empty() && *file != "-" && *file != "/dev/null") {
        SmallString<256> name(*file);
        StringRef extension = llvm::sys::path::extension(*file);
        llvm::sys::path::replace_extension(name, step.getName() + extension);
        *file = name.str().str();
      }
  }

#define GEN_PASS_OPTIONS_PLANCHECKPOINTS
#include "llmmem/Transforms/PassOptions.h.inc"

  void countDecisions(func::FuncOp step) {
    step.walk([&](Operation *op) {
      for (llm::Decision decision : llm::readDecisions(op)) {
        numKept += decision == llm::Decision::Keep;
        numRecomputed += decision == llm::Decision::Recompute;
        numOffloaded += decision == llm::Decision::Offload;
      }
    });
  }

  std::shared_ptr<CheckpointOutcome> outcome;
};
} // namespace

std::unique_ptr<Pass> llmmem::createPlanCheckpoints(PlanCheckpointsOptions options,
                                                    std::shared_ptr<CheckpointOutcome> outcome) {
  return std::make_unique<PlanCheckpointsPass>(std::move(options), std::move(outcome));
}
