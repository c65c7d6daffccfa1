//===- KernelsToLLVM.cpp - Kernels become LLVM -----------------------------===//

#include "llmmem/Conversion/Passes.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

namespace llmmem {
#define GEN_PASS_DEF_EXPANDKERNELNUMBERS
#include "llmmem/Conversion/Passes.h.inc"
} // namespace llmmem

using namespace mlir;

namespace {
struct ExpandKernelNumbers : public llmmem::impl::ExpandKernelNumbersBase<ExpandKernelNumbers> {
  using ExpandKernelNumbersBase::ExpandKernelNumbersBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns);
    llmmem::populateExpandDoubleFunctionsPatterns(patterns);
    if (!device)
      arith::populateExpandBFloat16Patterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

void llmmem::buildKernelsToLLVMPipeline(OpPassManager &manager) {
  manager.addPass(createOutlineParallelLoops());
  manager.addPass(createExpandKernelNumbers());
  manager.addPass(createCSEPass());
  manager.addPass(memref::createExpandStridedMetadataPass());
  manager.addPass(createLowerAffinePass());
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(createConvertVectorToLLVMPass());
  manager.addPass(createConvertMathToLLVMPass());
  // The f64 functions that LLVM has no intrinsic for.
  manager.addPass(createConvertMathToLibmPass());
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  // Shapes are static, so a buffer is passed as its address alone.
  ConvertFuncToLLVMPassOptions functions;
  functions.useBarePtrCallConv = true;
  manager.addPass(createConvertFuncToLLVMPass(functions));
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  manager.addPass(createCarryBF16AsBits());
}

void llmmem::buildEmulatedKernelsPipeline(OpPassManager &manager) {
  // The numbers of kernels as on the way to NVVM.
  ExpandKernelNumbersOptions numbers;
  numbers.device = true;
  manager.nest<gpu::GPUModuleOp>().addPass(createExpandKernelNumbers(numbers));
  manager.addPass(createEmulateGpuKernels());
}

void llmmem::registerKernelsToLLVMPipeline() {
  PassPipelineRegistration<> registration(
      "convert-kernels-to-llvm", "Lowers kernels and the step that calls them to the LLVM dialect",
      buildKernelsToLLVMPipeline);
}
