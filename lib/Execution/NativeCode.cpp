//===- NativeCode.cpp - Modules of kernels as code of this machine ------------===//

#include "llmmem/Execution/NativeCode.h"
#include "CodeCache.h"
#include "CodeUnits.h"
#include "llmmem/Emulation/Hooks.h"
#include "llmmem/Pipelines/KernelPipelines.h"
#include "llmmem/Runtime/Collectives.h"
#include "llmmem/Runtime/Cuda.h"
#include "llmmem/Runtime/Gemm.h"
#include "llmmem/Runtime/HostCopies.h"
#include "llmmem/Runtime/Parallel.h"
#include "llmmem/Runtime/Runtime.h"
#include "llmmem/Runtime/Started.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/RTDyldObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/SectionMemoryManager.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace llmmem;

static llvm::orc::SymbolMap runtimeSymbols(llvm::orc::MangleAndInterner mangle) {
  llvm::orc::SymbolMap symbols;
  auto add = [&](StringRef name, auto *function) {
    symbols[mangle(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                             llvm::JITSymbolFlags::Exported};
  };
  if (const llmmem_gemm_library *library = llmmem_find_gemm_library()) {
    add("llmmem_library_gemm_f32", library->f32);
    if (library->bf16)
      add("llmmem_library_gemm_bf16", library->bf16);
  }
#define LLMMEM_RUNTIME_SYMBOL(name) add(#name, &name);
#include "RuntimeSymbols.def"
  return symbols;
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

static llvm::Expected<llvm::orc::JITTargetMachineBuilder> findHost(const NativeOptions &native) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::Expected<llvm::orc::JITTargetMachineBuilder> host =
      llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!host)
    return host.takeError();
  host->setCodeGenOptLevel(native.optimize ? llvm::CodeGenOptLevel::Default
                                           : llvm::CodeGenOptLevel::None);
  if (!native.processor.empty()) {
    host->setCPU(native.processor);
    host->getFeatures() = llvm::SubtargetFeatures();
  }
  return host;
}

/// Returns what code depends on in addition to the functions that it consists of.
static std::string saltOf(const llvm::TargetMachine &target, const NativeOptions &native) {
  return llvm::formatv("{0};{1};{2};{3};{4};{5}", LLVM_VERSION_STRING, buildOfProgram(),
                       target.getTargetTriple().str(), target.getTargetCPU(),
                       target.getTargetFeatureString(), native.optimize);
}

/// `NAME_packed` takes a pointer to each parameter of the function.
static void addPackedEntry(llvm::Module &module, StringRef name) {
  llvm::Function *function = module.getFunction(name);
  llvm::Type *pointer = llvm::PointerType::getUnqual(module.getContext());
  auto *packed = llvm::Function::Create(
      llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()), {pointer}, false),
      llvm::Function::ExternalLinkage, name + "_packed", module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(module.getContext(), "", packed));
  SmallVector<llvm::Value *> arguments;
  for (auto [number, argument] : llvm::enumerate(function->args())) {
    llvm::Value *slot = builder.CreateConstGEP1_64(pointer, packed->getArg(0), number);
    arguments.push_back(builder.CreateLoad(argument.getType(), builder.CreateLoad(pointer, slot)));
  }
  builder.CreateCall(function, arguments);
  builder.CreateRetVoid();
}

namespace {
/// Makes object files of units.
class UnitCompiler {
public:
  UnitCompiler(std::unique_ptr<llvm::TargetMachine> machine, bool optimize)
      : target(std::move(machine)),
        transform(makeOptimizingTransformer(optimize ? 2 : 0, /*sizeLevel=*/0, target.get())) {}

  const llvm::TargetMachine &machine() const { return *target; }
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> compile(const Unit &unit, bool isEntry);

private:
  std::unique_ptr<llvm::TargetMachine> target;
  std::function<llvm::Error(llvm::Module *)> transform;
};
} // namespace

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> UnitCompiler::compile(const Unit &unit,
                                                                          bool isEntry) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(*unit.module, context);
  if (!module)
    return llvm::createStringError("no translation to LLVM IR");
  module->setDataLayout(target->createDataLayout());
  module->setTargetTriple(target->getTargetTriple());
  if (isEntry)
    addPackedEntry(*module, unit.name);
  if (llvm::Error error = transform(module.get()))
    return std::move(error);
  return llvm::orc::SimpleCompiler(*target)(*module);
}

using Objects = std::vector<std::unique_ptr<llvm::MemoryBuffer>>;

/// Only declares what an earlier run has compiled, so that lowering does not see it.
static Objects takeCompiled(ModuleOp module, const CodeUnits &units, CodeCache &cache) {
  Objects objects;
  for (const std::string &name : units.names())
    if (std::unique_ptr<llvm::MemoryBuffer> object = cache.read(name)) {
      eraseBody(module, name);
      objects.push_back(std::move(object));
    }
  return objects;
}

static llvm::Error compileOthers(ModuleOp module, const CodeUnits &units, StringRef entry,
                                 UnitCompiler &compiler, CodeCache &cache, Objects &objects) {
  PassManager lowering(module.getContext());
  buildKernelsToLLVMPipeline(lowering);
  if (failed(lowering.run(module)))
    return llvm::createStringError("lowering to the LLVM dialect failed");
  std::vector<Unit> missing = takeUnits(module, units.names());
  // Ranks compile the same functions at the same time, so each begins with others, and finds those
  // that another has finished.
  if (cache.isOn() && !missing.empty())
    std::rotate(missing.begin(),
                missing.begin() + llvm::sys::Process::getProcessId() * 7 % missing.size(),
                missing.end());
  for (const Unit &unit : missing) {
    if (std::unique_ptr<llvm::MemoryBuffer> object = cache.read(unit.name)) {
      objects.push_back(std::move(object));
      continue;
    }
    llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> object =
        compiler.compile(unit, unit.name == entry);
    if (!object)
      return object.takeError();
    cache.write(unit.name, (*object)->getBuffer());
    objects.push_back(std::move(*object));
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Linking
//===----------------------------------------------------------------------===//

static llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>>
link(llvm::orc::JITTargetMachineBuilder host, Objects objects) {
  auto createLayer = [](llvm::orc::ExecutionSession &session)
      -> llvm::Expected<std::unique_ptr<llvm::orc::ObjectLayer>> {
    return std::make_unique<llvm::orc::RTDyldObjectLinkingLayer>(
        session,
        [](const llvm::MemoryBuffer &) { return std::make_unique<llvm::SectionMemoryManager>(); });
  };
  auto linked = llvm::orc::LLJITBuilder()
                    .setJITTargetMachineBuilder(std::move(host))
                    .setObjectLinkingLayerCreator(createLayer)
                    .create();
  if (!linked)
    return linked.takeError();
  llvm::orc::LLJIT &jit = **linked;
  llvm::orc::JITDylib &main = jit.getMainJITDylib();
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      jit.getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  main.addGenerator(std::move(*process));
  llvm::orc::MangleAndInterner mangle(jit.getExecutionSession(), jit.getDataLayout());
  if (llvm::Error error = main.define(llvm::orc::absoluteSymbols(runtimeSymbols(mangle))))
    return std::move(error);
  for (std::unique_ptr<llvm::MemoryBuffer> &object : objects)
    if (llvm::Error error = jit.addObjectFile(std::move(object)))
      return std::move(error);
  return linked;
}

llvm::Expected<NativeCode> llmmem::compileToNative(ModuleOp module, StringRef function,
                                                   const NativeOptions &options) {
  llvm::Expected<llvm::orc::JITTargetMachineBuilder> host = findHost(options);
  if (!host)
    return host.takeError();
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> target = host->createTargetMachine();
  if (!target)
    return target.takeError();
  UnitCompiler compiler(std::move(*target), options.optimize);
  llvm::Expected<CodeUnits> units = CodeUnits::nameIn(module, saltOf(compiler.machine(), options));
  if (!units)
    return units.takeError();
  CodeCache cache = CodeCache::fromEnvironment(
      [&](const llvm::Twine &why) { emitWarning(module.getLoc(), why); });
  const std::string entry = units->nameOf(function);
  Objects objects = takeCompiled(module, *units, cache);
  if (objects.size() < units->names().size())
    if (llvm::Error error = compileOthers(module, *units, entry, compiler, cache, objects))
      return std::move(error);
  auto linked = link(std::move(*host), std::move(objects));
  if (!linked)
    return linked.takeError();
  llvm::Expected<llvm::orc::ExecutorAddr> packed = (*linked)->lookup(entry + "_packed");
  if (!packed)
    return packed.takeError();
  return NativeCode{std::move(*linked), packed->toPtr<PackedEntry>()};
}
