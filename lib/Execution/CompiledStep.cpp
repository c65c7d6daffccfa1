//===- CompiledStep.cpp - A planned step as a function to call -------------===//

#include "llmmem/Execution/CompiledStep.h"
#include "CudaProgram.h"
#include "DeviceBuffers.h"
#include "MissingProducts.h"
#include "llmmem/Analysis/Step.h"
#include "llmmem/Codegen/Emitter/KernelOpInterface.h"
#include "llmmem/Codegen/Gpu/HostCopyCalls.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Emulation/Lowering/Passes.h"
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
  addUpdate(*updating);
  this->functions += updating->functions;
  llvm::append_range(calls, updating->calls);
  llvm::append_range(replaced, updating->replaced);
  return success();
}

FailureOr<std::unique_ptr<CompiledStep>> CompiledStep::compile(ModuleOp module,
                                                               const Options &options) {
  if (options.libraryMatmuls && options.cuda && options.cuda->products().empty())
    return module.emitError("cannot call a library for matmuls: it was not opened");
  bool isOnCpu = !options.cuda && !options.emulate;
  if (options.libraryMatmuls && isOnCpu && !llmmem_find_gemm_library())
    return module.emitError("cannot call a library for matmuls: ") << llmmem_why_no_gemm_library();
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
  std::unique_ptr<CompiledStep> step(
      new CompiledStep(module.lookupSymbol<func::FuncOp>(options.function)));
  step->calls = std::move(lowered->calls);
  for (auto function : lowered->host->getOps<func::FuncOp>())
    step->functions += !function.isExternal();
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
  return runFunction(memory, memory.calls.step);
}

LogicalResult CompiledStep::runUpdate(StepMemory &memory) const {
  return updating ? updating->runFunction(memory, memory.calls.update) : success();
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
  if (failed(outcome(capture(memory, memory.calls.step))))
    return failure();
  return updating ? updating->outcome(updating->capture(memory, memory.calls.update)) : success();
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
  for (auto [number, result] : llvm::enumerate(results()))
    if (!result.donatedArgument)
      memory.result(number);
  return memory.check();
}
