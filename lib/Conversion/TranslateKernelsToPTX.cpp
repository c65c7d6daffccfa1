//===- TranslateKernelsToPTX.cpp - NVVM becomes PTX -----------------------===//

#include "llmmem/Conversion/Passes.h"
#include "mlir/Target/LLVM/ModuleToObject.h"
#include "mlir/Target/LLVM/NVVM/Utils.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Target/TargetMachine.h"

namespace llmmem {
#define GEN_PASS_DEF_TRANSLATEKERNELSTOPTX
#include "llmmem/Conversion/Passes.h.inc"
} // namespace llmmem

using namespace mlir;

static constexpr StringLiteral kTriple = "nvptx64-nvidia-cuda";
// PTX 8.0 is CUDA 12.0's, the first with sm_90a.
static constexpr StringLiteral kFeatures = "+ptx80";
// That version has these chips, from the first whose tensor cores our kernels use on. The code
// generator ends the process where it is asked for another.
static constexpr StringLiteral kChips[] = {"sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_90a"};

namespace {
/// Keeps LLVM's default of `AllowFPOpFusion`, Standard: only what is written as one operation (an
/// fma) multiplies and adds with one rounding. So kernels of a GPU have the bits of a CPU's, whose
/// code keeps it, too (NativeCode.cpp); no instruction has a fast-math flag.
class PtxTranslation : public LLVM::ModuleToObject {
public:
  PtxTranslation(gpu::GPUModuleOp module, StringRef chip)
      : ModuleToObject(*module, kTriple, chip, kFeatures, /*optLevel=*/3) {}

  FailureOr<SmallVector<char, 0>> moduleToObject(llvm::Module &llvmModule) override {
    // Upstream has optimised the module; what remains is to print it.
    FailureOr<llvm::TargetMachine *> machine = getOrCreateTargetMachine();
    if (failed(machine))
      return failure();
    FailureOr<SmallString<0>> text = translateModuleToISA(
        llvmModule, **machine, [&] { return getOperation().emitError("has no PTX: "); });
    if (failed(text))
      return failure();
    return SmallVector<char, 0>(text->begin(), text->end());
  }
};

struct TranslateKernelsToPTX
    : public llmmem::impl::TranslateKernelsToPTXBase<TranslateKernelsToPTX> {
  using TranslateKernelsToPTXBase::TranslateKernelsToPTXBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    TranslateKernelsToPTXBase::getDependentDialects(registry);
    registerBuiltinDialectTranslation(registry);
    registerGPUDialectTranslation(registry);
    registerLLVMDialectTranslation(registry);
    registerNVVMDialectTranslation(registry);
  }

  void runOnOperation() override {
    if (!llvm::is_contained(kChips, StringRef(chip))) {
      getOperation().emitError("cannot be lowered for chip '")
          << chip << "'; expected one of " << llvm::join(std::begin(kChips), std::end(kChips), ", ")
          << "; a newer GPU compiles the PTX of sm_90 when it loads it";
      return signalPassFailure();
    }
    NVVM::SerializeGPUModuleBase::init();
    for (auto kernels : llvm::make_early_inc_range(getOperation().getOps<gpu::GPUModuleOp>()))
      if (failed(translate(kernels)))
        return signalPassFailure();
  }

  LogicalResult translate(gpu::GPUModuleOp kernels) {
    for (auto function : kernels.getOps<LLVM::LLVMFuncOp>())
      numKernels += function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName());
    std::optional<SmallVector<char, 0>> text = PtxTranslation(kernels, chip).run();
    if (!text)
      return failure();
    OpBuilder builder(kernels);
    auto target = NVVM::NVVMTargetAttr::get(&getContext(), /*optLevel=*/3, kTriple, chip, kFeatures,
                                            /*flags=*/nullptr, /*linkLibs=*/nullptr);
    Attribute object =
        gpu::ObjectAttr::get(target, gpu::CompilationTarget::Assembly,
                             builder.getStringAttr(StringRef(text->data(), text->size())));
    gpu::BinaryOp::create(builder, kernels.getLoc(), kernels.getName(), Attribute(), {object});
    kernels.erase();
    return success();
  }
};
} // namespace
