//===- EmulatedKernel.cpp - A GPU kernel becomes a function of one thread --===//

#include "KernelEmulation.h"
#include "llmmem/Alignment.h"
#include "llmmem/Interfaces/Bytes.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace llmmem;

// Aligns each workgroup attribution, and dynamic shared memory.
static constexpr int64_t kSharedAlignment = kArenaAlignment;

/// Returns whether this op needs no rewriting: arithmetic, or control flow.
static bool isPlain(Operation *op) {
  if (isa<gpu::GPUDialect, NVVM::NVVMDialect>(op->getDialect()))
    return isa<gpu::ReturnOp>(op);
  return isMemoryEffectFree(op) || op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
         op->hasTrait<OpTrait::IsTerminator>();
}

void KernelEmulation::addKernel(StringRef name) {
  SmallVector<int64_t> bytes;
  for (Type type : kernel.getArgumentTypes()) {
    auto buffer = dyn_cast<MemRefType>(type);
    bytes.push_back(buffer ? buffer.getNumElements() * bytesOfNumber(buffer.getElementType()) : 0);
  }
  NamedAttrList facts;
  facts.set("name", builder.getStringAttr(name));
  facts.set("buffer_bytes", builder.getDenseI64ArrayAttr(bytes));
  facts.set("shared_bytes", builder.getI64IntegerAttr(sharedBytes));
  if (clusterBlocks > 1)
    facts.set("cluster_blocks", builder.getI64IntegerAttr(clusterBlocks));
  if (sites.synchronize())
    facts.set("synchronizes", builder.getUnitAttr());
  if (sites.haveWgmma())
    facts.set("has_wgmma", builder.getUnitAttr());
  records.kernels.push_back(facts.getDictionary(kernel.getContext()));
}

void KernelEmulation::placeShared() {
  for (BlockArgument attribution : kernel.getWorkgroupAttributions()) {
    auto type = cast<MemRefType>(attribution.getType());
    sharedOffsets.push_back(sharedBytes);
    sharedBytes += llvm::alignTo(type.getNumElements() * bytesOfNumber(type.getElementType()),
                                 kSharedAlignment);
  }
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

/// Hooks and the CPU's LLVM know one address space.
static void dropMemorySpaces(Operation *op) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([](MemRefType type) -> std::optional<Type> {
    if (!type.getMemorySpace())
      return std::nullopt;
    return MemRefType::get(type.getShape(), type.getElementType(), type.getLayout());
  });
  replacer.recursivelyReplaceElementsIn(op, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

FailureOr<func::FuncOp> KernelEmulation::run() {
  for (Type type : kernel.getArgumentTypes())
    if (auto buffer = dyn_cast<MemRefType>(type);
        buffer && !(buffer.hasStaticShape() && buffer.getLayout().isIdentity()))
      return kernel.emitOpError("takes ") << type
                                          << "; expected buffers of static shape that "
                                             "have no offset";
  if (failed(verifyClusterSize(kernel)))
    return failure();
  clusterBlocks = clusterBlocksOf(kernel);
  placeShared();
  SmallVector<Operation *> ops;
  WalkResult walk = kernel.getBody().walk([&](Operation *op) {
    ops.push_back(op);
    return WalkResult(sites.add(op));
  });
  if (walk.wasInterrupted())
    return failure();
  addKernel(kernel.getName());
  dropMemorySpaces(kernel);
  createFunction();
  for (Operation *op : ops)
    if (failed(rewrite(op)))
      return failure();
  return function;
}

void KernelEmulation::createFunction() {
  auto module = kernel->getParentOfType<ModuleOp>();
  builder.setInsertionPointToEnd(module.getBody());
  loc = kernel.getLoc();
  function = func::FuncOp::create(builder, loc, kernel.getName(),
                                  builder.getFunctionType({pointer, pointer}, {}));
  function.setPrivate();
  SymbolTable(module).insert(function); // This makes the name unique.
  function.getBody().takeBody(kernel.getBody());
  Block &entry = function.front();
  entry.insertArgument(0u, pointer, loc);
  entry.insertArgument(1u, pointer, loc);
  builder.setInsertionPointToStart(&entry);
  entryEnd = integerConstant(0).getDefiningOp();
  unpackArguments();
}

void KernelEmulation::unpackArguments() {
  Block &entry = function.front();
  builder.setInsertionPoint(entryEnd);
  unsigned numArguments = kernel.getNumArguments();
  for (unsigned number = 0; number < numArguments; ++number) {
    BlockArgument argument = entry.getArgument(2 + number);
    auto buffer = dyn_cast<MemRefType>(argument.getType());
    Type stored = buffer ? Type(pointer) : types.convertType(argument.getType());
    Value value =
        LLVM::LoadOp::create(builder, loc, stored, wordAddress(entry.getArgument(1), number));
    if (buffer)
      value = MemRefDescriptor::fromStaticShape(builder, loc, types, buffer, value);
    argument.replaceAllUsesWith(
        value.getType() == argument.getType() ? value : cast(argument.getType(), value));
  }
  for (auto [number, offset] : llvm::enumerate(sharedOffsets)) {
    BlockArgument attribution = entry.getArgument(2 + numArguments + number);
    attribution.replaceAllUsesWith(sharedMemory(offset, cast<MemRefType>(attribution.getType())));
  }
  entry.eraseArguments(2, entry.getNumArguments() - 2);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult KernelEmulation::rewrite(Operation *op) {
  builder.setInsertionPoint(op);
  loc = op->getLoc();
  if (isa<nvgpu::DeviceAsyncCopyOp, nvgpu::LdMatrixOp>(op))
    return rewriteTileAccess(op);
  for (const KernelAccess &access : kernelAccessesOf(op)) {
    checkAccess(op, access);
    return success();
  }
  if (isa<NVVM::ClusterArriveOp, NVVM::ClusterWaitOp, NVVM::ClusterId, LLVM::LoadOp, LLVM::StoreOp,
          NVVM::MapaOp>(op))
    return rewriteOfCluster(op);
  if (Value index = threadIndexOf(op)) {
    op->getResult(0).replaceAllUsesWith(index);
    op->erase();
    return success();
  }
  return rewriteOther(op);
}

KernelEmulation::HookCall KernelEmulation::hookOf(Operation *op) {
  auto site = [&] { return integerConstant(sites.numberOf(op)); };
  return llvm::TypeSwitch<Operation *, HookCall>(op)
      .Case([&](gpu::BarrierOp) { return HookCall{"llmmem_emulate_barrier", {site()}}; })
      .Case([&](NVVM::SyncWarpOp barrier) {
        return HookCall{"llmmem_emulate_warp_barrier", {site(), barrier.getMask()}};
      })
      .Case([&](NVVM::WgmmaFenceAlignedOp) { return HookCall{"llmmem_emulate_fence_sums"}; })
      .Case([&](NVVM::WgmmaGroupSyncAlignedOp) { return HookCall{"llmmem_emulate_commit_wgmma"}; })
      .Case([&](NVVM::WgmmaWaitGroupSyncOp wait) {
        return HookCall{"llmmem_emulate_wait_for_wgmma",
                        {integerConstant(static_cast<int64_t>(wait.getGroup()))}};
      })
      .Case([&](NVVM::FenceMbarrierInitOp) { return HookCall{"llmmem_emulate_fence_barriers"}; })
      .Case([&](NVVM::CpAsyncCommitGroupOp) { return HookCall{"llmmem_emulate_commit_copies"}; })
      .Case([&](NVVM::CpAsyncWaitGroupOp wait) {
        return HookCall{"llmmem_emulate_wait_for_copies", {integerConstant(wait.getN())}};
      })
      .Default([](Operation *) { return HookCall(); });
}

LogicalResult KernelEmulation::rewriteOther(Operation *op) {
  Value thread = function.getArgument(0);
  auto erase = [&] {
    op->erase();
    return success();
  };
  if (HookCall hook = hookOf(op); !hook.name.empty()) {
    hook.arguments.insert(hook.arguments.begin(), thread);
    callHook(hook.name, hook.arguments);
    return erase();
  }
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](gpu::DynamicSharedMemoryOp memory) {
        op->getResult(0).replaceAllUsesWith(sharedMemory(sharedBytes, memory.getType()));
        return erase();
      })
      .Case([&](memref::GetGlobalOp table) { return moveTable(table); })
      .Case([&](gpu::ShuffleOp shuffle) {
        rewriteShuffle(shuffle);
        return success();
      })
      // It is computed exactly: its users correct it, so its last bits affect no kernel's results.
      .Case([&](NVVM::RcpApproxFtzF32Op inverse) {
        Value one = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(1.0f));
        inverse.replaceAllUsesWith(
            arith::DivFOp::create(builder, loc, one, inverse.getArg()).getResult());
        return erase();
      })
      .Case([&](NVVM::MmaOp mma) { return rewriteMma(mma); })
      .Case([&](NVVM::WgmmaMmaAsyncOp product) {
        rewriteWgmma(product);
        return success();
      })
      .Case([&](LLVM::CallIntrinsicOp call) { return rewriteIntrinsic(call); })
      .Case([&](NVVM::FenceProxyOp fence) -> LogicalResult {
        if (fence.getKind() != NVVM::ProxyKind::async_shared)
          return fence.emitOpError("is a fence that the emulator does not support; expected "
                                   "#nvvm.proxy_kind<async.shared>");
        callHook("llmmem_emulate_fence_proxy", {thread});
        return erase();
      })
      .Case<NVVM::MBarrierInitOp, NVVM::MBarrierArriveOp, NVVM::MBarrierArriveExpectTxOp,
            NVVM::MBarrierTryWaitParityOp, NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp>(
          [&](auto) { return rewriteBarrierObject(op); })
      .Case([&](LLVM::ExtractValueOp) {
        if (int64_t number = sites.numberOf(op, /*otherwise=*/-1); number >= 0)
          callHook("llmmem_emulate_take_sums", {thread, integerConstant(number)});
        return success();
      })
      .Case([&](gpu::ReturnOp) {
        func::ReturnOp::create(builder, loc);
        return erase();
      })
      .Default([&](Operation *) -> LogicalResult {
        if (isPlain(op))
          return success();
        return op->emitOpError("is not allowed in a kernel that is emulated: docs/Design/Gpu.md "
                               "says what kernels may contain");
      });
}

std::pair<Value, Value> KernelEmulation::addressOf(const KernelAccess &access) {
  auto type = cast<MemRefType>(access.memref.getType());
  auto [strides, offset] = type.getStridesAndOffset();
  Value bytes = integerConstant(bytesOfNumber(type.getElementType()));
  auto dynamic = [](int64_t number) { return ShapedType::isDynamic(number); };
  Value first;
  if (llvm::any_of(strides, dynamic) || dynamic(offset)) {
    auto metadata = memref::ExtractStridedMetadataOp::create(builder, loc, access.memref);
    first = toInteger(metadata.getOffset());
    for (auto [index, stride] : llvm::zip_equal(access.indices, metadata.getStrides()))
      first = arith::AddIOp::create(
          builder, loc, first,
          arith::MulIOp::create(builder, loc, toInteger(index), toInteger(stride)));
  } else {
    first = integerConstant(offset);
    for (auto [index, stride] : llvm::zip_equal(access.indices, strides))
      first = arith::AddIOp::create(
          builder, loc, first,
          arith::MulIOp::create(builder, loc, toInteger(index), integerConstant(stride)));
  }
  Value base =
      toInteger(memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, access.memref));
  return {base, arith::MulIOp::create(builder, loc, first, bytes)};
}

void KernelEmulation::checkAccess(Operation *op, const KernelAccess &access) {
  auto [base, offset] = addressOf(access);
  callHook("llmmem_emulate_access",
           {function.getArgument(0), integerConstant(sites.numberOf(op)), base, offset});
}

void KernelEmulation::rewriteShuffle(gpu::ShuffleOp shuffle) {
  Type type = shuffle.getType(0);
  auto vector = dyn_cast<VectorType>(type);
  Type element = vector ? vector.getElementType() : type;
  unsigned width = element.getIntOrFloatBitWidth() * (vector ? vector.getNumElements() : 1);
  Type word = builder.getIntegerType(width);
  Value bits = shuffle.getValue();
  if (vector) {
    auto whole = VectorType::get({1}, word);
    bits = vector::ExtractOp::create(builder, loc,
                                     vector::BitCastOp::create(builder, loc, whole, bits), 0);
  } else if (type != word) {
    bits = arith::BitcastOp::create(builder, loc, word, bits);
  }
  if (width < 64)
    bits = arith::ExtUIOp::create(builder, loc, integer, bits);
  func::CallOp call = callHook("llmmem_emulate_shuffle",
                               {function.getArgument(0), integerConstant(sites.numberOf(shuffle)),
                                bits, shuffle.getOffset(), shuffle.getWidth()},
                               {integer, integer});
  Value result = call.getResult(0);
  if (width < 64)
    result = arith::TruncIOp::create(builder, loc, word, result);
  if (vector)
    result = vector::BitCastOp::create(
        builder, loc, type,
        vector::BroadcastOp::create(builder, loc, VectorType::get({1}, word), result));
  else if (type != word)
    result = arith::BitcastOp::create(builder, loc, type, result);
  Value valid = arith::TruncIOp::create(builder, loc, builder.getI1Type(), call.getResult(1));
  shuffle.replaceAllUsesWith(ValueRange{result, valid});
  shuffle.erase();
}

/// Moves a table from the gpu.module to the module, where the kernel's function is.
LogicalResult KernelEmulation::moveTable(memref::GetGlobalOp use) {
  auto table = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(kernel, use.getNameAttr());
  if (!table)
    return use.emitOpError("names no memref.global");
  auto module = function->getParentOfType<ModuleOp>();
  std::string name =
      (kernel->getParentOfType<gpu::GPUModuleOp>().getName() + "_" + table.getSymName()).str();
  if (!module.lookupSymbol(name)) {
    OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
    auto moved = cast<memref::GlobalOp>(top.clone(*table));
    moved.setSymName(name);
    dropMemorySpaces(moved);
  }
  use.setName(name);
  return success();
}

FailureOr<func::FuncOp> llmmem::emulateKernel(gpu::GPUFuncOp kernel, const LLVMTypeConverter &types,
                                              EmulatedKernels &records) {
  return KernelEmulation(kernel, types, records).run();
}
