//===- StrategyReliefs.cpp - What would train where no strategy fits -------===//

#include "llmmem/Strategies/StrategyReliefs.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Transforms/StateOnHost.h"

using namespace mlir;
using namespace llmmem;
using llm::GradientLifetime;
using llm::LlmDialect;

/// A report of more devices than this would not be useful.
static constexpr int64_t kMostDevices = 4096;

namespace {
/// Describes one change of the step.
struct Change {
  llvm::StringRef flags;
  bool transientGradients = false;
  /// Both moments have this type, and no parameter has an f32 copy; null leaves them.
  Type state = {};
  Type moments = {}; // The same with the copies left.
  bool stateOnHost = false;
};
} // namespace

static llm::TrainingAttr change(llm::TrainingAttr training, const Change &change) {
  Builder builder(training.getContext());
  const Type moments = change.state ? change.state : change.moments;
  return llm::TrainingAttr::get(
      training.getContext(), training.getOptimizer(),
      change.transientGradients ? GradientLifetime::Transient : training.getGradients(),
      training.getBeta1(), training.getBeta2(), training.getEps(), training.getWeightDecay(),
      training.getClipNorm(), training.getMomentum(), training.getNesterov(),
      training.getBeta2Decay(), change.state ? builder.getBoolAttr(false) : training.getMaster(),
      moments ? TypeAttr::get(moments) : training.getMoments(), training.getLossScaling());
}

/// Returns the changes that this step does not have yet.
static std::vector<Change> changesOf(llm::TrainingAttr training, const SearchRequest &request) {
  Builder builder(training.getContext());
  const Type bf16 = builder.getBF16Type(), i8 = builder.getI8Type();
  const bool mayBeTransient = training.getGradients() == GradientLifetime::Resident &&
                              training.getClipNorm().getValueAsDouble() == 0;
  std::vector<Change> changes;
  if (mayBeTransient)
    changes.push_back({"llmmem-import --gradients transient", true});
  if (training.getOptimizer() == llm::OptimizerKind::AdamW && !training.getMoments()) {
    changes.push_back({.flags = "llmmem-import --optimizer-state int8", .moments = i8});
    changes.push_back(
        {.flags = "llmmem-import --master=false --optimizer-state bf16", .state = bf16});
    if (mayBeTransient)
      changes.push_back(
          {"llmmem-import --gradients transient --master=false --optimizer-state bf16", true,
           bf16});
  }
  if (!request.settings.request.overlap && !request.settings.host) {
    changes.push_back({.flags = "llmmem-opt --optimizer-on=host", .stateOnHost = true});
    if (mayBeTransient)
      changes.push_back({.flags = "llmmem-import --gradients transient, llmmem-opt "
                                  "--optimizer-on=host",
                         .transientGradients = true,
                         .stateOnHost = true});
  }
  return changes;
}

/// Searches without diagnostics and without plans of whole steps.
static std::optional<StrategyOutcome> bestOf(ModuleOp module, SearchRequest request) {
  ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
  request.planWhole = nullptr;
  FailureOr<SearchResult> result = searchStrategies(module, request);
  if (failed(result) || result->best.empty())
    return std::nullopt;
  return result->best.front();
}

static std::optional<StrategyOutcome> bestUnder(const Change &asked, ModuleOp module,
                                                SearchRequest request) {
  OwningOpRef<ModuleOp> copy = module.clone();
  auto training = copy->getOperation()->getAttrOfType<llm::TrainingAttr>(LlmDialect::kTraining);
  copy->getOperation()->setAttr(LlmDialect::kTraining, change(training, asked));
  if (asked.stateOnHost) {
    constexpr int64_t kBytesPerSecond = 25'000'000'000; // bytes per second, of PCIe 4
    request.settings.host = linkToHost({}, {}, request.topology.slowest().table)
                                .value_or(planning::HostLink{kBytesPerSecond, kBytesPerSecond, 0});
    request.settings.onHost.parameters = false;
    request.refuse = [before = std::move(request.refuse)](
                         const Strategy &strategy) -> std::optional<std::string> {
      if (strategy.pp > 1)
        return "state on the host is that of one stage";
      return before ? before(strategy) : std::nullopt;
    };
  }
  return bestOf(*copy, std::move(request));
}

/// Returns the fewest devices for which a strategy was found, among the doubles of those given.
static std::optional<StrategyRelief> moreDevices(ModuleOp module, SearchRequest request) {
  for (int64_t times = 2; request.devices * times <= kMostDevices; times *= 2) {
    SearchRequest larger = request;
    larger.devices = request.devices * times;
    for (DeviceKind &kind : larger.topology.kinds)
      kind.count *= times;
    if (std::optional<StrategyOutcome> best = bestOf(module, std::move(larger)))
      return StrategyRelief{std::to_string(request.devices * times) + " such devices",
                            std::move(*best)};
  }
  return std::nullopt;
}

std::vector<StrategyRelief> llmmem::findStrategyReliefs(ModuleOp module,
                                                        const SearchRequest &request) {
  std::vector<StrategyRelief> reliefs;
  auto training = module->getAttrOfType<llm::TrainingAttr>(LlmDialect::kTraining);
  for (const Change &change : changesOf(training, request))
    if (std::optional<StrategyOutcome> best = bestUnder(change, module, request))
      reliefs.push_back({change.flags.str(), std::move(*best)});
  if (std::optional<StrategyRelief> relief = moreDevices(module, request))
    reliefs.push_back(std::move(*relief));
  return reliefs;
}
