//===- CompiledStep.cpp - A planned step as a function to call -------------===//

#include "llmmem/Execution/CompiledStep.h"
#include "../Runtime/Gemm.h"
#include "../Runtime/Parallel.h"
#include "../Runtime/Runtime.h"
#include "llmmem/Conversion/KernelOpInterface.h"
#include "llmmem/Conversion/Passes.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <chrono>

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

void llmmem::registerExecution(DialectRegistry &registry) {
  registry
      .insert<llm::LlmDialect, arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect,
              math::MathDialect, memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>();
  registerKernelModels(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

void CompiledStep::describe(func::FuncOp step) {
  resultInfo.resize(step.getNumResults());
  for (auto [info, type] : llvm::zip_equal(resultInfo, step.getResultTypes()))
    info = {cast<RankedTensorType>(type), bytesOfType(type), std::nullopt};
  auto textOf = [&](unsigned number, StringRef attribute) -> std::string {
    auto text = step.getArgAttrOfType<StringAttr>(number, attribute);
    return text ? text.str() : "";
  };
  for (auto [number, type] : llvm::enumerate(step.getArgumentTypes())) {
    argumentInfo.push_back({textOf(number, LlmDialect::kRole), textOf(number, LlmDialect::kName),
                            cast<RankedTensorType>(type), bytesOfType(type)});
    if (auto donated = step.getArgAttrOfType<IntegerAttr>(number, LlmDialect::kDonated))
      resultInfo[donated.getInt()].donatedArgument = number;
  }
  arena = step->getAttrOfType<IntegerAttr>(LlmDialect::kArena).getInt();
}

/// What `convert-step-to-kernels` has written on a call for a profile.
static KernelCall readProfiledCall(DictionaryAttr notes) {
  auto text = [&](StringRef key) {
    auto value = notes.getAs<StringAttr>(key);
    return value ? value.str() : std::string();
  };
  KernelCall call;
  call.kind = text("kind"), call.name = text("name"), call.phase = text("phase");
  if (auto block = notes.getAs<IntegerAttr>("block"))
    call.block = block.getInt();
  call.recomputed = notes.getAs<BoolAttr>("recomputed").getValue();
  call.flops = notes.getAs<IntegerAttr>("flops").getInt();
  call.bytes = notes.getAs<IntegerAttr>("bytes").getInt();
  return call;
}

/// The kernels' module in the LLVM dialect, and its calls; the planned one stays as it is.
static FailureOr<OwningOpRef<ModuleOp>> lower(ModuleOp module, const CompiledStep::Options &options,
                                              std::vector<KernelCall> &calls) {
  OwningOpRef<ModuleOp> lowered = module.clone();
  // Other functions of the module may hold what has no lowering, and nothing calls them.
  for (auto function : llvm::make_early_inc_range(lowered->getOps<func::FuncOp>()))
    if (function.getName() != options.function)
      function.erase();
  PassManager manager(module.getContext());
  ConvertStepToKernelsOptions conversion;
  conversion.function = options.function;
  conversion.poison = options.poison;
  conversion.profile = options.profile;
  conversion.libraryProducts = options.libraryProducts;
  manager.addPass(createConvertStepToKernels(conversion));
  if (failed(manager.run(*lowered)))
    return failure();
  lowered->lookupSymbol<func::FuncOp>(options.function).walk([&](func::CallOp call) {
    if (auto notes = call->getAttrOfType<DictionaryAttr>("profile"))
      calls.push_back(readProfiledCall(notes));
  });
  PassManager lowering(module.getContext());
  buildKernelsToLLVMPipeline(lowering);
  if (failed(lowering.run(*lowered)))
    return failure();
  return lowered;
}

static llvm::orc::SymbolMap runtimeSymbols(llvm::orc::MangleAndInterner mangle) {
  llvm::orc::SymbolMap symbols;
  auto add = [&](StringRef name, auto *function) {
    symbols[mangle(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                             llvm::JITSymbolFlags::Exported};
  };
  if (const llmmem_gemm_library *library = llmmem_find_gemm_library())
    add("llmmem_library_gemm", library->gemm);
  add("llmmem_parallel_for", &llmmem_parallel_for);
  add("llmmem_poison", &llmmem_poison);
  add("llmmem_clock", &llmmem_clock);
  return symbols;
}

static llvm::Expected<std::unique_ptr<ExecutionEngine>> createEngine(ModuleOp lowered) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::Expected<llvm::orc::JITTargetMachineBuilder> host =
      llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!host)
    return host.takeError();
  host->setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> forPasses = host->createTargetMachine();
  if (!forPasses)
    return forPasses.takeError();
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> forCode = host->createTargetMachine();
  if (!forCode)
    return forCode.takeError();
  auto optimize = makeOptimizingTransformer(/*optLevel=*/2, /*sizeLevel=*/0, forPasses->get());
  ExecutionEngineOptions options;
  options.transformer = optimize;
  options.jitCodeGenOptLevel = llvm::CodeGenOptLevel::Default;
  options.enableGDBNotificationListener = false;
  options.enablePerfNotificationListener = false;
  auto engine = ExecutionEngine::create(lowered, options, std::move(*forCode));
  if (engine)
    (*engine)->registerSymbols(runtimeSymbols);
  return engine;
}

FailureOr<std::unique_ptr<CompiledStep>> CompiledStep::compile(ModuleOp module,
                                                               const Options &options) {
  if (options.libraryProducts && !llmmem_find_gemm_library())
    return module.emitError("cannot call a library for matrix products: none was found when "
                            "llmmem was built");
  auto begin = std::chrono::steady_clock::now();
  std::unique_ptr<CompiledStep> step(new CompiledStep());
  FailureOr<OwningOpRef<ModuleOp>> lowered = lower(module, options, step->calls);
  if (failed(lowered))
    return failure();
  for (auto function : (*lowered)->getOps<LLVM::LLVMFuncOp>())
    step->functions += !function.isExternal();
  step->describe(module.lookupSymbol<func::FuncOp>(options.function));
  llvm::Expected<std::unique_ptr<ExecutionEngine>> engine = createEngine(**lowered);
  if (!engine)
    return module.emitError("cannot be compiled: ") << llvm::toString(engine.takeError());
  step->engine = std::move(*engine);
  step->engine->initialize();
  llvm::Expected<void (*)(void **)> entry = step->engine->lookupPacked(options.function);
  if (!entry)
    return module.emitError("cannot be compiled: ") << llvm::toString(entry.takeError());
  step->entry = *entry;
  step->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return step;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

LogicalResult CompiledStep::run(StepMemory &memory) const {
  entry(memory.packed.data());
  return success();
}

StepMemory::Bytes StepMemory::allocateZeroed(int64_t bytes) {
  size_t size = llvm::alignTo(std::max<int64_t>(bytes, 1), 256);
  void *memory = std::aligned_alloc(256, size);
  if (memory)
    std::memset(memory, 0, size);
  return Bytes(memory);
}

llvm::Expected<StepMemory> StepMemory::allocate(const CompiledStep &step) {
  StepMemory memory;
  auto add = [&](SmallVector<Bytes> &list, int64_t bytes) -> bool {
    list.push_back(allocateZeroed(bytes));
    return list.back() != nullptr;
  };
  bool complete = true;
  for (const StepArgument &argument : step.arguments()) {
    complete &= add(memory.arguments, argument.bytes);
    memory.resident += llvm::alignTo(argument.bytes, 256);
  }
  for (const StepResult &result : step.results()) {
    if (!result.donatedArgument)
      complete &= add(memory.ownResults, result.bytes);
    memory.results.push_back(result.donatedArgument ? memory.argument(*result.donatedArgument)
                                                    : memory.ownResults.back().get());
  }
  if (!complete)
    return llvm::createStringError("not enough memory for %lld bytes of parameters and inputs",
                                   static_cast<long long>(memory.resident));
  llvm::Expected<ArenaMemory> arena = ArenaMemory::allocate(step.arenaBytes());
  if (!arena)
    return arena.takeError();
  memory.arenaMemory = std::move(*arena);
  memory.times.resize(2 * step.profiledCalls().size());
  memory.addresses = {memory.arenaMemory.base()};
  for (const Bytes &argument : memory.arguments)
    memory.addresses.push_back(argument.get());
  for (const Bytes &result : memory.ownResults)
    memory.addresses.push_back(result.get());
  if (!memory.times.empty())
    memory.addresses.push_back(memory.times.data());
  // The packed entry takes the place of each parameter, and a parameter is an address.
  for (void *&address : memory.addresses)
    memory.packed.push_back(&address);
  return std::move(memory);
}
