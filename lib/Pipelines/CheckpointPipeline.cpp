//===- CheckpointPipeline.cpp - From a model to a verified plan ------------===//

#include "llmmem/Pipelines/CheckpointPipeline.h"
#include "ChooseStrategy.h"
#include "EmitSetup.h"
#include "llmmem/Bufferization/Passes.h"
#include "llmmem/Device/DeviceModel.h"
#include "llmmem/Support/ByteSize.h"
#include "llmmem/Transforms/Parallelize.h"
#include "llmmem/Transforms/PipelineStages.h"
#include "llmmem/Transforms/StageOptions.h"
#include "llmmem/Transforms/TiledPasses.h"
#include "mlir/Pass/PassRegistry.h"

using namespace llmmem;

//===----------------------------------------------------------------------===//
// What the options mean
//===----------------------------------------------------------------------===//

static bool isLeastBudget(const CheckpointPipelineOptions &options) {
  return options.budget == "min";
}

/// Returns whether something lies on the host between steps.
static bool livesOnHost(const CheckpointPipelineOptions &options) {
  return options.optimizerOn == StatePlace::Host || options.parametersOn == StatePlace::Host;
}

static bool usesHost(const CheckpointPipelineOptions &options) {
  return !options.hostBudget.empty() || livesOnHost(options);
}

static bool groupsLossHead(const CheckpointPipelineOptions &options) {
  return options.lossChunk != "apart";
}

static bool groupsFeedForward(const CheckpointPipelineOptions &options) {
  return options.mlpChunk != "apart";
}

std::string CheckpointPipelineOptions::policyMeant() const {
  if (isLeastBudget(*this))
    return "least-peak";
  if (policy.hasValue() || !policy.empty())
    return policy;
  return budget.hasValue() || !budget.empty() ? "budget" : "none";
}

std::pair<llvm::StringRef, llvm::StringRef> CheckpointPipelineOptions::emitMeant() const {
  auto [name, file] = llvm::StringRef(emit.getValue()).split(':');
  return {name, file.empty() ? "-" : file};
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

PlanCheckpointsOptions llmmem::planOptions(const CheckpointPipelineOptions &options) {
  auto plan = options.of<PlanCheckpointsOptions>();
  plan.policy = options.policyMeant();
  plan.budget = options.budgetMeant();
  plan.chunk = groupsLossHead(options) ? options.lossChunk.getValue() : "auto";
  // A matmul with its epilogue is a group like any other.
  if (options.kernels == KernelGrouping::Apart)
    plan.epilogues = Epilogues::Separate;
  // Without a budget of the host, only what moves state there takes the link.
  if (options.hostBudget.empty() && livesOnHost(options)) {
    const PlanCheckpointsOptions unset;
    plan.link = unset.link;
    plan.linkLatency = unset.linkLatency;
  }
  plan.failureReport = options.memoryReportJson;
  if (options.explain.hasValue() && options.explain.empty())
    plan.explain = "all";
  return plan;
}

//===----------------------------------------------------------------------===//
// What is wrong with them
//===----------------------------------------------------------------------===//

/// Returns the ranks along an axis of the mesh; nothing without it, or where the mesh is wrong.
static std::optional<int64_t> sizeOfAxis(const CheckpointPipelineOptions &options,
                                         llvm::StringRef name) {
  llvm::Expected<llvm::SmallVector<MeshAxis>> mesh = parseMesh(options.mesh);
  if (!mesh) {
    llvm::consumeError(mesh.takeError());
    return std::nullopt;
  }
  for (const MeshAxis &axis : *mesh)
    if (axis.name == name)
      return axis.size;
  return std::nullopt;
}

/// Returns whether ranks have copies of parameters, whose gradients they sum.
static bool hasCopies(const CheckpointPipelineOptions &options) {
  return llvm::any_of(std::initializer_list<llvm::StringRef>{kDataParallelAxis, kExpertParallelAxis,
                                                             kContextParallelAxis},
                      [&](llvm::StringRef axis) { return sizeOfAxis(options, axis).has_value(); });
}

static std::optional<int64_t> stagesOf(const CheckpointPipelineOptions &options) {
  return sizeOfAxis(options, kPipelineAxis);
}

static planning::PipelineShape shapeOf(const CheckpointPipelineOptions &options, int64_t stages) {
  planning::PipelineShape shape;
  shape.kind = planning::parsePipelineKind(options.pipeline).value_or(shape.kind);
  shape.stages = stages;
  shape.microBatches = options.microBatches;
  shape.chunks = planning::chunksOf(shape.kind, options.chunks);
  return shape;
}

static llvm::Error checkPipeline(const CheckpointPipelineOptions &options,
                                 llvm::function_ref<std::string(llvm::StringRef)> spell) {
  if (options.microBatches < 1)
    return llvm::createStringError(spell("micro-batches") + ": " +
                                   llvm::Twine(options.microBatches) +
                                   " is no number of micro-batches; expected 1 or more");
  if (!planning::parsePipelineKind(options.pipeline))
    return llvm::createStringError(spell("pipeline") + ": '" + options.pipeline +
                                   "' is no schedule of a pipeline; expected " +
                                   planning::pipelineKindNames());
  llvm::Expected<llvm::SmallVector<int64_t>> blocks = parseStages(options.stages);
  if (!blocks)
    return llvm::createStringError(spell("stages") + ": " + llvm::toString(blocks.takeError()));
  if (options.mesh == kAutoMesh)
    return blocks->empty()
               ? llvm::Error::success()
               : llvm::createStringError(spell("stages") +
                                         " cuts the stages of a mesh "
                                         "that is given, as in " +
                                         spell("mesh") + "=pp=" + llvm::Twine(blocks->size()));
  std::optional<int64_t> stages = stagesOf(options);
  if (!stages && !blocks->empty())
    return llvm::createStringError(spell("stages") +
                                   " is of the stages of a mesh; give them, as "
                                   "in " +
                                   spell("mesh") + "=pp=" + llvm::Twine(blocks->size()));
  if (!stages && (options.pipeline.hasValue() || options.chunks.hasValue()))
    return llvm::createStringError(
        spell(options.pipeline.hasValue() ? "pipeline" : "pipeline-chunks") +
        " is of the stages of a mesh; give them, as in " + spell("mesh") + "=pp=2");
  planning::PipelineShape shape = shapeOf(options, stages.value_or(1));
  if (options.chunks.hasValue() && shape.kind != planning::PipelineKind::Interleaved)
    shape.chunks = options.chunks;
  if (std::optional<std::string> error = stages ? planning::checkShape(shape) : std::nullopt)
    return llvm::createStringError(spell("pipeline") + ": " + *error);
  return llvm::Error::success();
}

static llvm::Error checkMesh(const CheckpointPipelineOptions &options,
                             llvm::function_ref<std::string(llvm::StringRef)> spell) {
  if (options.zero < 0 || options.zero > 3)
    return llvm::createStringError(spell("zero") + ": " + llvm::Twine(options.zero) +
                                   " is no stage of ZeRO; expected 0, 1, 2 or 3");
  if (options.mesh == kAutoMesh)
    return checkAutoMesh(options, spell);
  for (const llvm::cl::Option *option : {static_cast<const llvm::cl::Option *>(&options.topology),
                                         static_cast<const llvm::cl::Option *>(&options.devices),
                                         static_cast<const llvm::cl::Option *>(&options.meshReport),
                                         static_cast<const llvm::cl::Option *>(&options.meshOnly)})
    if (option->getNumOccurrences() > 0)
      return llvm::createStringError(spell(option->ArgStr) + " is of " + spell("mesh") + "=auto");
  if (options.mesh.hasValue() || !options.mesh.empty()) {
    llvm::Expected<llvm::SmallVector<MeshAxis>> mesh = parseMesh(options.mesh);
    if (!mesh)
      return llvm::createStringError(spell("mesh") + ": " + llvm::toString(mesh.takeError()));
    if (options.zero != 0 && !hasCopies(options))
      return llvm::createStringError(spell("zero") + " splits over dp; add it, as in " +
                                     spell("mesh") + "=dp=2," + options.mesh);
    if (options.sequenceParallel && !sizeOfAxis(options, kTensorParallelAxis))
      return llvm::createStringError(spell("sequence-parallel") +
                                     " splits over tp; add it, as in " + spell("mesh") + "=" +
                                     options.mesh + ",tp=2");
    return llvm::Error::success();
  }
  if (options.sequenceParallel)
    return llvm::createStringError(spell("sequence-parallel") +
                                   " splits over ranks; give them, as in " + spell("mesh") +
                                   "=tp=4");
  if (options.zero != 0)
    return llvm::createStringError(spell("zero") + " splits over ranks; give them, as in " +
                                   spell("mesh") + "=dp=4");
  return llvm::Error::success();
}

/// Checks what ranks of dp do together; the mesh is none, or right.
static llvm::Error checkDataParallel(const CheckpointPipelineOptions &options,
                                     llvm::function_ref<std::string(llvm::StringRef)> spell) {
  if (llvm::Expected<int64_t> bytes = parseBucketBytes(options.bucketBytes); !bytes)
    return llvm::createStringError(spell("bucket-bytes") + ": " +
                                   llvm::toString(bytes.takeError()));
  llvm::Expected<bool> server = parseDataParallel(options.dataParallel);
  if (!server)
    return llvm::createStringError(spell("data-parallel") + ": " +
                                   llvm::toString(server.takeError()));
  if (options.mesh == kAutoMesh)
    return *server ? llvm::createStringError(spell("data-parallel") + "=server is not among what " +
                                             spell("mesh") + "=auto chooses from; give a mesh")
                   : llvm::Error::success();
  for (auto [name, isGiven] : {std::pair("bucket-bytes", options.bucketBytes.hasValue()),
                               std::pair("data-parallel", options.dataParallel.hasValue())})
    // What --mesh=auto compares has dp or not; a topology is given to it alone.
    if (isGiven && options.topology.empty() && !hasCopies(options))
      return llvm::createStringError(spell(name) + " is of ranks of dp; give them, as in " +
                                     spell("mesh") + "=dp=2" +
                                     (options.mesh.empty() ? "" : "," + options.mesh.getValue()));
  if (*server && options.zero != 0)
    return llvm::createStringError(
        spell("data-parallel") + "=server and " + spell("zero") +
        " exclude each other: the server has the whole state; leave one of them out");
  if (*server && stagesOf(options))
    return llvm::createStringError(spell("data-parallel") +
                                   "=server and pp do not go together; take one of them");
  return llvm::Error::success();
}

/// Checks what updates on the host depend on: state there, and the rate of the host.
static llvm::Error checkUpdates(const CheckpointPipelineOptions &options,
                                llvm::function_ref<std::string(llvm::StringRef)> spell) {
  std::string asked = spell("update-on") + "=host";
  if (options.optimizerOn != StatePlace::Host)
    return llvm::createStringError(asked + ": an update runs where its state lies; give " +
                                   spell("optimizer-on") + "=host with it");
  llvm::Expected<DeviceModel> device = loadDeviceModel(options.device);
  if (!device)
    return llvm::createStringError(spell("device") + ": " + llvm::toString(device.takeError()));
  if (device->hostTime(0))
    return llvm::Error::success();
  return llvm::createStringError(asked + ": the table of '" + device->name +
                                 "' does not say what its host moves; give it \"host\": "
                                 "{\"bytes_per_ns\": 50}");
}

/// Checks what a budget of the host goes with; its text is checked with the request's.
static llvm::Error checkHost(const CheckpointPipelineOptions &options,
                             llvm::function_ref<std::string(llvm::StringRef)> spell) {
  if (options.hostBudget.hasValue() && options.hostBudget.empty())
    return llvm::createStringError(spell("host-budget") + ": " +
                                   llvm::toString(parseByteSize("").takeError()));
  if (options.linkLatency.hasValue() && options.linkLatency < 0)
    return llvm::createStringError(spell("link-latency") + ": expected a number of ns, 0 or more");
  bool isOnHost = livesOnHost(options);
  if (options.updateOn == StatePlace::Host)
    if (llvm::Error error = checkUpdates(options, spell))
      return error;
  if (!usesHost(options))
    return llvm::Error::success();
  std::string asked = options.optimizerOn == StatePlace::Host    ? spell("optimizer-on") + "=host"
                      : options.parametersOn == StatePlace::Host ? spell("parameters-on") + "=host"
                                                                 : spell("host-budget");
  if (options.mesh == kAutoMesh || stagesOf(options))
    return llvm::createStringError(asked + " and " + spell("mesh") + "=" + options.mesh +
                                   " do not go together yet: plan one stage, or leave it out");
  if (options.arenaBufferize)
    return llvm::createStringError(spell("arena-bufferize") +
                                   " writes views of one arena; leave it or " + asked + " out");
  if (isOnHost && options.overlap)
    return llvm::createStringError(asked + " and " + spell("overlap") +
                                   " do not go together yet: take one of them");
  if (Result<planning::HostLink> link = planning::parseHostLink(options.link.getValue());
      !options.link.empty())
    return link ? llvm::Error::success()
                : llvm::createStringError(spell("link") + ": " + link.error());
  llvm::Expected<DeviceModel> device = loadDeviceModel(options.device);
  if (!device)
    return llvm::createStringError(spell("device") + ": " + llvm::toString(device.takeError()));
  if (device->linkTo(DeviceLink::To::Host))
    return llvm::Error::success();
  return llvm::createStringError(asked + ": the table of '" + device->name +
                                 "' has no link to a host; say what it moves, as in " +
                                 spell("link") + "=25GB/s");
}

/// Checks the request under the budget of one stage, or of all.
static llvm::Error checkRequest(const CheckpointPipelineOptions &options, llvm::StringRef budget,
                                llvm::function_ref<std::string(llvm::StringRef)> spell) {
  std::string chunk = spell("loss-chunk");
  PlanCheckpointsOptions plan = planOptions(options);
  plan.budget = isLeastBudget(options) ? std::string() : budget.str();
  llvm::Expected<CheckpointRequest> request = readCheckpointRequest(
      plan, [&](llvm::StringRef option) { return option == "chunk" ? chunk : spell(option); });
  if (request)
    return llvm::Error::success();
  std::string message = llvm::toString(request.takeError());
  if (llvm::StringRef(message).starts_with(chunk + ":"))
    message += "; or apart, to leave the loss and its gradients several ops";
  return llvm::createStringError(message);
}

MatmulSource llmmem::productsOf(const CheckpointPipelineOptions &options) {
  if (options.products != PlannedProducts::Auto)
    return options.products == PlannedProducts::Library ? MatmulSource::Library
                                                        : MatmulSource::Generated;
  const std::string &named = options.device.hasValue() ? options.device : options.topology;
  if (named.empty())
    return MatmulSource::Generated;
  for (llvm::StringRef part : partsOfStages(named)) {
    llvm::Expected<DeviceModel> device = loadDeviceModel(part);
    if (!device)
      llvm::consumeError(device.takeError());
    if (!device || device->libraryWorkspace == 0)
      return MatmulSource::Generated;
  }
  return MatmulSource::Library;
}

llvm::Error llmmem::checkStrategy(const CheckpointPipelineOptions &options,
                                  llvm::function_ref<std::string(llvm::StringRef)> spell) {
  if (llvm::Error error = checkMesh(options, spell))
    return error;
  if (llvm::Error error = checkDataParallel(options, spell))
    return error;
  return checkPipeline(options, spell);
}

llvm::Error llmmem::checkOptions(const CheckpointPipelineOptions &options,
                                 llvm::function_ref<std::string(llvm::StringRef)> spell) {
  if (groupsFeedForward(options))
    if (llvm::Expected<ChunkRequest> chunk = parseChunkRequest(options.mlpChunk.getValue()); !chunk)
      return llvm::createStringError(spell("mlp-chunk") + ": " + llvm::toString(chunk.takeError()) +
                                     "; or apart, to leave feed-forwards several ops");
  if (isLeastBudget(options) && options.policy.hasValue())
    return llvm::createStringError(spell("budget") + "=min chooses for itself; leave " +
                                   spell("policy") + " out");
  if (llvm::Error error = checkStrategy(options, spell))
    return error;
  if (llvm::Error error = checkEmit(options, spell))
    return error;
  const bool fuses =
      options.epilogues != Epilogues::Auto && options.epilogues != Epilogues::Separate;
  if (options.kernels == KernelGrouping::Apart && fuses)
    return llvm::createStringError(
        spell("kernels") + "=apart makes each op a kernel of its own, and " + spell("epilogues") +
        " makes kernels of matmuls and what follows them; leave one of them out");
  // A pass without a budget has an empty one; a user who writes an empty one made a mistake.
  if (options.budget.hasValue() && options.budget.empty())
    return llvm::createStringError(spell("budget") + ": " +
                                   llvm::toString(parseByteSize("").takeError()));
  const int64_t stages = stagesOf(options).value_or(0);
  for (auto [name, option] :
       {std::pair<llvm::StringRef, llvm::StringRef>("budget", options.budget),
        std::pair<llvm::StringRef, llvm::StringRef>("device", options.device)})
    if (llvm::Error error = checkPartsOfStages(spell(name), option, stages))
      return error;
  if (llvm::Error error = checkHost(options, spell))
    return error;
  for (llvm::StringRef budget : partsOfStages(options.budget))
    if (llvm::Error error = checkRequest(options, budget, spell))
      return error;
  for (llvm::StringRef part : partsOfStages(options.device))
    if (llvm::Expected<DeviceModel> device = loadDeviceModel(part); !device)
      return llvm::createStringError(spell("device") + ": " + llvm::toString(device.takeError()));
  if (llvm::Expected<OpTable> table = OpTable::load(options.opTable); !table)
    return llvm::createStringError(spell("op-table") + ": " + llvm::toString(table.takeError()));
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// The passes
//===----------------------------------------------------------------------===//

/// Adds the passes from a program to the steps of one rank: training steps of a model, or what
/// another compiler made.
static void addModelPasses(mlir::OpPassManager &passes, const CheckpointPipelineOptions &options) {
  passes.addPass(createInlineCalls(options.of<InlineCallsOptions>()));
  if (!options.mesh.empty())
    passes.addPass(createParallelize(options.of<ParallelizeOptions>()));
  std::optional<int64_t> stages = stagesOf(options);
  if (options.microBatches > 1 || stages)
    passes.addPass(createSplitMicroBatches(options.of<SplitMicroBatchesOptions>()));
  if (stages) {
    auto build = options.of<BuildStagesOptions>();
    build.chunks = shapeOf(options, *stages).chunks;
    build.budget = options.budgetMeant();
    passes.addPass(createBuildStages(build));
  } else {
    DifferentiateOptions differentiate;
    differentiate.ifPresent = true;
    passes.addPass(createDifferentiate(differentiate));
  }
  if (options.arenaBufferize)
    passes.addPass(createGiveDestinations());
}

/// Adds the passes that decide what the ops of a step are, where its state lies, and which ops
/// share a kernel.
static void addStepPasses(mlir::OpPassManager &onStep, const CheckpointPipelineOptions &options) {
  onStep.addPass(createCarryCaptures());
  onStep.addPass(createDescribeOps(options.of<DescribeOpsOptions>()));
  onStep.addPass(createAdoptStep(options.of<AdoptStepOptions>()));
  if (groupsLossHead(options))
    onStep.addPass(createGroupLossHead());
  if (groupsFeedForward(options)) {
    GroupFeedForwardOptions group;
    group.chunk = options.mlpChunk;
    onStep.addPass(createGroupFeedForward(group));
  }
  // Then each of these ops reads a parameter from one copy of it.
  if (livesOnHost(options)) {
    auto move = options.of<MoveStateToHostOptions>();
    move.optimizer = options.optimizerOn == StatePlace::Host;
    move.parameters = options.parametersOn == StatePlace::Host;
    move.updates = options.updateOn == StatePlace::Host;
    onStep.addPass(createMoveStateToHost(move));
  }
  if (options.kernels == KernelGrouping::Grouped)
    onStep.addPass(createGroupKernels());
  auto reserve = options.of<ReserveLibraryWorkspaceOptions>();
  reserve.matmuls = productsOf(options) == MatmulSource::Library;
  reserve.sums = options.collectives == CollectiveSource::Nccl;
  if (reserve.matmuls || reserve.sums)
    onStep.addPass(createReserveLibraryWorkspace(reserve));
}

/// Adds the plan, the step that obeys it, and the verifier. No clean-up runs between the last
/// two: what is verified is what is printed.
static void addPlanPasses(mlir::OpPassManager &onStep, const CheckpointPipelineOptions &options,
                          std::shared_ptr<CheckpointOutcome> outcome) {
  onStep.addPass(createAnnotateMemory(options.of<AnnotateMemoryOptions>()));
  onStep.addPass(createPlanCheckpoints(planOptions(options), outcome));
  onStep.addPass(createApplyCheckpoints());
  if (options.overlap)
    onStep.addPass(createStartCollectives());
  if (usesHost(options))
    onStep.addPass(createStartHostCopies());
  onStep.addPass(createVerifyPlan());
  onStep.addPass(createReportMemory(options.of<ReportMemoryOptions>(), std::move(outcome)));
}

void llmmem::buildCheckpointPipeline(mlir::OpPassManager &passes,
                                     const CheckpointPipelineOptions &options,
                                     std::shared_ptr<CheckpointOutcome> outcome) {
  if (options.mesh == kAutoMesh) {
    passes.addPass(createChooseStrategy(options, std::move(outcome)));
    return;
  }
  auto kept = std::make_shared<KeptModule>();
  if (!options.emit.empty())
    passes.addPass(createKeepModule(kept));
  addModelPasses(passes, options);
  mlir::OpPassManager &onStep = passes.nest<mlir::func::FuncOp>();
  addStepPasses(onStep, options);
  addPlanPasses(onStep, options, outcome);
  if (!options.emit.empty())
    passes.addPass(createEmitSetup(options, kept, outcome));
  if (stagesOf(options))
    passes.addPass(createCheckExchanges());
  if (options.arenaBufferize)
    passes.addPass(createArenaBufferize());
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
      "llmmem-checkpoint", "Plans the memory of a step under a budget, and verifies the plan",
      build, [](llvm::function_ref<void(const mlir::detail::PassOptions &)> show) {
        show(CheckpointPipelineOptions());
      });
}
