//===- KernelPipelines.cpp - From a planned step to code that runs ---------===//

#include "llmmem/Pipelines/KernelPipelines.h"
#include "llmmem/Emulation/Lowering/Passes.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace llmmem;

namespace {
struct GpuKernelsToNVVMOptions : public PassPipelineOptions<GpuKernelsToNVVMOptions> {
  Option<std::string> chip{*this, "chip", llvm::cl::desc("What the kernels run on"),
                           llvm::cl::init("sm_90a")};
};
} // namespace

/// Adds passes after which loops are branches, and views and affine indices plain arithmetic.
static void addLoopsToBranches(OpPassManager &manager, const ExpandKernelNumbersOptions &numbers) {
  manager.addPass(createExpandKernelNumbers(numbers));
  manager.addPass(createCSEPass());
  manager.addPass(memref::createExpandStridedMetadataPass());
  manager.addPass(createLowerAffinePass());
  manager.addPass(createSCFToControlFlowPass());
}

void llmmem::buildKernelsToLLVMPipeline(OpPassManager &manager) {
  manager.addPass(createOutlineParallelLoops());
  addLoopsToBranches(manager, {});
  manager.addPass(createConvertVectorToLLVMPass());
  manager.addPass(createConvertMathToLLVMPass());
  // This converts the f64 functions without an LLVM intrinsic.
  manager.addPass(createConvertMathToLibmPass());
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  // Shapes are static, so a buffer is passed as its address.
  ConvertFuncToLLVMPassOptions functions;
  functions.useBarePtrCallConv = true;
  manager.addPass(createConvertFuncToLLVMPass(functions));
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  manager.addPass(createCarryBF16AsBits());
}

void llmmem::buildEmulatedKernelsPipeline(OpPassManager &manager) {
  // Expands the arithmetic of kernels as the lowering to NVVM does.
  ExpandKernelNumbersOptions numbers;
  numbers.device = true;
  manager.nest<gpu::GPUModuleOp>().addPass(createExpandKernelNumbers(numbers));
  manager.addPass(createEmulateGpuKernels());
}

void llmmem::buildGpuKernelsToNVVMPipeline(OpPassManager &manager, StringRef chip) {
  // This comes first, as a launch hands over the tensor maps that its kernel names.
  manager.addPass(createConvertLaunchesToRuntime());
  OpPassManager &kernels = manager.nest<gpu::GPUModuleOp>();
  ExpandKernelNumbersOptions numbers;
  numbers.device = true;
  addLoopsToBranches(kernels, numbers);
  kernels.addPass(createConvertKernelsToNVVM());
  kernels.addPass(createReconcileUnrealizedCastsPass());
  kernels.addPass(createCanonicalizerPass(keepBlocksApart()));
  kernels.addPass(createCSEPass());
  // wgmma, which has no intrinsic, becomes PTX.
  kernels.addPass(createConvertNVVMToLLVMPass());
  TranslateKernelsToPTXOptions translation;
  translation.chip = chip.str();
  manager.addPass(createTranslateKernelsToPTX(translation));
}

void llmmem::buildStepToCudaPipeline(OpPassManager &manager, ConvertStepToKernelsOptions options,
                                     StringRef chip) {
  options.target = KernelTarget::Gpu;
  manager.addPass(createConvertStepToKernels(options));
  manager.addPass(createGpuKernelOutliningPass());
  buildGpuKernelsToNVVMPipeline(manager, chip);
}

void llmmem::registerKernelPipelines() {
  PassPipelineRegistration<> toLLVM(
      "convert-kernels-to-llvm", "Lowers kernels and the step that calls them to the LLVM dialect",
      buildKernelsToLLVMPipeline);
  PassPipelineRegistration<GpuKernelsToNVVMOptions> toNVVM(
      "convert-gpu-kernels-to-nvvm",
      "Lowers outlined kernels to PTX, and their launches to calls of the CUDA runtime",
      [](OpPassManager &manager, const GpuKernelsToNVVMOptions &options) {
        buildGpuKernelsToNVVMPipeline(manager, options.chip);
      });
}
