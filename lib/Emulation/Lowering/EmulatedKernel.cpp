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

func::FuncOp llmmem::emulationHook(ModuleOp module, StringRef name, TypeRange inputs,
                                   TypeRange results) {
  if (auto known = module.lookupSymbol<func::FuncOp>(name))
    return known;
  OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
  auto function =
      func::FuncOp::create(top, module.getLoc(), name, top.getFunctionType(inputs, results));
  function.setPrivate();
  return function;
}

static constexpr int64_t kWarp = 32;
// Where one workgroup attribution, or dynamic shared memory, ends and the next begins.
static constexpr int64_t kSharedAlignment = kArenaAlignment;

/// Whether this op needs no rewriting: arithmetic, or control flow.
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
  SymbolTable(module).insert(function); // which makes the name unique
  function.getBody().takeBody(kernel.getBody());
  Block &entry = function.front();
  entry.insertArgument(0u, pointer, loc);
  entry.insertArgument(1u, pointer, loc);
  builder.setInsertionPointToStart(&entry);
  entryEnd = integerConstant(0).getDefiningOp();
  unpackArguments();
}

Value KernelEmulation::wordAddress(Value base, int64_t number) {
  return LLVM::GEPOp::create(builder, loc, pointer, integer, base,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(number)});
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

/// Loaded once, at the kernel's entry.
Value KernelEmulation::threadWord(int64_t number, Type type) {
  Value &known = words[number];
  if (!known) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(entryEnd);
    known = LLVM::LoadOp::create(builder, loc, type, wordAddress(function.getArgument(0), number));
  }
  return known;
}

Value KernelEmulation::sharedMemory(int64_t offset, MemRefType type) {
  Value begin =
      LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), threadWord(kShared, pointer),
                          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
  if (type.hasStaticShape())
    return cast(type, MemRefDescriptor::fromStaticShape(builder, loc, types, type, begin));
  auto buffer = MemRefDescriptor::poison(builder, loc, types.convertType(type));
  buffer.setAllocatedPtr(builder, loc, begin);
  buffer.setAlignedPtr(builder, loc, begin);
  buffer.setConstantOffset(builder, loc, 0);
  buffer.setSize(builder, loc, 0, threadWord(kDynamicBytes, integer));
  buffer.setConstantStride(builder, loc, 0, 1);
  return cast(type, buffer);
}

Value KernelEmulation::entryWords(int64_t count) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(entryEnd);
  return LLVM::AllocaOp::create(builder, loc, pointer, builder.getI32Type(),
                                LLVM::ConstantOp::create(builder, loc, integer, count));
}

func::CallOp KernelEmulation::callHook(StringRef name, ValueRange operands, TypeRange results) {
  func::FuncOp hook =
      emulationHook(function->getParentOfType<ModuleOp>(), name, TypeRange(operands), results);
  return func::CallOp::create(builder, loc, hook, operands);
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

/// The value of an op that gives a number of the thread or of the launch; null for other ops.
Value KernelEmulation::threadIndexOf(Operation *op) {
  auto wordOf = [&](auto id, int64_t firstWord) {
    return toIndex(threadWord(firstWord + static_cast<int64_t>(id.getDimension()), integer));
  };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](gpu::ThreadIdOp id) { return wordOf(id, kThread); })
      .Case([&](gpu::BlockIdOp id) { return wordOf(id, kBlock); })
      .Case([&](gpu::BlockDimOp id) { return wordOf(id, kBlockSize); })
      .Case([&](gpu::GridDimOp id) { return wordOf(id, kGridSize); })
      .Case([&](gpu::LaneIdOp) {
        return toIndex(
            arith::RemUIOp::create(builder, loc, linearThread(), integerConstant(kWarp)));
      })
      .Case([&](gpu::SubgroupIdOp) {
        return toIndex(
            arith::DivUIOp::create(builder, loc, linearThread(), integerConstant(kWarp)));
      })
      .Case([&](gpu::SubgroupSizeOp) { return toIndex(integerConstant(kWarp)); })
      .Default([](Operation *) { return Value(); });
}

LogicalResult KernelEmulation::rewriteOther(Operation *op) {
  Value thread = function.getArgument(0);
  auto erase = [&] {
    op->erase();
    return success();
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](gpu::DynamicSharedMemoryOp memory) {
        op->getResult(0).replaceAllUsesWith(sharedMemory(sharedBytes, memory.getType()));
        return erase();
      })
      .Case([&](memref::GetGlobalOp table) { return moveTable(table); })
      .Case([&](gpu::BarrierOp) {
        callHook("llmmem_emulate_barrier", {thread, integerConstant(sites.numberOf(op))});
        return erase();
      })
      .Case([&](NVVM::SyncWarpOp barrier) {
        callHook("llmmem_emulate_warp_barrier",
                 {thread, integerConstant(sites.numberOf(op)), barrier.getMask()});
        return erase();
      })
      .Case([&](gpu::ShuffleOp shuffle) {
        rewriteShuffle(shuffle);
        return success();
      })
      // Exactly: what uses it corrects it, so its last bits are those of no kernel's results.
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
      .Case([&](NVVM::WgmmaFenceAlignedOp) {
        callHook("llmmem_emulate_fence_sums", {thread});
        return erase();
      })
      .Case([&](NVVM::WgmmaGroupSyncAlignedOp) {
        callHook("llmmem_emulate_commit_wgmma", {thread});
        return erase();
      })
      .Case([&](NVVM::WgmmaWaitGroupSyncOp wait) {
        callHook("llmmem_emulate_wait_for_wgmma",
                 {thread, integerConstant(static_cast<int64_t>(wait.getGroup()))});
        return erase();
      })
      .Case([&](NVVM::FenceMbarrierInitOp) {
        callHook("llmmem_emulate_fence_barriers", {thread});
        return erase();
      })
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
      .Case([&](NVVM::CpAsyncCommitGroupOp) {
        callHook("llmmem_emulate_commit_copies", {thread});
        return erase();
      })
      .Case([&](NVVM::CpAsyncWaitGroupOp wait) {
        callHook("llmmem_emulate_wait_for_copies", {thread, integerConstant(wait.getN())});
        return erase();
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

/// x + width (y + height z), from which lanes and warps are numbered.
Value KernelEmulation::linearThread() {
  auto word = [&](int64_t number) { return threadWord(number, integer); };
  auto combine = [&](Value low, Value size, Value high) -> Value {
    return arith::AddIOp::create(builder, loc, low,
                                 arith::MulIOp::create(builder, loc, size, high));
  };
  return combine(word(kThread), word(kBlockSize),
                 combine(word(kThread + 1), word(kBlockSize + 1), word(kThread + 2)));
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
