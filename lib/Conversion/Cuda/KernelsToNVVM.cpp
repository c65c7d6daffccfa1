//===- KernelsToNVVM.cpp - Outlined kernels become NVVM --------------------===//

#include "llmmem/Conversion/Passes.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

namespace llmmem {
#define GEN_PASS_DEF_CONVERTKERNELSTONVVM
#include "llmmem/Conversion/Passes.h.inc"
} // namespace llmmem

using namespace mlir;

/// Whether the NVPTX backend has instructions for it; the rest of `math` is libdevice's.
static bool isInstruction(Operation &op) {
  return isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp, math::CountLeadingZerosOp,
             math::CtPopOp, math::FloorOp, math::FmaOp, math::RoundEvenOp, math::SqrtOp,
             math::TruncOp>(op);
}

static LogicalResult checkNumbers(gpu::GPUModuleOp module) {
  WalkResult result = module.walk([](Operation *op) {
    bool isFunction = isa_and_nonnull<math::MathDialect>(op->getDialect()) && !isInstruction(*op);
    if (!isFunction && !isa<arith::RemFOp>(op))
      return WalkResult::advance();
    op->emitOpError("has no instruction on the device for ")
        << op->getResultTypes()[0] << "; expected a function that expand-kernel-numbers turns into "
        << "arithmetic: exp, log, tanh, sin, cos or powf, of f64 whole powers alone";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

namespace {
struct ConvertKernelsToNVVM : public llmmem::impl::ConvertKernelsToNVVMBase<ConvertKernelsToNVVM> {
  using ConvertKernelsToNVVMBase::ConvertKernelsToNVVMBase;

  void runOnOperation() override {
    if (failed(checkNumbers(getOperation())) || failed(simplify()) || failed(convert()))
      return signalPassFailure();
    alignSharedMemory();
    allowAllRegisters();
  }

  /// Vectors of shapes and kinds that have no counterpart in LLVM become others, as upstream's
  /// `convert-vector-to-llvm` does first.
  LogicalResult simplify() {
    RewritePatternSet patterns(&getContext());
    populateGpuRewritePatterns(patterns);
    vector::populateVectorToVectorCanonicalizationPatterns(patterns);
    vector::populateVectorBitCastLoweringPatterns(patterns);
    vector::populateVectorBroadcastLoweringPatterns(patterns);
    vector::populateVectorShapeCastLoweringPatterns(patterns);
    vector::populateVectorInsertExtractStridedSliceTransforms(patterns);
    vector::populateVectorStepLoweringPatterns(patterns);
    vector::populateVectorRankReducingFMAPattern(patterns);
    return applyPatternsGreedily(getOperation(), std::move(patterns));
  }

  LogicalResult convert() {
    LowerToLLVMOptions options(&getContext(),
                               DataLayout(cast<DataLayoutOpInterface>(*getOperation())));
    // Shapes are static, so a buffer is its address.
    options.useBarePtrCallConv = true;
    LLVMTypeConverter converter(&getContext(), options);
    configureGpuToNVVMTypeConverter(converter);
    RewritePatternSet patterns(&getContext());
    populateGpuToNVVMConversionPatterns(converter, patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
    // Before the calls of libdevice, which the patterns for `gpu` bring along.
    populateMathToLLVMConversionPatterns(converter, patterns, /*approximateLog1p=*/false,
                                         /*benefit=*/2);
    // Buffers begin at multiples of 256 bytes and a thread's elements at whole vectors: 128 bits
    // move at a time.
    populateVectorToLLVMConversionPatterns(converter, patterns, /*reassociateFPReductions=*/false,
                                           /*force32BitVectorIndices=*/false,
                                           /*useVectorAlignment=*/true);
    ConversionTarget target(getContext());
    target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
    target.addIllegalDialect<arith::ArithDialect, cf::ControlFlowDialect, gpu::GPUDialect,
                             math::MathDialect, memref::MemRefDialect, vector::VectorDialect>();
    target.addLegalOp<gpu::GPUModuleOp>();
    return applyPartialConversion(getOperation(), target, std::move(patterns));
  }

  /// Shared memory is asked for 128 bits at a time whatever its elements are; left alone, it would
  /// begin at multiples of an element.
  void alignSharedMemory() {
    for (auto global : getOperation().getOps<LLVM::GlobalOp>())
      if (global.getAddrSpace() == static_cast<unsigned>(NVVM::NVVMMemorySpace::Shared))
        global.setAlignment(std::max<uint64_t>(global.getAlignment().value_or(0), 16));
  }

  /// Left to guess how many blocks should share a multiprocessor, the assembler spills registers of
  /// kernels that multiply, or that fill their shared memory, to fit in one more. The others it
  /// fits without.
  void allowAllRegisters() {
    auto one = IntegerAttr::get(IntegerType::get(&getContext(), 32), 1);
    for (auto kernel : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (kernel->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()) &&
          (multiplies(kernel) || sharedBytes(kernel) > kMuchShared))
        kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), one);
  }

  static bool multiplies(LLVM::LLVMFuncOp kernel) {
    auto product = [](NVVM::MmaOp) { return WalkResult::interrupt(); };
    return kernel.walk(product).wasInterrupted();
  }

  int64_t sharedBytes(LLVM::LLVMFuncOp kernel) {
    llvm::SmallPtrSet<Operation *, 8> globals;
    int64_t bytes = 0;
    DataLayout layout(cast<DataLayoutOpInterface>(*getOperation()));
    kernel.walk([&](LLVM::AddressOfOp address) {
      LLVM::GlobalOp global = getOperation().lookupSymbol<LLVM::GlobalOp>(address.getGlobalName());
      bool isShared =
          global && global.getAddrSpace() == static_cast<unsigned>(NVVM::NVVMMemorySpace::Shared);
      if (isShared && globals.insert(global).second)
        bytes += static_cast<int64_t>(layout.getTypeSize(global.getType()));
    });
    return bytes;
  }

  static constexpr int64_t kMuchShared = 24 << 10;
};

struct GpuKernelsToNVVMOptions : public PassPipelineOptions<GpuKernelsToNVVMOptions> {
  Option<std::string> chip{*this, "chip", llvm::cl::desc("What the kernels run on"),
                           llvm::cl::init("sm_90a")};
};
} // namespace

void llmmem::buildGpuKernelsToNVVMPipeline(OpPassManager &manager, StringRef chip) {
  OpPassManager &kernels = manager.nest<gpu::GPUModuleOp>();
  ExpandKernelNumbersOptions numbers;
  numbers.device = true;
  kernels.addPass(createExpandKernelNumbers(numbers));
  kernels.addPass(createCSEPass());
  kernels.addPass(memref::createExpandStridedMetadataPass());
  kernels.addPass(createLowerAffinePass());
  kernels.addPass(createSCFToControlFlowPass());
  kernels.addPass(createConvertKernelsToNVVM());
  kernels.addPass(createReconcileUnrealizedCastsPass());
  kernels.addPass(createCanonicalizerPass());
  kernels.addPass(createCSEPass());
  TranslateKernelsToPTXOptions translation;
  translation.chip = chip.str();
  manager.addPass(createTranslateKernelsToPTX(translation));
  manager.addPass(createConvertLaunchesToRuntime());
}

void llmmem::buildStepToCudaPipeline(OpPassManager &manager, ConvertStepToKernelsOptions options,
                                     StringRef chip) {
  options.target = KernelTarget::Gpu;
  manager.addPass(createConvertStepToKernels(options));
  manager.addPass(createGpuKernelOutliningPass());
  buildGpuKernelsToNVVMPipeline(manager, chip);
}

void llmmem::registerGpuKernelsToNVVMPipeline() {
  PassPipelineRegistration<GpuKernelsToNVVMOptions> registration(
      "convert-gpu-kernels-to-nvvm",
      "Lowers outlined kernels to PTX, and their launches to calls of the CUDA runtime",
      [](OpPassManager &manager, const GpuKernelsToNVVMOptions &options) {
        buildGpuKernelsToNVVMPipeline(manager, options.chip);
      });
}
