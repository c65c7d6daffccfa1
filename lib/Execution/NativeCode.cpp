//===- NativeCode.cpp - Lowered modules as code of this machine ------------===//

#include "llmmem/Execution/NativeCode.h"
#include "llmmem/Emulation/Hooks.h"
#include "llmmem/Runtime/Collectives.h"
#include "llmmem/Runtime/Cuda.h"
#include "llmmem/Runtime/Gemm.h"
#include "llmmem/Runtime/HostCopies.h"
#include "llmmem/Runtime/Parallel.h"
#include "llmmem/Runtime/Runtime.h"
#include "llmmem/Runtime/Started.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
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
  add("llmmem_cuda_launch", &llmmem_cuda_launch);
  add("llmmem_cuda_launch_mapped", &llmmem_cuda_launch_mapped);
  add("llmmem_cuda_mark", &llmmem_cuda_mark);
  add("llmmem_cuda_multiply", &llmmem_cuda_multiply);
  add("llmmem_cuda_copy", &llmmem_cuda_copy);
  add("llmmem_cuda_host_copy", &llmmem_cuda_host_copy);
  add("llmmem_cuda_host_copy_start", &llmmem_cuda_host_copy_start);
  add("llmmem_cuda_host_copy_wait", &llmmem_cuda_host_copy_wait);
  add("llmmem_group_position", &llmmem_group_position);
  add("llmmem_all_gather", &llmmem_all_gather);
  add("llmmem_all_reduce", &llmmem_all_reduce);
  add("llmmem_reduce_scatter", &llmmem_reduce_scatter);
  add("llmmem_broadcast", &llmmem_broadcast);
  add("llmmem_reduce", &llmmem_reduce);
  add("llmmem_all_to_all", &llmmem_all_to_all);
  add("llmmem_send_receive", &llmmem_send_receive);
  add("llmmem_exchange_send", &llmmem_exchange_send);
  add("llmmem_exchange_receive", &llmmem_exchange_receive);
  add("llmmem_exchange_end", &llmmem_exchange_end);
  add("llmmem_parallel_for", &llmmem_parallel_for);
  add("llmmem_start", &llmmem_start);
  add("llmmem_wait", &llmmem_wait);
  add("llmmem_copy", &llmmem_copy);
  add("llmmem_copy_start", &llmmem_copy_start);
  add("llmmem_copy_wait", &llmmem_copy_wait);
  add("llmmem_update_start", &llmmem_update_start);
  add("llmmem_update_wait", &llmmem_update_wait);
  add("llmmem_fill_dead", &llmmem_fill_dead);
  add("llmmem_copy_rows", &llmmem_copy_rows);
  add("llmmem_clock", &llmmem_clock);
  add("llmmem_emulate_call", &llmmem_emulate_call);
  add("llmmem_emulate_launch", &llmmem_emulate_launch);
  add("llmmem_emulate_runtime_access", &llmmem_emulate_runtime_access);
  add("llmmem_emulate_host_copy", &llmmem_emulate_host_copy);
  add("llmmem_emulate_host_copy_wait", &llmmem_emulate_host_copy_wait);
  add("llmmem_emulate_access", &llmmem_emulate_access);
  add("llmmem_emulate_barrier", &llmmem_emulate_barrier);
  add("llmmem_emulate_warp_barrier", &llmmem_emulate_warp_barrier);
  add("llmmem_emulate_shuffle", &llmmem_emulate_shuffle);
  add("llmmem_emulate_mma", &llmmem_emulate_mma);
  add("llmmem_emulate_load_matrix", &llmmem_emulate_load_matrix);
  add("llmmem_emulate_copy", &llmmem_emulate_copy);
  add("llmmem_emulate_commit_copies", &llmmem_emulate_commit_copies);
  add("llmmem_emulate_wait_for_copies", &llmmem_emulate_wait_for_copies);
  add("llmmem_emulate_wgmma", &llmmem_emulate_wgmma);
  add("llmmem_emulate_register_wgmma", &llmmem_emulate_register_wgmma);
  add("llmmem_emulate_take_sums", &llmmem_emulate_take_sums);
  add("llmmem_emulate_fence_sums", &llmmem_emulate_fence_sums);
  add("llmmem_emulate_commit_wgmma", &llmmem_emulate_commit_wgmma);
  add("llmmem_emulate_wait_for_wgmma", &llmmem_emulate_wait_for_wgmma);
  add("llmmem_emulate_fence_proxy", &llmmem_emulate_fence_proxy);
  add("llmmem_emulate_make_barrier", &llmmem_emulate_make_barrier);
  add("llmmem_emulate_arrive", &llmmem_emulate_arrive);
  add("llmmem_emulate_wait_for_phase", &llmmem_emulate_wait_for_phase);
  add("llmmem_emulate_copy_box", &llmmem_emulate_copy_box);
  return symbols;
}

static llvm::Expected<std::unique_ptr<ExecutionEngine>> createEngine(ModuleOp lowered,
                                                                     const NativeOptions &native) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::Expected<llvm::orc::JITTargetMachineBuilder> host =
      llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!host)
    return host.takeError();
  auto level = native.optimize ? llvm::CodeGenOptLevel::Default : llvm::CodeGenOptLevel::None;
  host->setCodeGenOptLevel(level);
  if (!native.processor.empty()) {
    host->setCPU(native.processor);
    host->getFeatures() = llvm::SubtargetFeatures();
  }
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> forPasses = host->createTargetMachine();
  if (!forPasses)
    return forPasses.takeError();
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> forCode = host->createTargetMachine();
  if (!forCode)
    return forCode.takeError();
  auto optimize =
      makeOptimizingTransformer(native.optimize ? 2 : 0, /*sizeLevel=*/0, forPasses->get());
  ExecutionEngineOptions options;
  options.transformer = optimize;
  options.jitCodeGenOptLevel = level;
  options.enableGDBNotificationListener = false;
  options.enablePerfNotificationListener = false;
  auto engine = ExecutionEngine::create(lowered, options, std::move(*forCode));
  if (engine)
    (*engine)->registerSymbols(runtimeSymbols);
  return engine;
}

llvm::Expected<NativeCode> llmmem::compileToNative(ModuleOp lowered, StringRef function,
                                                   const NativeOptions &options) {
  llvm::Expected<std::unique_ptr<ExecutionEngine>> engine = createEngine(lowered, options);
  if (!engine)
    return engine.takeError();
  (*engine)->initialize();
  llvm::Expected<PackedEntry> entry = (*engine)->lookupPacked(function);
  if (!entry)
    return entry.takeError();
  return NativeCode{std::move(*engine), *entry};
}
