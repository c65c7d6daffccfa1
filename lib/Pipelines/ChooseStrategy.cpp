//===- ChooseStrategy.cpp - From --mesh=auto to a mesh ---------------------===//

#include "ChooseStrategy.h"
#include "EmitSetup.h"
#include "PlanWhole.h"
#include "llmmem/Analysis/Step.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "llmmem/Layout/ResidentBytes.h"
#include "llmmem/Strategies/StrategyReliefs.h"
#include "llmmem/Support/ByteSize.h"
#include "llmmem/Support/TextFile.h"
#include "llmmem/Targets/Targets.h"
#include "llmmem/Transforms/Parallelize.h"
#include "llmmem/Transforms/PipelineStages.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace llmmem;

llvm::Error llmmem::checkAutoMesh(const CheckpointPipelineOptions &options,
                                  llvm::function_ref<std::string(StringRef)> spell) {
  std::string mesh = spell("mesh") + "=auto";
  if (options.topology.empty())
    return llvm::createStringError(mesh +
                                   " chooses for the devices of a topology; give one, as in " +
                                   spell("topology") + "=cluster.json");
  llvm::Expected<Topology> topology = loadTopology(options.topology);
  if (!topology)
    return llvm::createStringError(spell("topology") + ": " + llvm::toString(topology.takeError()));
  const bool isNone = options.devices.hasValue() && options.devices == 0;
  if (isNone || options.devices < 0 || options.devices > topology->numDevices())
    return llvm::createStringError(spell("devices") + ": expected 1 to " +
                                   llvm::Twine(topology->numDevices()) +
                                   ", the devices of the topology");
  if (options.policy.hasValue() || options.budget == "min")
    return llvm::createStringError(mesh + " compares plans under a budget in bytes; leave " +
                                   spell("policy") + " and " + spell("budget") + "=min out");
  if (options.device.hasValue())
    return llvm::createStringError(mesh + " takes its devices from " + spell("topology") +
                                   "; leave " + spell("device") + " out");
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// From options to a search, and back
//===----------------------------------------------------------------------===//

/// Returns the devices of each stage's ranks.
static llvm::SmallVector<SharedDevices> devicesOfStages(const Strategy &strategy,
                                                        const Topology &topology) {
  int64_t ranks = strategy.ranksOfStage();
  return llvm::map_to_vector(llvm::seq(strategy.pp), [&](int64_t stage) {
    return topology.devicesOf(stage * ranks, ranks);
  });
}

/// Returns the options with which the pipeline makes the step of `strategy`, without budget and
/// devices.
static std::unique_ptr<CheckpointPipelineOptions>
optionsOf(const Strategy &strategy, const CheckpointPipelineOptions &given) {
  std::unique_ptr<CheckpointPipelineOptions> options = copyOf(given);
  options->mesh = strategy.mesh();
  options->zero = strategy.zeroStage;
  options->sequenceParallel = strategy.sequenceParallel;
  options->microBatches = strategy.microBatches;
  if (strategy.pp > 1)
    options->pipeline = planning::nameOf(strategy.schedule).str();
  if (strategy.chunks > 1)
    options->chunks = strategy.chunks;
  return options;
}

/// Returns the same for the devices of `request`, which may differ between stages.
static std::unique_ptr<CheckpointPipelineOptions>
optionsOf(const Strategy &strategy, const SearchRequest &request,
          const CheckpointPipelineOptions &given) {
  std::unique_ptr<CheckpointPipelineOptions> options = optionsOf(strategy, given);
  llvm::SmallVector<std::string> tables, budgets;
  for (SharedDevices devices : devicesOfStages(strategy, request.topology)) {
    tables.push_back(given.topology.getValue() + "#" + std::to_string(devices.kind));
    budgets.push_back(std::to_string(request.budget.value_or(devices.memory)));
  }
  options->device = llvm::join(tables, ",");
  options->budget = llvm::join(budgets, ",");
  return options;
}

/// Returns the request of `plan-checkpoints`, which is checked already.
static StepSettings settingsOf(const CheckpointPipelineOptions &options) {
  StepSettings settings;
  auto asWritten = [](StringRef option) { return option.str(); };
  std::unique_ptr<CheckpointPipelineOptions> plan = copyOf(options);
  if (plan->budget.empty())
    plan->budget = "1GB";
  settings.request = llvm::cantFail(readCheckpointRequest(planOptions(*plan), asWritten));
  settings.bucketBytes = llvm::cantFail(parseBucketBytes(options.bucketBytes));
  settings.groupsLossHead = options.lossChunk != "apart";
  if (options.mlpChunk != "apart")
    settings.mlpChunk = llvm::cantFail(parseChunkRequest(options.mlpChunk.getValue()));
  settings.groupsKernels = options.kernels == KernelGrouping::Grouped;
  settings.usesLibrary = productsOf(options) == MatmulSource::Library;
  return settings;
}

static StrategyPins pinsOf(const CheckpointPipelineOptions &options) {
  StrategyPins pins;
  if (options.zero.hasValue())
    pins.zeroStage = options.zero;
  if (options.microBatches.hasValue())
    pins.microBatches = options.microBatches;
  if (options.sequenceParallel.hasValue())
    pins.sequenceParallel = options.sequenceParallel;
  if (options.pipeline.hasValue())
    pins.schedule = planning::parsePipelineKind(options.pipeline);
  if (options.chunks.hasValue())
    pins.chunks = options.chunks;
  return pins;
}

/// Writes which parameters tp leaves whole, where that is not what `parallelize` does by itself.
static void pinLayout(ModuleOp module, const Strategy &strategy) {
  constexpr int64_t ranks = 2; // groups are the same for any number
  if (strategy.whole)
    keepWhole(module.lookupSymbol<func::FuncOp>("loss"), findLayoutGroups(module, ranks),
              strategy.whole);
}

/// Plans a copy of `module` with a strategy.
static llvm::Expected<WholePlan> planStrategy(ModuleOp module,
                                              const CheckpointPipelineOptions &given,
                                              const Strategy &strategy,
                                              const SearchRequest &request) {
  std::unique_ptr<CheckpointPipelineOptions> options = optionsOf(strategy, request, given);
  // This is enough to compare, where a second of work found plans of Llama-3-8B that take 2 %
  // longer; the chosen one is planned with what the user gives.
  options->seconds = std::min(given.seconds.getValue(), 4.0);
  options->emit = "";
  llvm::SmallVector<const DeviceModel *> tables;
  for (SharedDevices devices : devicesOfStages(strategy, request.topology))
    tables.push_back(&request.topology.kinds[devices.kind].table);
  OwningOpRef<ModuleOp> copy = module.clone();
  pinLayout(*copy, strategy);
  return planWhole(std::move(copy), *options, tables);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
class ChooseStrategy : public PassWrapper<ChooseStrategy, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ChooseStrategy)

  ChooseStrategy(const CheckpointPipelineOptions &given, std::shared_ptr<CheckpointOutcome> outcome)
      : options(copyOf(given)), outcome(std::move(outcome)) {}
  ChooseStrategy(const ChooseStrategy &other)
      : PassWrapper(other), options(copyOf(*other.options)), outcome(other.outcome) {}

  StringRef getName() const override { return "ChooseStrategy"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<llm::LlmDialect>();
    registerTargets(registry);
  }
  void runOnOperation() override {
    if (failed(run(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult run(ModuleOp module);
  FailureOr<SearchRequest> makeRequest(ModuleOp module) const;
  LogicalResult report(ModuleOp module, const SearchResult &result) const;
  LogicalResult failWithout(ModuleOp module, const SearchResult &result) const;
  LogicalResult planBest(ModuleOp module, const SearchRequest &request, const SearchResult &result);

  std::unique_ptr<CheckpointPipelineOptions> options;
  std::shared_ptr<CheckpointOutcome> outcome;
};
} // namespace

FailureOr<SearchRequest> ChooseStrategy::makeRequest(ModuleOp module) const {
  SearchRequest request;
  llvm::Expected<Topology> topology = loadTopology(options->topology);
  if (!topology)
    return emitError(module.getLoc()) << llvm::toString(topology.takeError());
  request.topology = std::move(*topology);
  request.devices =
      options->devices > 0 ? options->devices.getValue() : request.topology.numDevices();
  if (!options->budget.empty())
    request.budget = llvm::cantFail(parseByteSize(options->budget));
  request.pins = pinsOf(*options);
  request.settings = settingsOf(*options);
  request.refuse = [this](const Strategy &strategy) -> std::optional<std::string> {
    auto asWritten = [](StringRef option) { return option.str(); };
    const std::unique_ptr<CheckpointPipelineOptions> own = optionsOf(strategy, *options);
    for (auto check : {checkStrategy, checkEmit})
      if (llvm::Error error = check(*own, asWritten))
        return llvm::toString(std::move(error));
    return std::nullopt;
  };
  return request;
}

LogicalResult ChooseStrategy::report(ModuleOp module, const SearchResult &result) const {
  printSearch(result, llvm::errs());
  if (options->meshReport.empty())
    return success();
  std::string text = llvm::formatv("{0:2}\n", toJson(result));
  if (llvm::Error error = writeTextFile(options->meshReport, text))
    return emitError(module.getLoc()) << llvm::toString(std::move(error));
  return success();
}

static bool isEachRefused(const SearchResult &result) {
  return llvm::all_of(result.others, [](const StrategyOutcome &outcome) {
    return outcome.state == StrategyOutcome::State::Refused;
  });
}

/// Fails, and says what could be changed.
LogicalResult ChooseStrategy::failWithout(ModuleOp module, const SearchResult &result) const {
  if (isEachRefused(result)) {
    InFlightDiagnostic error = emitError(module.getLoc());
    error << "no strategy divides this model over " << result.devices << " devices";
    const auto most = llvm::max_element(
        result.refused, [](const auto &a, const auto &b) { return a.second < b.second; });
    if (most != result.refused.end())
      error << "; most are refused because " << most->first;
    if (result.dividing > 0)
      return error << "; " << result.dividing
                   << (result.dividing == 1 ? " device is" : " devices are")
                   << " possible (--devices=" << result.dividing << ")";
    return error << "; import it with another --batch";
  }
  if (outcome)
    outcome->noPlan = true;
  InFlightDiagnostic error = emitError(module.getLoc());
  error << (result.status == planning::Status::Infeasible ? "no strategy fits"
                                                          : "no strategy was found to fit")
        << " under " << describeBudgets(result) << " on each of " << result.devices << " devices; ";
  if (!result.reliefs.empty())
    error << "what would fit is listed above";
  else
    error << "take more devices";
  if (result.bytesBound > result.mostBudget)
    error << "; a smaller batch or sequence does not help, as parameters and state alone take "
          << formatByteSize(result.bytesBound) << " or more on some device";
  else
    error << ", or take a smaller batch or sequence";
  if (result.leastFound != INT64_MAX)
    error << ", or a budget of " << result.leastFound << " bytes";
  return error;
}

/// Makes the step of the best strategy that has a plan: a model of blocks may promise what the plan
/// of the whole step does not find. The last one's failure is that of the command.
LogicalResult ChooseStrategy::planBest(ModuleOp module, const SearchRequest &request,
                                       const SearchResult &result) {
  for (const StrategyOutcome &candidate : result.best) {
    const bool isLast = &candidate == &result.best.back();
    std::string why;
    ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
      if (isLast || diagnostic.getSeverity() != DiagnosticSeverity::Error)
        return failure();
      if (why.empty())
        why = diagnostic.str();
      return success();
    });
    auto attempt = std::make_shared<CheckpointOutcome>();
    attempt->reportStream = outcome->reportStream;
    if (!isLast)
      attempt->texts = CheckpointOutcome::Texts::HeldBack;
    OwningOpRef<ModuleOp> copy = module.clone();
    pinLayout(*copy, candidate.strategy);
    PassManager passes(module.getContext());
    buildCheckpointPipeline(passes, *optionsOf(candidate.strategy, request, *options), attempt);
    const bool isPlanned = succeeded(passes.run(*copy));
    if (isPlanned)
      if (llvm::Error error = attempt->writeHeldBack())
        return emitError(module.getLoc()) << llvm::toString(std::move(error));
    if (outcome && (isPlanned || isLast))
      outcome->add(*attempt);
    if (isPlanned) {
      module.getBodyRegion().takeBody(copy->getBodyRegion());
      module->setAttrs((*copy)->getAttrDictionary());
      return success();
    }
    if (!isLast)
      llvm::errs() << "without a plan  " << candidate.strategy.flags()
                   << ", the next is taken: " << why << "\n";
  }
  return failure();
}

LogicalResult ChooseStrategy::run(ModuleOp module) {
  FailureOr<SearchRequest> request = makeRequest(module);
  if (failed(request))
    return failure();
  request->planWhole = [&](const Strategy &strategy) {
    return planStrategy(module, *options, strategy, *request);
  };
  FailureOr<SearchResult> result = searchStrategies(module, *request);
  if (failed(result))
    return failure();
  if (result->best.empty() && !isEachRefused(*result))
    result->reliefs = findStrategyReliefs(module, *request);
  if (failed(report(module, *result)))
    return failure();
  if (result->best.empty())
    return failWithout(module, *result);
  if (options->meshOnly)
    return success();
  return planBest(module, *request, *result);
}

std::unique_ptr<Pass> llmmem::createChooseStrategy(const CheckpointPipelineOptions &options,
                                                   std::shared_ptr<CheckpointOutcome> outcome) {
  return std::make_unique<ChooseStrategy>(options, std::move(outcome));
}
