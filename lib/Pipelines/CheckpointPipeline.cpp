//===- CheckpointPipeline.cpp - From a model to a verified plan ------------===//

#include "llmmem/Pipelines/CheckpointPipeline.h"
#include "llmmem/Analysis/DeviceModel.h"
#include "llmmem/Planning/Policies/Policies.h"
#include "llmmem/Support/ByteSize.h"
#include "llmmem/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"

using namespace llmmem;

//===----------------------------------------------------------------------===//
// What the options mean
//===----------------------------------------------------------------------===//

static bool isLeastBudget(const CheckpointPipelineOptions &options) {
  return options.budget == "min";
}

static bool groupsLossHead(const CheckpointPipelineOptions &options) {
  return options.lossChunk != "apart";
}

std::string CheckpointPipelineOptions::policyMeant() const {
  if (isLeastBudget(*this))
    return "least-peak";
  if (policy.hasValue() || !policy.empty())
    return policy;
  return budget.hasValue() || !budget.empty() ? "budget" : "none";
}

std::vector<llvm::cl::Option *> CheckpointPipelineOptions::all() {
  std::vector<llvm::cl::Option *> options;
  for (auto &[name, option] : OptionsMap)
    options.push_back(option);
  // Their map has no order.
  llvm::sort(options, [](auto *a, auto *b) { return a->ArgStr < b->ArgStr; });
  return options;
}

std::string CheckpointPipelineOptions::budgetMeant() const {
  return isLeastBudget(*this) ? std::string() : budget.getValue();
}

//===----------------------------------------------------------------------===//
// What is wrong with them
//===----------------------------------------------------------------------===//

/// What is wrong with the text of an option, named as the user writes it.
template <typename T>
static llvm::Error check(const std::string &option, llvm::Expected<T> parsed,
                         llvm::StringRef besides = "") {
  if (parsed)
    return llvm::Error::success();
  return llvm::createStringError(option + ": " + llvm::toString(parsed.takeError()) + besides);
}

llvm::Error llmmem::checkOptions(const CheckpointPipelineOptions &options,
                                 llvm::function_ref<std::string(llvm::StringRef)> spell) {
  std::string budget = spell("budget"), policy = options.policyMeant();
  if (isLeastBudget(options) && options.policy.hasValue())
    return llvm::createStringError(budget + "=min chooses for itself; leave " + spell("policy") +
                                   " out");
  if ((options.budget.hasValue() || !options.budget.empty()) && !isLeastBudget(options))
    if (llvm::Error error = check(budget, parseByteSize(options.budget)))
      return error;
  if (llvm::Error error = check(spell("policy"), planning::parsePolicy(policy)))
    return error;
  if (policy == "budget" && options.budget.empty())
    return llvm::createStringError(spell("policy") + "=budget needs " + budget + ", as in " +
                                   budget + "=40GB");
  if (groupsLossHead(options))
    if (llvm::Error error = check(spell("loss-chunk"), parseChunkRequest(options.lossChunk),
                                  "; or apart, to leave the loss and its gradients several ops"))
      return error;
  if (llvm::Error error = check(spell("epilogues"), parseEpilogues(options.epilogues)))
    return error;
  if (!(options.seconds >= 0))
    return llvm::createStringError(spell("seconds") + ": expected a number of seconds, 0 or more");
  return check(spell("device"), loadDeviceModel(options.device));
}

//===----------------------------------------------------------------------===//
// The passes
//===----------------------------------------------------------------------===//

static PlanCheckpointsOptions planOptions(const CheckpointPipelineOptions &options) {
  PlanCheckpointsOptions plan;
  plan.policy = options.policyMeant();
  plan.budget = options.budgetMeant();
  plan.device = options.device;
  plan.seconds = options.seconds;
  plan.chunk = groupsLossHead(options) ? options.lossChunk.getValue() : "auto";
  // A product with its epilogue is a group like any other.
  plan.epilogues = options.kernels == KernelGrouping::Grouped ? options.epilogues.getValue()
                                                              : std::string("separate");
  plan.emitProblem = options.emitProblem;
  plan.emitPlan = options.emitPlan;
  plan.failureReport = options.memoryReportJson;
  return plan;
}

void llmmem::buildCheckpointPipeline(mlir::OpPassManager &passes,
                                     const CheckpointPipelineOptions &options,
                                     std::shared_ptr<CheckpointOutcome> outcome) {
  DifferentiateOptions differentiate;
  differentiate.ifPresent = true;
  passes.addPass(createDifferentiate(differentiate));
  if (groupsLossHead(options))
    passes.addPass(createGroupLossHead());
  if (options.kernels == KernelGrouping::Grouped)
    passes.addPass(createGroupKernels());
  if (options.products == ProductSource::Library) {
    ReserveLibraryWorkspaceOptions reserve;
    reserve.device = options.device;
    passes.addPass(createReserveLibraryWorkspace(reserve));
  }
  AnnotateMemoryOptions annotate;
  annotate.device = options.device;
  passes.addPass(createAnnotateMemory(annotate));
  passes.addPass(createPlanCheckpoints(planOptions(options), outcome));

  // No clean-up stands between here and the verifier: what is verified is what is printed.
  passes.addPass(createApplyCheckpoints());
  PlanArenaOptions arena;
  arena.device = options.device;
  passes.addPass(createPlanArena(arena));
  passes.addPass(createVerifyPlan());

  ReportMemoryOptions report;
  report.print = options.memoryReport;
  report.json = options.memoryReportJson;
  report.device = options.device;
  passes.addPass(createReportMemory(report, outcome));
}

void llmmem::registerCheckpointPipeline() {
  auto build = [](mlir::OpPassManager &passes, llvm::StringRef text,
                  llvm::function_ref<llvm::LogicalResult(const llvm::Twine &)> fail) {
    CheckpointPipelineOptions options;
    std::string errors;
    llvm::raw_string_ostream os(errors);
    if (failed(options.parseFromString(text, os)))
      return fail("llmmem-checkpoint: " + errors);
    auto asWritten = [](llvm::StringRef option) { return option.str(); };
    if (llvm::Error error = checkOptions(options, asWritten))
      return fail("llmmem-checkpoint: " + llvm::toString(std::move(error)));
    buildCheckpointPipeline(passes, options, nullptr);
    return llvm::success();
  };
  mlir::registerPassPipeline(
      "llmmem-checkpoint", "Plans the memory of a step under a budget, and verifies the plan", build,
      [](llvm::function_ref<void(const mlir::detail::PassOptions &)> show) {
        show(CheckpointPipelineOptions());
      });
}
