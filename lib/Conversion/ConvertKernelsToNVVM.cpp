//===- ConvertKernelsToNVVM.cpp - Outlined kernels become NVVM -------------===//

#include "TensorMaps.h"
#include "llmmem/Codegen/Gpu/Cluster.h"
#include "llmmem/Codegen/Gpu/RegisterWgmma.h"
#include "llmmem/Codegen/Gpu/TensorMap.h"
#include "llmmem/Conversion/Passes.h"
#include "llmmem/Device/GpuGeometry.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/NVGPUToNVVM/NVGPUToNVVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace llmmem {
#define GEN_PASS_DEF_CONVERTKERNELSTONVVM
#include "llmmem/Conversion/Passes.h.inc"
} // namespace llmmem

using namespace mlir;

/// Returns whether the NVPTX backend has instructions for it; libdevice has the rest of `math`.
static bool isInstruction(Operation &op) {
  return isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp, math::CountLeadingZerosOp,
             math::CtPopOp, math::FloorOp, math::FmaOp, math::RoundEvenOp, math::SqrtOp,
             math::TruncOp>(op);
}

GreedyRewriteConfig llmmem::keepBlocksApart() {
  return GreedyRewriteConfig().setRegionSimplificationLevel(GreedySimplifyRegionLevel::Normal);
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

//===----------------------------------------------------------------------===//
// Roundings that are computed with
//===----------------------------------------------------------------------===//

namespace {
/// Handles numbers that are rounded to bf16 and back. LLVM rounds two by one instruction where the
/// results are used as a pair, and needs an instruction of a quarter of its rate for each where one
/// is used by itself. So bf16 becomes f32 by the pair's bits.
struct ExtendPairs : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op, PatternRewriter &rewriter) const override {
    auto from = dyn_cast<VectorType>(op.getIn().getType());
    if (!from || from.getRank() != 1 || from.getDimSize(0) % 2 != 0 ||
        !from.getElementType().isBF16() || !getElementTypeOrSelf(op.getType()).isF32() ||
        !op.getIn().getDefiningOp<arith::TruncFOp>())
      return failure();
    Location loc = op.getLoc();
    int64_t pairs = from.getDimSize(0) / 2;
    auto words = VectorType::get({pairs}, rewriter.getI32Type());
    auto constant = [&](int32_t number) -> Value {
      return arith::ConstantOp::create(rewriter, loc, DenseElementsAttr::get(words, number));
    };
    Value both = vector::BitCastOp::create(rewriter, loc, words, op.getIn());
    Value first = arith::ShLIOp::create(rewriter, loc, both, constant(16));
    Value second = arith::AndIOp::create(rewriter, loc, both, constant(-(1 << 16)));
    SmallVector<int64_t> order;
    for (int64_t pair = 0; pair < pairs; ++pair)
      order.append({pair, pairs + pair});
    Value all = vector::ShuffleOp::create(rewriter, loc, first, second, order);
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), all);
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Buffers that a branch selects
//===----------------------------------------------------------------------===//

/// Collects the positions of the fields of a nested struct, in order.
static void collectFields(Type type, SmallVector<int64_t> &place,
                          function_ref<void(ArrayRef<int64_t>, Type)> found) {
  auto descend = [&](int64_t count, function_ref<Type(int64_t)> typeOf) {
    for (int64_t number = 0; number < count; ++number) {
      place.push_back(number);
      collectFields(typeOf(number), place, found);
      place.pop_back();
    }
  };
  if (auto whole = dyn_cast<LLVM::LLVMStructType>(type))
    descend(whole.getBody().size(), [&](int64_t number) { return whole.getBody()[number]; });
  else if (auto array = dyn_cast<LLVM::LLVMArrayType>(type))
    descend(array.getNumElements(), [&](int64_t) { return array.getElementType(); });
  else
    found(place, type);
}

/// Replaces a struct argument of `block` by one argument for each field.
static void splitArgument(Block &block, unsigned number) {
  BlockArgument whole = block.getArgument(number);
  Location loc = whole.getLoc();
  OpBuilder inside = OpBuilder::atBlockBegin(&block);
  Value rebuilt = LLVM::PoisonOp::create(inside, loc, whole.getType());
  llvm::SmallSetVector<Block *, 4> before(block.pred_begin(), block.pred_end());
  SmallVector<int64_t> place;
  collectFields(whole.getType(), place, [&](ArrayRef<int64_t> at, Type type) {
    Value field = block.addArgument(type, loc);
    rebuilt = LLVM::InsertValueOp::create(inside, loc, rebuilt, field, at);
    for (Block *from : before) {
      auto branch = cast<BranchOpInterface>(from->getTerminator());
      OpBuilder outside(branch);
      for (auto [target, successor] : llvm::enumerate(branch->getSuccessors()))
        if (successor == &block) {
          SuccessorOperands passed = branch.getSuccessorOperands(target);
          passed.append(LLVM::ExtractValueOp::create(outside, loc, passed[number], at).getResult());
        }
    }
  });
  whole.replaceAllUsesWith(rebuilt);
  for (Block *from : before) {
    auto branch = cast<BranchOpInterface>(from->getTerminator());
    for (auto [target, successor] : llvm::enumerate(branch->getSuccessors()))
      if (successor == &block)
        branch.getSuccessorOperands(target).erase(number);
  }
  block.eraseArgument(number);
}

namespace {
struct ConvertKernelsToNVVM : public llmmem::impl::ConvertKernelsToNVVMBase<ConvertKernelsToNVVM> {
  using ConvertKernelsToNVVMBase::ConvertKernelsToNVVMBase;

  void runOnOperation() override {
    readNeededRegisters();
    if (failed(checkNumbers(getOperation())) || failed(checkTensorMaps()) ||
        failed(sayClusterSizes()) || failed(simplify()) || failed(convert()))
      return signalPassFailure();
    splitDescriptors();
    alignSharedMemory();
    lowerRegisterWgmma();
    lowerTensorMaps();
    sayHowManyBlocks();
  }

  /// Rewrites vector ops that have no counterpart in LLVM, as upstream's `convert-vector-to-llvm`
  /// does first.
  LogicalResult simplify() {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExtendPairs>(&getContext());
    populateGpuRewritePatterns(patterns);
    vector::populateVectorToVectorCanonicalizationPatterns(patterns);
    vector::populateVectorBitCastLoweringPatterns(patterns);
    vector::populateVectorBroadcastLoweringPatterns(patterns);
    vector::populateVectorShapeCastLoweringPatterns(patterns);
    vector::populateVectorInsertExtractStridedSliceTransforms(patterns);
    vector::populateVectorStepLoweringPatterns(patterns);
    vector::populateVectorRankReducingFMAPattern(patterns);
    return applyPatternsGreedily(getOperation(), std::move(patterns), llmmem::keepBlocksApart());
  }

  LogicalResult convert() {
    LowerToLLVMOptions options(&getContext(),
                               DataLayout(cast<DataLayoutOpInterface>(*getOperation())));
    // Shapes are static, so a buffer is its address.
    options.useBarePtrCallConv = true;
    LLVMTypeConverter converter(&getContext(), options);
    configureGpuToNVVMTypeConverter(converter);
    // Nothing uses a copy's token: a wait counts groups.
    converter.addConversion(
        [&](nvgpu::DeviceAsyncTokenType) -> Type { return IntegerType::get(&getContext(), 32); });
    RewritePatternSet patterns(&getContext());
    populateGpuToNVVMConversionPatterns(converter, patterns);
    populateNVGPUToNVVMConversionPatterns(converter, patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
    // This takes precedence over the calls of libdevice, which the patterns for `gpu` include.
    populateMathToLLVMConversionPatterns(converter, patterns, /*approximateLog1p=*/false,
                                         /*benefit=*/2);
    // Buffers begin at multiples of 256 bytes and vectors at multiples of their size, so one access
    // moves 128 bits.
    populateVectorToLLVMConversionPatterns(converter, patterns, /*reassociateFPReductions=*/false,
                                           /*force32BitVectorIndices=*/false,
                                           /*useVectorAlignment=*/true);
    ConversionTarget target(getContext());
    target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
    target.addIllegalDialect<arith::ArithDialect, cf::ControlFlowDialect, gpu::GPUDialect,
                             math::MathDialect, memref::MemRefDialect, nvgpu::NVGPUDialect,
                             vector::VectorDialect>();
    target.addLegalOp<gpu::GPUModuleOp>();
    return applyPartialConversion(getOperation(), target, std::move(patterns));
  }

  /// A buffer that a branch selects is a struct (a memref descriptor). LLVM infers the address
  /// space of its pointer only if the pointer is passed alone.
  void splitDescriptors() {
    getOperation().walk([](LLVM::LLVMFuncOp kernel) {
      if (kernel.isExternal())
        return;
      for (Block &block : llvm::drop_begin(kernel.getBody()))
        for (unsigned number = block.getNumArguments(); number-- > 0;)
          if (isa<LLVM::LLVMStructType>(block.getArgument(number).getType()))
            splitArgument(block, number);
    });
  }

  /// Accesses of shared memory have 128 bits whatever its elements are; by default it would be
  /// aligned to an element. The swizzle of tiles that wgmma reads is one of addresses, and it
  /// repeats after 1024 bytes.
  void alignSharedMemory() {
    auto isWgmma = [](NVVM::WgmmaMmaAsyncOp) { return WalkResult::interrupt(); };
    uint64_t alignment = getOperation().walk(isWgmma).wasInterrupted() ? 1024 : 16;
    for (auto global : getOperation().getOps<LLVM::GlobalOp>())
      if (global.getAddrSpace() == static_cast<unsigned>(NVVM::NVVMMemorySpace::Shared))
        global.setAlignment(std::max<uint64_t>(global.getAlignment().value_or(0), alignment));
  }

  void lowerRegisterWgmma() {
    OpBuilder builder(&getContext());
    getOperation().walk([&](LLVM::CallIntrinsicOp call) {
      if (std::optional<llmmem::RegisterWgmma> product = llmmem::RegisterWgmma::match(call))
        product->lower(builder);
    });
  }

  LogicalResult checkTensorMaps() {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (failed(llmmem::tensorMapsOf(kernel)))
        return failure();
    return success();
  }

  /// The function carries the size, which the conversion turns into `.reqnctapercluster`.
  LogicalResult sayClusterSizes() {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      if (failed(llmmem::verifyClusterSize(kernel)))
        return failure();
      auto blocks = static_cast<int32_t>(llmmem::clusterBlocksOf(kernel));
      if (blocks > 1)
        kernel.setKnownClusterSizeAttr(DenseI32ArrayAttr::get(&getContext(), {blocks, 1, 1}));
    }
    return success();
  }

  /// Each map is an argument after the others, which the driver has copied to the constants of the
  /// launch: 128 bytes that begin at a multiple of 64.
  void lowerTensorMaps() {
    MLIRContext *context = &getContext();
    Builder builder(context);
    auto bytes = LLVM::LLVMArrayType::get(builder.getI8Type(), 128);
    DictionaryAttr facts = builder.getDictionaryAttr(
        {builder.getNamedAttr(LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(bytes)),
         builder.getNamedAttr(LLVM::LLVMDialect::getAlignAttrName(), builder.getI64IntegerAttr(64)),
         builder.getNamedAttr(NVVM::NVVMDialect::getGridConstantAttrName(),
                              builder.getUnitAttr())});
    for (auto kernel : getOperation().getOps<LLVM::LLVMFuncOp>()) {
      SmallVector<llmmem::TensorMap> maps;
      kernel.walk([&](Operation *op) {
        if (std::optional<llmmem::TensorMap> map = llmmem::TensorMap::match(op))
          maps.push_back(*map);
      });
      for (const llmmem::TensorMap &map : maps) {
        map.result().replaceAllUsesWith(appendArgument(kernel, map.result().getType(), facts));
        map.op().erase();
      }
    }
  }

  /// LLVMFuncOp does not insert arguments itself where it returns nothing.
  static Value appendArgument(LLVM::LLVMFuncOp kernel, Type type, DictionaryAttr facts) {
    LLVM::LLVMFunctionType before = kernel.getFunctionType();
    SmallVector<Type> types(before.getParams());
    types.push_back(type);
    SmallVector<Attribute> ofArguments;
    for (unsigned number = 0; number < before.getNumParams(); ++number) {
      DictionaryAttr own = kernel.getArgAttrDict(number);
      ofArguments.push_back(own ? own : DictionaryAttr::get(kernel.getContext()));
    }
    ofArguments.push_back(facts);
    kernel.setFunctionType(LLVM::LLVMFunctionType::get(before.getReturnType(), types));
    kernel.setArgAttrsAttr(ArrayAttr::get(kernel.getContext(), ofArguments));
    return kernel.getBody().front().addArgument(type, kernel.getLoc());
  }

  /// Without a bound on the blocks of a multiprocessor the assembler spills registers to fit one
  /// more; with the bound 1 it uses all registers. So kernels say how many they need, and kernels
  /// with mma that say nothing may use all. Others need no bound.
  void sayHowManyBlocks() {
    for (auto kernel : getOperation().getOps<LLVM::LLVMFuncOp>()) {
      auto threads =
          kernel->getAttrOfType<DenseI32ArrayAttr>(NVVM::NVVMDialect::getMaxntidAttrName());
      std::optional<int64_t> blocks;
      if (int64_t registers = neededRegisters.lookup(kernel.getName()); registers && threads)
        blocks = llmmem::leastGpu().registers / (registers * threads[0]);
      else if (multiplies(kernel))
        blocks = 1;
      if (blocks)
        kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                        IntegerAttr::get(IntegerType::get(&getContext(), 32), *blocks));
    }
  }

  static bool multiplies(LLVM::LLVMFuncOp kernel) {
    return kernel
        .walk([](Operation *op) {
          return WalkResult(failure(isa<NVVM::MmaOp, NVVM::WgmmaMmaAsyncOp>(op)));
        })
        .wasInterrupted();
  }

  /// Reads the registers that emission asked for, by kernel.
  void readNeededRegisters() {
    neededRegisters.clear();
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      kernel.walk([&](gpu::BarrierOp barrier) {
        if (auto registers =
                barrier->getAttrOfType<IntegerAttr>(llmmem::llm::LlmDialect::kRegisters))
          neededRegisters[kernel.getName()] = registers.getInt();
      });
  }

  llvm::StringMap<int64_t> neededRegisters;
};
} // namespace
