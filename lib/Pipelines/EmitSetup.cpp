//===- EmitSetup.cpp - A plan, as the nearest setup of another framework --------===//

#include "EmitSetup.h"
#include "ChooseStrategy.h"
#include "Frameworks.h"
#include "PlanWhole.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Support/ByteSize.h"
#include "llmmem/Transforms/Parallelize.h"
#include "llmmem/Transforms/PipelineStages.h"
#include "llmmem/Transforms/StageOptions.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace llmmem;

/// Returns the strategy that the options give, or nothing where the mesh has other axes.
static std::optional<Strategy> strategyOf(const CheckpointPipelineOptions &options) {
  Strategy strategy;
  strategy.zeroStage = options.zero;
  strategy.sequenceParallel = options.sequenceParallel;
  strategy.microBatches = options.microBatches;
  if (options.mesh.empty())
    return strategy;
  for (const MeshAxis &axis : llvm::cantFail(parseMesh(options.mesh))) {
    int64_t *size = axis.name == kPipelineAxis         ? &strategy.pp
                    : axis.name == kDataParallelAxis   ? &strategy.dp
                    : axis.name == kTensorParallelAxis ? &strategy.tp
                                                       : nullptr;
    if (!size)
      return std::nullopt;
    *size = axis.size;
  }
  strategy.schedule = planning::parsePipelineKind(options.pipeline).value_or(strategy.schedule);
  strategy.chunks = planning::chunksOf(strategy.schedule, options.chunks);
  return strategy;
}

llvm::Error llmmem::checkEmit(const CheckpointPipelineOptions &options,
                              llvm::function_ref<std::string(StringRef)> spell) {
  if (options.emit.empty() && !options.emit.hasValue())
    return llvm::Error::success();
  const StringRef name = options.emitMeant().first;
  if (!findFramework(name))
    return llvm::createStringError(spell("emit") + ": '" + name +
                                   "' is no framework that is written for; expected " +
                                   frameworkNames() + ", and a file, as in megatron:flags.txt");
  if (options.mesh != kAutoMesh && !strategyOf(options))
    return llvm::createStringError(spell("emit") +
                                   " writes meshes of pp, dp and tp; leave the "
                                   "other axes of " +
                                   spell("mesh") + " out");
  return llvm::Error::success();
}

namespace {
struct KeepModule : PassWrapper<KeepModule, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(KeepModule)
  explicit KeepModule(std::shared_ptr<KeptModule> kept) : kept(std::move(kept)) {}
  StringRef getName() const override { return "KeepModule"; }
  void runOnOperation() override {
    markAllAnalysesPreserved();
    kept->module = getOperation().clone();
  }
  std::shared_ptr<KeptModule> kept;
};

/// One policy of the framework, and what it takes.
struct Candidate {
  std::string policy;
  WholePlan plan;
};

class EmitSetup : public PassWrapper<EmitSetup, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(EmitSetup)
  EmitSetup(const CheckpointPipelineOptions &given, std::shared_ptr<KeptModule> kept,
            std::shared_ptr<CheckpointOutcome> outcome)
      : options(copyOf(given)), kept(std::move(kept)), outcome(std::move(outcome)) {}
  EmitSetup(const EmitSetup &other)
      : PassWrapper(other), options(copyOf(*other.options)), kept(other.kept),
        outcome(other.outcome) {}
  StringRef getName() const override { return "EmitSetup"; }
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(run(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult run(ModuleOp planned);
  LogicalResult loadTables();
  std::vector<Candidate> planAll(const Framework &framework, const FrameworkSetup &setup) const;
  int64_t limitOf(const WholePlan &own) const;

  std::unique_ptr<CheckpointPipelineOptions> options;
  std::shared_ptr<KeptModule> kept;
  std::shared_ptr<CheckpointOutcome> outcome;
  std::vector<DeviceModel> tables;
};
} // namespace

LogicalResult EmitSetup::loadTables() {
  tables.clear();
  const int64_t stages = strategyOf(*options)->pp;
  for (int64_t stage = 0; stage < stages; ++stage) {
    llvm::Expected<DeviceModel> table = loadDeviceModel(partOfStage(options->device, stage));
    if (!table)
      return emitError(UnknownLoc::get(&getContext())) << llvm::toString(table.takeError());
    tables.push_back(std::move(*table));
  }
  return success();
}

/// Returns the bytes that a setup is to fit: the least budget of a stage, or the plan's own.
int64_t EmitSetup::limitOf(const WholePlan &own) const {
  std::optional<int64_t> least;
  for (StringRef part : partsOfStages(options->budgetMeant()))
    if (!part.empty())
      if (llvm::Expected<int64_t> bytes = parseByteSize(part))
        least = std::min(least.value_or(*bytes), *bytes);
  return least.value_or(own.bytes);
}

/// Returns the blocks of each chunk of a pipeline as `--stages` has them, empty where they do not
/// divide: then they are cut as those of plans are.
static std::string equalStages(const FrameworkSetup &setup) {
  const int64_t blocks = setup.blocksOfChunk(), chunks = setup.strategy.pp * setup.strategy.chunks;
  if (setup.strategy.pp == 1 || blocks == 0)
    return "";
  return llvm::join(std::vector<std::string>(chunks, std::to_string(blocks)), ",");
}

/// Plans every policy, without a budget and over equal stages. Those that a pass refuses are left
/// out, and of those that do the same the first stays.
std::vector<Candidate> EmitSetup::planAll(const Framework &framework,
                                          const FrameworkSetup &setup) const {
  const Strategy &strategy = setup.strategy;
  const int64_t blocksOfStage = (setup.blocks + strategy.pp - 1) / strategy.pp;
  std::vector<Candidate> candidates;
  SmallVector<const DeviceModel *> pointers =
      llvm::map_to_vector(tables, [](const DeviceModel &table) { return &table; });
  for (const std::string &policy : framework.policies(blocksOfStage)) {
    std::unique_ptr<CheckpointPipelineOptions> own = copyOf(*options);
    own->emit = "";
    own->budget = "";
    own->seconds = 0.1; // a policy that looks at no budget searches nothing
    own->policy = policy;
    own->zero = strategy.zeroStage;
    own->sequenceParallel = strategy.sequenceParallel;
    own->pipeline = planning::nameOf(strategy.schedule).str();
    own->stages = equalStages(setup);
    llvm::Expected<WholePlan> plan =
        planWhole(OwningOpRef<ModuleOp>(kept->module->clone()), *own, pointers);
    if (!plan) {
      llvm::consumeError(plan.takeError());
      continue;
    }
    const bool isKnown = llvm::any_of(candidates, [&](const Candidate &other) {
      return other.plan.bytes == plan->bytes && other.plan.ns == plan->ns;
    });
    if (plan->refusal.empty() && !isKnown)
      candidates.push_back({policy, *plan});
  }
  return candidates;
}

static const Candidate &nearestOf(ArrayRef<Candidate> candidates, int64_t limit) {
  return *llvm::min_element(candidates, [&](const Candidate &a, const Candidate &b) {
    auto key = [&](const Candidate &it) {
      const bool fits = it.plan.bytes <= limit;
      return std::tuple(!fits, fits ? it.plan.ns : it.plan.bytes, it.plan.bytes);
    };
    return key(a) < key(b);
  });
}

static std::string lineOf(StringRef who, const WholePlan &plan, StringRef policy) {
  return llvm::formatv("{0,-12} {1,12} {2,12:F3} ms  {3}\n", who, formatByteSize(plan.bytes),
                       double(plan.ns) / 1e6, policy)
      .str();
}

/// Returns what people are told: the plan, the setup, and what differs in how ranks share the work.
static std::string comparisonOf(const Framework &framework, const WholePlan &own,
                                StringRef ownPolicy, const Candidate &nearest, int64_t limit,
                                const Strategy &asked, const Strategy &taken) {
  std::string text = "nearest setup of " + framework.name.str() + ", modelled as the plan is\n";
  text += lineOf("this plan", own, ownPolicy);
  text += lineOf(framework.name, nearest.plan, nearest.policy);
  if (nearest.plan.bytes > limit)
    text += llvm::formatv("none of its policies fits {0}: this one takes the fewest bytes\n",
                          formatByteSize(limit))
                .str();
  if (asked != taken)
    text += llvm::formatv("it has no {0}; {1} is nearest\n", asked.flags(), taken.flags()).str();
  return text;
}

static int64_t countBlocks(ModuleOp module) {
  llvm::DenseSet<int64_t> blocks;
  module.walk([&](Operation *op) {
    if (std::optional<int64_t> block = getBlock(op))
      blocks.insert(*block);
  });
  return static_cast<int64_t>(blocks.size());
}

/// Returns the shape of the first input, which is sequences of tokens.
static std::pair<int64_t, int64_t> sizesOf(ModuleOp module) {
  for (func::FuncOp function : module.getOps<func::FuncOp>())
    for (BlockArgument argument : function.getArguments())
      if (auto type = dyn_cast<RankedTensorType>(argument.getType());
          type && type.getRank() >= 2 && getRole(argument) == llm::Role::Input)
        return {type.getDimSize(0), type.getDimSize(1)};
  return {1, 1};
}

static std::string commented(StringRef text, StringRef comment) {
  std::string lines;
  for (StringRef line : llvm::split(text.rtrim('\n'), '\n'))
    lines += comment.str() + line.str() + "\n";
  return lines;
}

LogicalResult EmitSetup::run(ModuleOp planned) {
  auto [name, file] = options->emitMeant();
  const Framework &framework = *findFramework(name);
  if (failed(loadTables()))
    return failure();
  SmallVector<const DeviceModel *> pointers =
      llvm::map_to_vector(tables, [](const DeviceModel &table) { return &table; });
  FailureOr<WholePlan> own = measurePlan(planned, pointers);
  if (failed(own))
    return failure();
  const Strategy asked = *strategyOf(*options), taken = framework.nearest(asked);
  FrameworkSetup setup;
  setup.strategy = taken;
  std::tie(setup.batch, setup.sequence) = sizesOf(*kept->module);
  setup.blocks = countBlocks(*kept->module);
  const std::vector<Candidate> candidates = planAll(framework, setup);
  if (candidates.empty())
    return emitError(planned.getLoc())
           << "no policy of " << framework.name << " can be planned over these ranks ("
           << taken.flags() << "); leave --emit out, or take another framework";
  const int64_t limit = limitOf(*own);
  const Candidate &nearest = nearestOf(candidates, limit);
  setup.policy = *planning::parsePolicy(nearest.policy);
  const std::string comparison =
      comparisonOf(framework, *own, options->policyMeant(), nearest, limit, asked, taken);
  outcome->print(comparison);
  const std::string header =
      framework.comment.empty() ? std::string() : commented(comparison, framework.comment);
  if (llvm::Error error = outcome->write(file, header + framework.write(setup)))
    return emitError(planned.getLoc()) << llvm::toString(std::move(error));
  return success();
}

std::unique_ptr<Pass> llmmem::createKeepModule(std::shared_ptr<KeptModule> kept) {
  return std::make_unique<KeepModule>(std::move(kept));
}

std::unique_ptr<Pass> llmmem::createEmitSetup(const CheckpointPipelineOptions &options,
                                              std::shared_ptr<KeptModule> kept,
                                              std::shared_ptr<CheckpointOutcome> outcome) {
  if (!outcome)
    outcome = std::make_shared<CheckpointOutcome>();
  return std::make_unique<EmitSetup>(options, std::move(kept), std::move(outcome));
}
