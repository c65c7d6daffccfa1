//===- CompiledStep.cpp - A planned step as a function to call -------------===//

#include "llmmem/Execution/CompiledStep.h"
#include "CudaProgram.h"
#include "DeviceBuffers.h"
#include "MissingProducts.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Analysis/Step.h"
#include "llmmem/Codegen/Emitter/KernelOpInterface.h"
#include "llmmem/Codegen/Gpu/HostCopyCalls.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Emulation/Lowering/Passes.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "llmmem/Pipelines/KernelPipelines.h"
#include "llmmem/Runtime/Gemm.h"
#include "llmmem/Targets/Targets.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include <chrono>

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

void llmmem::registerExecution(DialectRegistry &registry) {
  registry.insert<llm::LlmDialect, arith::ArithDialect, func::FuncDialect, gpu::GPUDialect,
                  LLVM::LLVMDialect, math::MathDialect, memref::MemRefDialect, nvgpu::NVGPUDialect,
                  NVVM::NVVMDialect, scf::SCFDialect, vector::VectorDialect>();
  registerTargets(registry);
  registerKernelModels(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

static RankedTensorType wholeOf(func::FuncOp step, unsigned argument) {
  auto whole = step.getArgAttrOfType<TypeAttr>(argument, LlmDialect::kWhole);
  return cast<RankedTensorType>(whole ? whole.getValue() : step.getArgument(argument).getType());
}

static Shard shardOf(func::FuncOp step, unsigned argument) {
  Shard shard;
  llvm::append_range(shard.shape, wholeOf(step, argument).getShape());
  auto mesh = step->getAttrOfType<llm::MeshAttr>(LlmDialect::kMesh);
  auto sharding = step.getArgAttrOfType<llm::ShardingAttr>(argument, LlmDialect::kSharding);
  auto parts = step.getArgAttrOfType<ArrayAttr>(argument, LlmDialect::kShard);
  if (!mesh)
    return shard;
  if (step->hasAttr(LlmDialect::kStage))
    shard.stages = mesh.getAxisBits(Builder(step.getContext()).getStrArrayAttr({"pp"}));
  if (auto server = step.getArgAttrOfType<ArrayAttr>(argument, LlmDialect::kServer))
    shard.server = mesh.getAxisBits(server);
  for (auto [number, axis, ranks] : llvm::enumerate(mesh.getNames(), mesh.getSizes())) {
    Shard::Axis split{ranks, -1};
    for (unsigned dimension = 0; sharding && dimension < sharding.getRank(); ++dimension)
      if (llvm::is_contained(sharding.getAxes(dimension), axis))
        split.dimension = dimension;
    if (split.dimension < 0 && !(parts && llvm::is_contained(parts, axis)))
      continue;
    shard.axes |= int64_t(1) << number;
    shard.parts *= ranks;
    shard.split.push_back(split);
  }
  for (unsigned dimension = 0; sharding && dimension < sharding.getRank(); ++dimension)
    shard.pieces.emplace_back(sharding.getPiecesOf(dimension));
  return shard;
}

static StepArgument describeArgument(func::FuncOp step, unsigned number) {
  auto name = step.getArgAttrOfType<StringAttr>(number, LlmDialect::kName);
  auto type = cast<RankedTensorType>(step.getArgument(number).getType());
  auto initial = step.getArgAttrOfType<FloatAttr>(number, LlmDialect::kInitial);
  return {.role = llm::readRole(step, number),
          .name = name ? name.str() : "",
          .type = type,
          .bytes = bytesOfType(type),
          .shard = shardOf(step, number),
          .whole = wholeOf(step, number),
          .initial = initial ? initial.getValueAsDouble() : 0.0,
          .transposed = step.getArgAttr(number, LlmDialect::kTransposed) != nullptr};
}

/// Returns the stages of a pipeline, or the function alone.
static SmallVector<func::FuncOp> stagesOf(func::FuncOp step) {
  if (!step->hasAttr(LlmDialect::kStage))
    return {step};
  return findStepFunctions(step->getParentOfType<ModuleOp>());
}

void CompiledStep::describe(func::FuncOp step) {
  if (auto mesh = step->getAttrOfType<llm::MeshAttr>(LlmDialect::kMesh))
    llvm::append_range(meshSizes, mesh.getSizes());
  resultInfo.resize(step.getNumResults());
  for (auto [info, type] : llvm::zip_equal(resultInfo, step.getResultTypes()))
    info = {cast<RankedTensorType>(type), bytesOfType(type), std::nullopt, {}};
  Operation *terminator = step.getBody().front().getTerminator();
  for (auto [info, value] : llvm::zip_equal(resultInfo, terminator->getOperands()))
    if (Operation *op = value.getDefiningOp())
      if (auto name = op->getAttrOfType<StringAttr>(LlmDialect::kName))
        info.name = name.str();
  for (unsigned number = 0; number < step.getNumArguments(); ++number) {
    argumentInfo.push_back(describeArgument(step, number));
    if (auto donated = step.getArgAttrOfType<IntegerAttr>(number, LlmDialect::kDonated))
      resultInfo[donated.getInt()].donatedArgument = number;
  }
  for (func::FuncOp stage : stagesOf(step))
    for (BlockArgument argument : stage.getArguments())
      for (auto [name, described] :
           {std::pair("ids", &idsOfStep), std::pair("pixels", &pixelsOfStep)})
        if (!*described && getName(argument) == name)
          *described = describeArgument(stage, argument.getArgNumber());
  arena = step->getAttrOfType<IntegerAttr>(LlmDialect::kArena).getInt();
  if (auto host = step->getAttrOfType<IntegerAttr>(LlmDialect::kHostArena))
    hostArena = host.getInt();
  takesHostArena = hostArena > 0;
  auto pipeline =
      step->getParentOfType<ModuleOp>()->getAttrOfType<DictionaryAttr>(LlmDialect::kPipeline);
  if (auto names = pipeline ? pipeline.getAs<ArrayAttr>("parameters") : ArrayAttr())
    for (StringRef name : names.getAsValueRange<StringAttr>())
      parametersOfStages.push_back(name.str());
}

/// Reads the `profile` attribute that `convert-step-to-kernels` has set on a call.
static KernelCall readProfiledCall(DictionaryAttr record) {
  auto text = [&](StringRef key) {
    auto value = record.getAs<StringAttr>(key);
    return value ? value.str() : std::string();
  };
  KernelCall call;
  call.kind = text("kind"), call.key = text("key"), call.name = text("name"),
  call.phase = text("phase");
  if (auto block = record.getAs<IntegerAttr>("block"))
    call.block = block.getInt();
  if (record.contains("work"))
    call.work = text("work");
  call.recomputed = record.getAs<BoolAttr>("recomputed").getValue();
  call.flops = record.getAs<IntegerAttr>("flops").getInt();
  call.bytes = record.getAs<IntegerAttr>("bytes").getInt();
  return call;
}

namespace {
struct LoweredStep {
  /// The host module has kernels as loops and the step that calls them; for a GPU it only launches.
  OwningOpRef<ModuleOp> host;
  std::vector<KernelCall> calls;
  CudaProgram kernels;
  std::vector<Location> products;
  std::vector<std::string> replaced;
  std::optional<Emulation> emulation;
  bool hasHostUpdates = false;
};
} // namespace

static ConvertStepToKernelsOptions conversionOf(const CompiledStep::Options &options) {
  ConvertStepToKernelsOptions conversion;
  conversion.function = options.function;
  conversion.poison = options.fillDeadBytes;
  conversion.profile = options.profile;
  conversion.products = options.libraryMatmuls ? MatmulSource::Library : MatmulSource::Generated;
  const llmmem_gemm_library *library = llmmem_find_gemm_library();
  conversion.bf16ByLibrary = library && library->bf16;
  bool isForGpu = options.cuda || options.emulate;
  conversion.target = isForGpu ? KernelTarget::Gpu : KernelTarget::Cpu;
  conversion.tensorCores = options.tensorCores.value_or(
      options.cuda ? tensorCoresOf(options.cuda->chip()) : TensorCores::Warp);
  conversion.tileSharing = options.tileSharing;
  return conversion;
}

/// Returns a copy of the planned module, converted without calls of the forms in `missing`.
static FailureOr<OwningOpRef<ModuleOp>>
convert(ModuleOp module, const CompiledStep::Options &options, ArrayRef<Attribute> missing) {
  OwningOpRef<ModuleOp> converted = module.clone();
  // Nothing calls the other functions of the module, and they may contain ops without a lowering.
  for (auto function : llvm::make_early_inc_range(converted->getOps<func::FuncOp>()))
    if (function.getName() != options.function)
      function.erase();
  if (!missing.empty())
    (*converted)
        ->setAttr(LlmDialect::kMissingProducts, ArrayAttr::get(module.getContext(), missing));
  PassManager manager(module.getContext());
  manager.addPass(createConvertStepToKernels(conversionOf(options)));
  if (failed(manager.run(*converted)))
    return failure();
  (*converted)->removeAttr(LlmDialect::kMissingProducts);
  return converted;
}

/// Before anything is compiled, the device's library is asked about each form that it would be
/// called for. What is missing is converted again, first without its epilogue, then without a call.
static FailureOr<OwningOpRef<ModuleOp>> convertForDevice(ModuleOp module,
                                                         const CompiledStep::Options &options,
                                                         std::vector<std::string> &replaced) {
  SmallVector<Attribute> missing;
  for (;;) {
    FailureOr<OwningOpRef<ModuleOp>> converted = convert(module, options, missing);
    bool mayReplace = options.cuda && options.libraryMatmuls && options.replacesMissing;
    if (failed(converted) || !mayReplace ||
        !findMissingProducts(**converted, *options.cuda, missing, replaced))
      return converted;
  }
}

/// Does not change the planned module.
static FailureOr<LoweredStep> lower(ModuleOp module, const CompiledStep::Options &options) {
  LoweredStep step;
  FailureOr<OwningOpRef<ModuleOp>> converted = convertForDevice(module, options, step.replaced);
  if (failed(converted))
    return failure();
  step.host = std::move(*converted);
  ModuleOp lowered = *step.host;
  lowered.lookupSymbol<func::FuncOp>(options.function).walk([&](func::CallOp call) {
    if (auto record = call->getAttrOfType<DictionaryAttr>(LlmDialect::kProfile))
      step.calls.push_back(readProfiledCall(record));
    step.hasHostUpdates |= isHostUpdate(call);
  });
  bool isForGpu = options.cuda || options.emulate;
  PassManager kernels(module.getContext());
  if (options.emulate)
    kernels.addPass(createLaunchLibraryProducts());
  if (isForGpu)
    kernels.addPass(createGpuKernelOutliningPass());
  if (options.cuda)
    buildGpuKernelsToNVVMPipeline(kernels, options.cuda->chip());
  if (options.emulate)
    buildEmulatedKernelsPipeline(kernels);
  if (failed(kernels.run(lowered)))
    return failure();
  if (options.cuda) {
    step.kernels = CudaProgram::takeFrom(lowered);
    if (auto products = lowered->getAttrOfType<ArrayAttr>(LlmDialect::kLibraryCalls))
      for (Attribute location : products)
        step.products.push_back(cast<LocationAttr>(location));
    lowered->removeAttr(LlmDialect::kLibraryCalls);
  }
  if (options.emulate)
    step.emulation = Emulation::takeFrom(lowered);
  return std::move(step);
}

/// The update after the micro-batches of a step has the arguments of the step.
LogicalResult CompiledStep::compileUpdate(ModuleOp module, const Options &options) {
  auto step = module.lookupSymbol<func::FuncOp>(options.function);
  auto number = step->getAttrOfType<IntegerAttr>(LlmDialect::kMicroBatches);
  SmallVector<func::FuncOp> functions = findStepFunctions(module);
  if (!number || step->hasAttr(LlmDialect::kStage) || functions.size() != 2 ||
      functions.front() != step)
    return success();
  if (functions.back().getArgumentTypes() != step.getArgumentTypes())
    return functions.back().emitError("has other arguments than @")
           << step.getName() << ", whose buffers it runs on; differentiate the model again";
  Options ofUpdate = options;
  ofUpdate.function = functions.back().getName().str();
  FailureOr<std::unique_ptr<CompiledStep>> compiled = compile(module, ofUpdate);
  if (failed(compiled))
    return failure();
  updating = std::move(*compiled);
  runs = number.getInt();
  arena = std::max(arena, updating->arena);
  hostArena = std::max(hostArena, updating->hostArena);
  this->functions += updating->functions;
  llvm::append_range(calls, updating->calls);
  llvm::append_range(replaced, updating->replaced);
  auto isKnown = [&](const StepResult &result) {
    return llvm::any_of(resultInfo, [&](const StepResult &known) {
      return known.donatedArgument == result.donatedArgument;
    });
  };
  for (const StepResult &result : updating->resultInfo)
    if (!isKnown(result))
      resultInfo.push_back(result);
  return success();
}

FailureOr<std::unique_ptr<CompiledStep>> CompiledStep::compile(ModuleOp module,
                                                               const Options &options) {
  if (options.libraryMatmuls && options.cuda && options.cuda->products().empty())
    return module.emitError("cannot call a library for matmuls: it was not opened");
  bool isOnCpu = !options.cuda && !options.emulate;
  if (options.libraryMatmuls && isOnCpu && !llmmem_find_gemm_library())
    return module.emitError("cannot call a library for matmuls: none was found when "
                            "llmmem was built");
  if (options.emulate && !emulation::isEmulatorBuilt())
    return module.emitError("cannot emulate a GPU: llmmem was built without Boost.Context "
                            "(libboost-context-dev)");
  if (options.emulate && options.profile)
    return module.emitError(
        "cannot be profiled on the emulator: its times say nothing about a GPU");
  auto begin = std::chrono::steady_clock::now();
  FailureOr<LoweredStep> lowered = lower(module, options);
  if (failed(lowered))
    return failure();
  std::unique_ptr<CompiledStep> step(new CompiledStep(module.getLoc()));
  step->calls = std::move(lowered->calls);
  for (auto function : lowered->host->getOps<func::FuncOp>())
    step->functions += !function.isExternal();
  step->describe(module.lookupSymbol<func::FuncOp>(options.function));
  step->emulation = std::move(lowered->emulation);
  NativeOptions native;
  native.processor = options.processor;
  // For a GPU the host only launches, except for its updates, and for the emulator each access is a
  // call.
  native.optimize =
      options.optimize && !options.emulate && (!options.cuda || lowered->hasHostUpdates);
  llvm::Error error =
      compileToNative(*lowered->host, options.function, native).moveInto(step->code);
  if (!error && options.cuda) {
    step->device = options.cuda;
    step->functions = lowered->kernels.kernels.size();
    step->products = std::move(lowered->products);
    step->replaced = std::move(lowered->replaced);
    error = options.cuda->load(lowered->kernels.ptx, lowered->kernels.kernels)
                .moveInto(step->functionOnDevice);
  }
  if (error)
    return module.emitError("cannot be compiled: ") << llvm::toString(std::move(error));
  if (failed(step->compileUpdate(module, options)))
    return failure();
  step->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return step;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

LogicalResult CompiledStep::run(StepMemory &memory) const {
  return runFunction(memory, memory.stepCall);
}

LogicalResult CompiledStep::runUpdate(StepMemory &memory) const {
  return updating ? updating->runFunction(memory, memory.updateCall) : success();
}

LogicalResult CompiledStep::runFunction(StepMemory &memory, StepCall &call) const {
  if (emulation)
    return emulate(call);
  if (device)
    return outcome(replay(memory, call));
  code.entry(call.packed.data());
  return success();
}

/// Reports a failure at the op that failed.
LogicalResult CompiledStep::outcome(llvm::Error error) const {
  if (error)
    return emitError(locationOfFault(), llvm::toString(std::move(error)));
  return success();
}

Location CompiledStep::locationOfFault() const {
  std::optional<int64_t> product = device ? device->failedProduct() : std::nullopt;
  return product ? products[*product] : location;
}

LogicalResult CompiledStep::emulate(StepCall &call) const {
  call.emulator->beginStep();
  code.entry(call.packed.data());
  call.emulator->endStep();
  const emulation::Fault *fault = call.emulator->fault();
  if (!fault)
    return success();
  emulation->report(*fault);
  return failure();
}

LogicalResult CompiledStep::prepare(StepMemory &memory) const {
  if (failed(outcome(capture(memory, memory.stepCall))))
    return failure();
  return updating ? updating->outcome(updating->capture(memory, memory.updateCall)) : success();
}

llvm::Error CompiledStep::capture(const StepMemory &memory, StepCall &call) const {
  if (!device)
    return llvm::Error::success();
  if (llvm::Error error = device->choose(functionOnDevice))
    return error;
  if (call.captured)
    return llvm::Error::success();
  memory.locateOnDevice(*this, call);
  if (!call.times.empty())
    return llvm::Error::success();
  call.captured = true;
  return device->capture([&](llmmem_cuda *run) { launch(run, call); });
}

void CompiledStep::launch(llmmem_cuda *run, StepCall &call) const {
  call.addresses[0] = run;
  code.entry(call.packed.data());
}

/// Events of a graph have no time, so a profiled step is launched without a graph.
llvm::Error CompiledStep::runMarked(StepCall &call) const {
  std::vector<int64_t> ns(call.times.size() / 2);
  if (llvm::Error error = device->runMarked([&](llmmem_cuda *run) { launch(run, call); }, ns))
    return error;
  int64_t now = 0;
  for (auto [number, taken] : llvm::enumerate(ns)) {
    call.times[2 * number] = now;
    call.times[2 * number + 1] = now += taken;
  }
  // What was started has its own stream, and its own time.
  auto isStarted = [](const KernelCall &known) { return known.work == "started"; };
  llvm::ArrayRef<KernelCall> own = llvm::ArrayRef(calls).take_front(ns.size());
  std::vector<int64_t> started(llvm::count_if(own, isStarted));
  if (llvm::Error error = device->readStarts(started))
    return error;
  size_t next = 0;
  for (auto [number, known] : llvm::enumerate(own))
    if (isStarted(known))
      call.times[2 * number + 1] = call.times[2 * number] + started[next++];
  return llvm::Error::success();
}

llvm::Error CompiledStep::replay(StepMemory &memory, StepCall &call) const {
  if (llvm::Error error = memory.onDevice->beginStep())
    return error;
  if (llvm::Error error = capture(memory, call))
    return error;
  if (llvm::Error error = call.times.empty() ? device->replay() : runMarked(call))
    return error;
  memory.onDevice->endStep();
  // The loss is a result of its own.
  for (auto [number, result] : llvm::enumerate(resultInfo))
    if (!result.donatedArgument)
      memory.result(number);
  return memory.check();
}
