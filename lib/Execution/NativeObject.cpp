//===- NativeObject.cpp - Modules of kernels as an object file -------------===//

#include "llmmem/Execution/NativeObject.h"
#include "llmmem/Pipelines/KernelPipelines.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace llmmem;

std::string llmmem::portableProcessor() {
  llvm::Triple triple(llvm::sys::getProcessTriple());
  return triple.isX86_64() ? "x86-64-v3" : "generic";
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>> makeMachine(llvm::StringRef processor) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::Triple triple(llvm::sys::getProcessTriple());
  std::string why;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, why);
  if (!target)
    return llvm::createStringError(why);
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, processor, /*Features=*/"", llvm::TargetOptions(), llvm::Reloc::PIC_));
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
llmmem::compileToObject(ModuleOp module, llvm::StringRef processor) {
  PassManager lowering(module.getContext());
  buildKernelsToLLVMPipeline(lowering);
  if (failed(lowering.run(module)))
    return llvm::createStringError("lowering to the LLVM dialect failed");
  auto machine = makeMachine(processor);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> translated = translateModuleToLLVMIR(module, context);
  if (!translated)
    return llvm::createStringError("no translation to LLVM IR");
  translated->setDataLayout((*machine)->createDataLayout());
  translated->setTargetTriple((*machine)->getTargetTriple());
  auto optimize = makeOptimizingTransformer(/*optLevel=*/2, /*sizeLevel=*/0, machine->get());
  if (llvm::Error error = optimize(translated.get()))
    return std::move(error);
  return llvm::orc::SimpleCompiler(**machine)(*translated);
}
