//===- LaunchesToRuntime.cpp - Launches become calls of the runtime --------===//

#include "Profile.h"
#include "llmmem/Conversion/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace llmmem {
#define GEN_PASS_DEF_CONVERTLAUNCHESTORUNTIME
#include "llmmem/Conversion/Passes.h.inc"
} // namespace llmmem

using namespace mlir;

namespace {
/// Writes the calls of lib/Runtime/Cuda.h.
class RuntimeCalls {
public:
  explicit RuntimeCalls(ModuleOp module)
      : module(module), builder(module.getContext()),
        pointer(LLVM::LLVMPointerType::get(module.getContext())) {}

  Type runType() const { return pointer; }

  void replace(gpu::LaunchFuncOp launch, unsigned kernel) {
    Location loc = launch.getLoc();
    builder.setInsertionPoint(launch);
    SmallVector<Value> operands = {runOf(launch), word(loc, kernel)};
    gpu::KernelDim3 grid = launch.getGridSizeOperandValues(),
                    block = launch.getBlockSizeOperandValues();
    for (Value extent : {grid.x, grid.y, grid.z, block.x, block.y, block.z})
      operands.push_back(asWord(extent));
    Value shared = launch.getDynamicSharedMemorySize();
    operands.push_back(shared ? asWord(shared) : word(loc, 0));
    operands.push_back(storeValues(launch));
    operands.push_back(word(loc, launch.getNumKernelOperands()));
    call(loc, "llmmem_cuda_launch", operands);
    launch.erase();
  }

  void replace(memref::CopyOp copy) {
    builder.setInsertionPoint(copy);
    auto type = cast<MemRefType>(copy.getTarget().getType());
    int64_t bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
    call(copy.getLoc(), "llmmem_cuda_copy",
         {runOf(copy), asWord(copy.getTarget()), asWord(copy.getSource()),
          word(copy.getLoc(), bytes)});
    copy.erase();
  }

private:
  /// The argument that each function which launches has been given first.
  static Value runOf(Operation *op) { return op->getParentOfType<func::FuncOp>().getArgument(0); }

  Value word(Location loc, int64_t value) {
    return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value));
  }

  /// A kernel's argument in the low bytes of 64 bits, where the driver reads it.
  Value asWord(Value value) {
    Location loc = value.getLoc();
    Type type = value.getType(), wide = builder.getI64Type();
    if (isa<MemRefType>(type))
      return asWord(memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, value));
    if (type.isIndex())
      return arith::IndexCastOp::create(builder, loc, wide, value);
    if (isa<FloatType>(type)) {
      Type bits = builder.getIntegerType(type.getIntOrFloatBitWidth());
      return asWord(arith::BitcastOp::create(builder, loc, bits, value));
    }
    return type == wide ? value : arith::ExtUIOp::create(builder, loc, wide, value).getResult();
  }

  /// The addresses and numbers that a kernel takes, one after another on the stack.
  Value storeValues(gpu::LaunchFuncOp launch) {
    Location loc = launch.getLoc();
    Type wide = builder.getI64Type();
    Value values;
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(&launch->getParentOfType<func::FuncOp>().getBody().front());
      values = LLVM::AllocaOp::create(builder, loc, pointer, wide,
                                      word(loc, std::max(1u, launch.getNumKernelOperands())));
    }
    for (auto [number, operand] : llvm::enumerate(launch.getKernelOperands())) {
      Value value = asWord(operand);
      Value place = LLVM::GEPOp::create(builder, loc, pointer, wide, values,
                                        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(number)});
      LLVM::StoreOp::create(builder, loc, value, place);
    }
    return values;
  }

  void call(Location loc, StringRef name, ArrayRef<Value> operands) {
    auto function = module.lookupSymbol<func::FuncOp>(name);
    if (!function) {
      OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
      auto type = top.getFunctionType(TypeRange(operands), {});
      function = func::FuncOp::create(top, module.getLoc(), name, type);
      function.setPrivate();
    }
    func::CallOp::create(builder, loc, function, operands);
  }

  ModuleOp module;
  OpBuilder builder;
  Type pointer;
};

struct ConvertLaunchesToRuntime
    : public llmmem::impl::ConvertLaunchesToRuntimeBase<ConvertLaunchesToRuntime> {
  using ConvertLaunchesToRuntimeBase::ConvertLaunchesToRuntimeBase;

  void runOnOperation() override {
    RuntimeCalls runtime(getOperation());
    handRunToFunctions(runtime.runType());
    llvm::MapVector<SymbolRefAttr, unsigned> kernels;
    SmallVector<gpu::LaunchFuncOp> launches;
    getOperation().walk([&](gpu::LaunchFuncOp launch) { launches.push_back(launch); });
    for (gpu::LaunchFuncOp launch : launches) {
      if (failed(check(launch)))
        return signalPassFailure();
      unsigned next = kernels.size();
      runtime.replace(launch, kernels.insert({launch.getKernel(), next}).first->second);
    }
    SmallVector<memref::CopyOp> copies;
    getOperation().walk([&](memref::CopyOp copy) { copies.push_back(copy); });
    for (memref::CopyOp copy : copies)
      runtime.replace(copy);
    SmallVector<Attribute> names;
    for (auto &[name, number] : kernels)
      names.push_back(name);
    getOperation()->setAttr(llmmem::kKernelsAttr, ArrayAttr::get(&getContext(), names));
    numKernels = kernels.size();
    numLaunches = launches.size();
  }

  /// A step is captured as a graph, in which launches follow one another anyway.
  static LogicalResult check(gpu::LaunchFuncOp launch) {
    if (launch.getAsyncToken() || !launch.getAsyncDependencies().empty() || launch.hasClusterSize())
      return launch.emitOpError(
          "waits for tokens or asks for clusters; expected a launch in order");
    for (Value operand : launch.getKernelOperands()) {
      auto buffer = dyn_cast<MemRefType>(operand.getType());
      if (buffer ? !buffer.hasStaticShape() || !buffer.getLayout().isIdentity()
                 : !operand.getType().isIntOrIndexOrFloat())
        return launch.emitOpError("hands over ")
               << operand.getType() << "; expected a flat static buffer or a number";
    }
    return success();
  }

  /// Every function with a body may launch, by itself or by a call; marks are the runtime's.
  void handRunToFunctions(Type run) {
    SmallVector<func::CallOp> calls;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        (void)function.insertArgument(0, run, {}, function.getLoc());
    auto mark = getOperation().lookupSymbol<func::FuncOp>(llmmem::kMarkFunction);
    if (mark)
      mark.setType(FunctionType::get(&getContext(), {run, mark.getArgumentTypes()[0]}, {}));
    getOperation().walk([&](func::CallOp call) { calls.push_back(call); });
    for (func::CallOp call : calls) {
      auto callee = getOperation().lookupSymbol<func::FuncOp>(call.getCallee());
      if (!callee || (callee.isExternal() && callee != mark))
        continue;
      Value first = call->getParentOfType<func::FuncOp>().getArgument(0);
      call->insertOperands(0, first);
    }
  }
};
} // namespace
