//===- EmulateGpuKernels.cpp - GPU kernels become functions for fibers -----===//
//
// Host functions that launch or call collectives, and their callers, take the emulator as their
// last argument. A launch packs its arguments into words, so that the emulator can call any kernel,
// and so does an update on the host. Before a call of the runtime the emulator is told which bytes
// it accesses.
//
//===----------------------------------------------------------------------===//

#include "EmulatedKernel.h"
#include "llmmem/Codegen/Gpu/Cluster.h"
#include "llmmem/Codegen/Gpu/HostCopyCalls.h"
#include "llmmem/Codegen/Gpu/HostUpdates.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Emulation/Lowering/Passes.h"
#include "llmmem/Interfaces/Bytes.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace llmmem {
#define GEN_PASS_DEF_EMULATEGPUKERNELS
#include "llmmem/Emulation/Lowering/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;

/// Returns whether the op calls what the runtime does on buffers
/// (include/llmmem/Runtime/Collectives.h).
static bool callsRuntime(ModuleOp module, func::CallOp call) {
  auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
  return callee && callee.isExternal() && !callee.getName().starts_with("llmmem_emulate_") &&
         (isDeviceHostCopy(callee.getName()) || callee.getName() == kDeviceUpdateWait ||
          llvm::any_of(call.getOperandTypes(), llvm::IsaPred<LLVM::LLVMPointerType>));
}

namespace {

/// Finds the functions through which the step reaches its launches and calls of the runtime.
class HostFunctions {
public:
  explicit HostFunctions(ModuleOp module) {
    llvm::DenseMap<StringAttr, SmallVector<func::FuncOp>> callers;
    SmallVector<func::FuncOp> work;
    module.walk([&](gpu::LaunchFuncOp launch) {
      if (auto function = launch->getParentOfType<func::FuncOp>())
        work.push_back(function);
    });
    module.walk([&](func::CallOp call) {
      if (auto caller = call->getParentOfType<func::FuncOp>()) {
        callers[call.getCalleeAttr().getAttr()].push_back(caller);
        if (callsRuntime(module, call) || isHostUpdate(call))
          work.push_back(caller);
      }
    });
    while (!work.empty()) {
      func::FuncOp function = work.pop_back_val();
      if (functions.insert(function))
        work.append(callers.lookup(function.getSymNameAttr()));
    }
    for (func::FuncOp function : functions)
      if (callers.contains(function.getSymNameAttr()))
        called.insert(function);
  }

  ArrayRef<func::FuncOp> all() const { return functions.getArrayRef(); }
  bool contains(func::FuncOp function) const { return functions.contains(function); }
  bool isCalled(func::FuncOp function) const { return called.contains(function); }

private:
  llvm::SetVector<func::FuncOp> functions;
  llvm::DenseSet<func::FuncOp> called;
};

class HostEmulation {
public:
  HostEmulation(ModuleOp module, const LLVMTypeConverter &types,
                llvm::DenseMap<StringAttr, std::pair<int64_t, func::FuncOp>> &kernels)
      : module(module), types(types), kernels(kernels), hosts(module), builder(module.getContext()),
        pointer(LLVM::LLVMPointerType::get(module.getContext())), integer(builder.getI64Type()) {}

  LogicalResult run();

  SmallVector<Attribute> launches, calls;

private:
  LogicalResult convertLaunch(gpu::LaunchFuncOp launch);
  LogicalResult convertCall(func::CallOp call);
  void announceAccesses(func::CallOp call);
  void convertHostCopy(func::CallOp call);
  void convertHostUpdate(func::CallOp call);
  void convertUpdateWait(func::CallOp call);
  LogicalResult checkRecord(func::CallOp call);
  int64_t recordCall(func::CallOp call);
  int64_t parameterOf(Value operand, func::FuncOp host) const;
  LogicalResult packArgument(gpu::LaunchFuncOp launch, Value operand, Value place);
  Value words(func::FuncOp host, int64_t count);
  Value wordAddress(Value base, int64_t number);
  Value emulator(Operation *op) {
    return op->getParentOfType<func::FuncOp>().getArguments().back();
  }
  Value integerConstant(int64_t value) {
    return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value));
  }

  ModuleOp module;
  const LLVMTypeConverter &types;
  llvm::DenseMap<StringAttr, std::pair<int64_t, func::FuncOp>> &kernels;
  HostFunctions hosts;
  OpBuilder builder;
  LLVM::LLVMPointerType pointer;
  IntegerType integer;
  Location loc = builder.getUnknownLoc();
};

LogicalResult HostEmulation::run() {
  for (func::FuncOp host : hosts.all())
    if (failed(host.insertArgument(host.getNumArguments(), pointer, {}, host.getLoc())))
      return failure();
  for (func::FuncOp host : hosts.all()) {
    SmallVector<Operation *> ops;
    host.walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops) {
      builder.setInsertionPoint(op);
      loc = op->getLoc();
      // Each of them erases the op.
      if (auto launch = dyn_cast<gpu::LaunchFuncOp>(op)) {
        if (failed(convertLaunch(launch)))
          return failure();
      } else if (auto call = dyn_cast<func::CallOp>(op)) {
        if (failed(convertCall(call)))
          return failure();
      }
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Calls of host functions
//===----------------------------------------------------------------------===//

/// Returns the number of the record of the call's values, or -1 if the call does not describe them.
int64_t HostEmulation::recordCall(func::CallOp call) {
  auto values = call->getAttrOfType<DenseI64ArrayAttr>(llm::LlmDialect::kValues);
  auto writes = call->getAttrOfType<DenseI64ArrayAttr>(llm::LlmDialect::kWrites);
  if (!values || !writes)
    return -1;
  NamedAttrList record;
  record.set("values", values);
  record.set("writes", writes);
  record.set("location", call.getLoc());
  calls.push_back(record.getDictionary(call.getContext()));
  return calls.size() - 1;
}

/// Tells the emulator of each buffer that a call of the runtime receives, in the order of its
/// arguments.
void HostEmulation::announceAccesses(func::CallOp call) {
  func::FuncOp hook =
      emulationHook(module, "llmmem_emulate_runtime_access", {pointer, integer, integer, integer});
  for (Value operand : call.getOperands()) {
    auto address = operand.getDefiningOp<LLVM::IntToPtrOp>();
    auto bits = address ? address.getArg().getDefiningOp<arith::IndexCastOp>() : nullptr;
    auto begin =
        bits ? bits.getIn().getDefiningOp<memref::ExtractAlignedPointerAsIndexOp>() : nullptr;
    if (!begin)
      continue; // This is a null pointer.
    auto type = cast<MemRefType>(begin.getSource().getType());
    int64_t bytes = bytesOfBuffer(type);
    int64_t parameter = parameterOf(begin.getSource(), call->getParentOfType<func::FuncOp>());
    func::CallOp::create(builder, loc, hook,
                         ValueRange{emulator(call), address.getArg(), integerConstant(bytes),
                                    integerConstant(parameter)});
  }
}

/// Converts a copy between device and host, its start, or its wait, which the emulator executes.
void HostEmulation::convertHostCopy(func::CallOp call) {
  SmallVector<Value> operands = {emulator(call)};
  StringRef name = "llmmem_emulate_host_copy_wait";
  if (call.getCallee() != kDeviceHostCopyWait) {
    name = "llmmem_emulate_host_copy";
    operands.push_back(integerConstant(recordCall(call)));
  }
  llvm::append_range(operands, call.getOperands());
  if (call.getCallee() != kDeviceHostCopyWait)
    operands.push_back(integerConstant(call.getCallee() == kDeviceHostCopyStart));
  SmallVector<Type> types(operands.size(), integer);
  types.front() = pointer;
  func::CallOp::create(builder, loc, emulationHook(module, name, types), operands);
  call->erase();
}

/// The emulator runs the kernel, on the addresses of its buffers.
void HostEmulation::convertHostUpdate(func::CallOp call) {
  auto host = call->getParentOfType<func::FuncOp>();
  int64_t count = call.getNumOperands();
  Value addresses = words(host, count), sizes = words(host, count);
  for (auto [number, operand] : llvm::enumerate(call.getOperands())) {
    auto type = cast<MemRefType>(operand.getType());
    Value begin = memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, operand);
    Value address = arith::IndexCastOp::create(builder, loc, integer, begin);
    LLVM::StoreOp::create(builder, loc, address, wordAddress(addresses, number));
    int64_t bytes = bytesOfBuffer(type);
    LLVM::StoreOp::create(builder, loc, integerConstant(bytes), wordAddress(sizes, number));
  }
  auto kernel = module.lookupSymbol<func::FuncOp>(call.getCallee());
  Value function = addressOfWordsEntry(builder, loc, kernel);
  SmallVector<Type> types = {pointer, integer, pointer, pointer, pointer, integer};
  func::CallOp::create(builder, loc, emulationHook(module, "llmmem_emulate_update", types),
                       ValueRange{emulator(call), integerConstant(recordCall(call)), function,
                                  addresses, sizes,
                                  integerConstant(call->hasAttr(llm::LlmDialect::kStarted))});
  call->erase();
}

void HostEmulation::convertUpdateWait(func::CallOp call) {
  func::FuncOp hook = emulationHook(module, "llmmem_emulate_update_wait", {pointer});
  func::CallOp::create(builder, loc, hook, ValueRange{emulator(call)});
  call->erase();
}

/// Checks that what a call says about its values applies to its operands.
LogicalResult HostEmulation::checkRecord(func::CallOp call) {
  auto values = call->getAttrOfType<DenseI64ArrayAttr>(llm::LlmDialect::kValues);
  auto writes = call->getAttrOfType<DenseI64ArrayAttr>(llm::LlmDialect::kWrites);
  int64_t count = call.getNumOperands();
  auto isBuffer = [](Type type) {
    auto buffer = dyn_cast<MemRefType>(type);
    return buffer && buffer.hasStaticShape() && buffer.getLayout().isIdentity();
  };
  auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
  if (isHostUpdate(call) && (!values || !writes || !callee || callee.isExternal() ||
                             !llvm::all_of(call.getOperandTypes(), isBuffer)))
    return call.emitOpError("is an update on the host; expected a function with a body, buffers of "
                            "static shape, 'llm.values' and 'llm.writes'");
  if (values && values.size() != count)
    return call.emitOpError("has 'llm.values' of ")
           << values.size() << " operands, expected " << count;
  if (writes && llvm::any_of(writes.asArrayRef(),
                             [&](int64_t number) { return number < 0 || number >= count; }))
    return call.emitOpError("has 'llm.writes' beyond its ") << count << " operands";
  return success();
}

LogicalResult HostEmulation::convertCall(func::CallOp call) {
  if (isDeviceHostCopy(call.getCallee())) {
    convertHostCopy(call);
    return success();
  }
  if (call.getCallee() == kDeviceUpdateWait) {
    convertUpdateWait(call);
    return success();
  }
  if (isHostUpdate(call)) {
    if (failed(checkRecord(call)))
      return failure();
    convertHostUpdate(call);
    return success();
  }
  if (callsRuntime(module, call))
    announceAccesses(call);
  auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
  if (!callee || !hosts.contains(callee))
    return success();
  if (failed(checkRecord(call)))
    return failure();
  func::FuncOp announce = emulationHook(module, "llmmem_emulate_call", {pointer, integer});
  func::CallOp::create(builder, loc, announce,
                       ValueRange{emulator(call), integerConstant(recordCall(call))});
  SmallVector<Value> operands(call.getOperands());
  operands.push_back(emulator(call));
  auto converted = func::CallOp::create(builder, loc, callee, operands);
  converted->setDiscardableAttrs(call->getDiscardableAttrDictionary());
  call->replaceAllUsesWith(converted);
  call->erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Returns the parameter of its function that the operand aliases, or -1.
int64_t HostEmulation::parameterOf(Value operand, func::FuncOp host) const {
  if (auto buffer = dyn_cast<MemrefValue>(operand))
    operand = memref::skipViewLikeOps(buffer);
  auto argument = dyn_cast<BlockArgument>(operand);
  bool isParameter = argument && argument.getOwner() == &host.front() && hosts.isCalled(host);
  return isParameter ? argument.getArgNumber() : -1;
}

/// Returns memory on the stack, allocated once at the function's entry.
Value HostEmulation::words(func::FuncOp host, int64_t count) {
  OpBuilder entry = OpBuilder::atBlockBegin(&host.front());
  Value size = LLVM::ConstantOp::create(entry, loc, integer, std::max<int64_t>(count, 1));
  return LLVM::AllocaOp::create(entry, loc, pointer, integer, size);
}

Value HostEmulation::wordAddress(Value base, int64_t number) {
  return LLVM::GEPOp::create(builder, loc, pointer, integer, base,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(number)});
}

LogicalResult HostEmulation::packArgument(gpu::LaunchFuncOp launch, Value operand, Value place) {
  if (auto buffer = dyn_cast<MemRefType>(operand.getType())) {
    if (!buffer.hasStaticShape() || !buffer.getLayout().isIdentity())
      return launch.emitOpError("gives ") << buffer
                                          << "; expected buffers of static shape that "
                                             "have no offset";
    operand = memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, operand);
  }
  if (operand.getType().isIndex())
    operand = arith::IndexCastOp::create(builder, loc, integer, operand);
  if (!LLVM::isCompatibleType(operand.getType()) ||
      types.convertType(operand.getType()) != operand.getType() ||
      operand.getType().getIntOrFloatBitWidth() > 64)
    return launch.emitOpError("gives ")
           << operand.getType() << "; expected buffers and numbers of 64 bits at most";
  LLVM::StoreOp::create(builder, loc, operand, place);
  return success();
}

LogicalResult HostEmulation::convertLaunch(gpu::LaunchFuncOp launch) {
  auto known = kernels.find(launch.getKernelName());
  if (known == kernels.end())
    return launch.emitOpError("launches '") << launch.getKernel() << "', which does not exist";
  auto [number, kernel] = known->second;
  if (launch.getAsyncToken() || !launch.getAsyncDependencies().empty() || launch.hasClusterSize())
    return launch.emitOpError("is asynchronous or asks for clusters, which the emulator does not "
                              "know; expected a kernel that names its clusters' size");
  auto host = launch->getParentOfType<func::FuncOp>();
  auto operands = launch.getKernelOperands();
  Value arguments = words(host, operands.size()), shape = words(host, 7);
  SmallVector<int64_t> parameters;
  for (auto [index, operand] : llvm::enumerate(operands)) {
    parameters.push_back(parameterOf(operand, host));
    if (failed(packArgument(launch, operand, wordAddress(arguments, index))))
      return failure();
  }
  gpu::KernelDim3 grid = launch.getGridSizeOperandValues(),
                  block = launch.getBlockSizeOperandValues();
  Value shared = launch.getDynamicSharedMemorySize();
  if (shared)
    shared = arith::ExtSIOp::create(builder, loc, integer, shared);
  else
    shared = integerConstant(0);
  std::array<Value, 7> sizes = {grid.x, grid.y, grid.z, block.x, block.y, block.z, shared};
  for (auto [index, size] : llvm::enumerate(sizes)) {
    if (size.getType().isIndex())
      size = arith::IndexCastOp::create(builder, loc, integer, size);
    LLVM::StoreOp::create(builder, loc, size, wordAddress(shape, index));
  }
  Value function =
      func::ConstantOp::create(builder, loc, kernel.getFunctionType(), kernel.getSymName());
  function = UnrealizedConversionCastOp::create(builder, loc, pointer, function).getResult(0);
  func::FuncOp hook =
      emulationHook(module, "llmmem_emulate_launch", {pointer, integer, pointer, pointer, pointer});
  func::CallOp::create(
      builder, loc, hook,
      ValueRange{emulator(launch), integerConstant(launches.size()), function, arguments, shape});
  NamedAttrList record;
  record.set("kernel", builder.getI64IntegerAttr(number));
  record.set("parameters", builder.getDenseI64ArrayAttr(parameters));
  record.set("location", launch.getLoc());
  launches.push_back(record.getDictionary(launch.getContext()));
  launch.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

struct EmulateGpuKernels : public llmmem::impl::EmulateGpuKernelsBase<EmulateGpuKernels> {
  using EmulateGpuKernelsBase::EmulateGpuKernelsBase;

  void runOnOperation() override {
    if (failed(checkSizes(getOperation())) || failed(lowerReductions()) || failed(emulate()))
      signalPassFailure();
  }

  /// The lowering to NVVM does this, too.
  LogicalResult lowerReductions() {
    RewritePatternSet patterns(&getContext());
    populateGpuBreakDownSubgroupReducePatterns(patterns);
    populateGpuLowerSubgroupReduceToShufflePatterns(patterns, /*subgroupSize=*/32);
    populateGpuLowerClusteredSubgroupReduceToShufflePatterns(patterns, /*subgroupSize=*/32);
    return applyPatternsGreedily(getOperation(), std::move(patterns));
  }

  LogicalResult emulate() {
    ModuleOp module = getOperation();
    LLVMTypeConverter types(&getContext());
    EmulatedKernels records;
    llvm::DenseMap<StringAttr, std::pair<int64_t, func::FuncOp>> kernels;
    WalkResult launches =
        module.walk([](gpu::LaunchFuncOp launch) { return WalkResult(verifyClusters(launch)); });
    if (launches.wasInterrupted())
      return failure();
    SmallVector<gpu::GPUModuleOp> kernelModules(module.getOps<gpu::GPUModuleOp>());
    for (gpu::GPUModuleOp kernelModule : kernelModules)
      for (auto kernel : llvm::make_early_inc_range(kernelModule.getOps<gpu::GPUFuncOp>())) {
        int64_t number = records.kernels.size();
        StringAttr name = kernel.getNameAttr();
        FailureOr<func::FuncOp> function = emulateKernel(kernel, types, records);
        if (failed(function))
          return failure();
        kernels[name] = {number, *function};
      }
    HostEmulation host(module, types, kernels);
    if (failed(host.run()))
      return failure();
    for (gpu::GPUModuleOp kernelModule : kernelModules)
      kernelModule.erase();
    module->removeAttr(gpu::GPUDialect::getContainerModuleAttrName());
    Builder builder(&getContext());
    NamedAttrList all;
    all.set("sites", builder.getArrayAttr(records.sites));
    all.set("kernels", builder.getArrayAttr(records.kernels));
    all.set("launches", builder.getArrayAttr(host.launches));
    all.set("calls", builder.getArrayAttr(host.calls));
    module->setAttr(llm::LlmDialect::kEmulation, all.getDictionary(&getContext()));
    return success();
  }
};

} // namespace
