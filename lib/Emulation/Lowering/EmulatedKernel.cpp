//===- EmulatedKernel.cpp - A GPU kernel becomes a function of one thread --===//

#include "EmulatedKernel.h"
#include "KernelSites.h"
#include "llmmem/Codegen/Gpu/PowersOfTwo.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
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

// The words of a thread (include/llmmem/Emulation/Hooks.h).
enum ThreadWord : int64_t {
  kThread = 0,
  kBlock = 3,
  kBlockSize = 6,
  kGridSize = 9,
  kShared = 12,
  kDynamicBytes = 13
};

static constexpr int64_t kWarp = 32;
// Where one workgroup attribution, or dynamic shared memory, ends and the next begins.
static constexpr int64_t kSharedAlignment = 256;

/// Whether this op needs no rewriting: arithmetic, or control flow.
static bool isPlain(Operation *op) {
  if (isa<gpu::GPUDialect, NVVM::NVVMDialect>(op->getDialect()))
    return isa<gpu::ReturnOp>(op);
  return isMemoryEffectFree(op) || op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
         op->hasTrait<OpTrait::IsTerminator>();
}

namespace {
class KernelEmulation {
public:
  KernelEmulation(gpu::GPUFuncOp kernel, const LLVMTypeConverter &types, EmulatedKernels &records)
      : kernel(kernel), types(types), records(records), builder(kernel.getContext()),
        pointer(LLVM::LLVMPointerType::get(kernel.getContext())), integer(builder.getI64Type()),
        sites(kernel, records.sites) {}

  FailureOr<func::FuncOp> run();

private:
  void addKernel(StringRef name);
  void placeShared();

  void createFunction();
  void unpackArguments();
  Value threadWord(int64_t number, Type type);
  Value wordAddress(Value base, int64_t number);
  Value cast(Type type, Value value) {
    return UnrealizedConversionCastOp::create(builder, loc, type, value).getResult(0);
  }
  Value integerConstant(int64_t value) {
    return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value));
  }
  Value toInteger(Value index) { return arith::IndexCastOp::create(builder, loc, integer, index); }
  Value toIndex(Value number) {
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), number);
  }
  Value sharedMemory(int64_t offset, MemRefType type);
  /// `count` words of 32 bits on the thread's stack, allocated once; and one of them.
  Value entryWords(int64_t count);
  Value wordOfStack(Value words, int32_t number) {
    return LLVM::GEPOp::create(builder, loc, pointer, builder.getI32Type(), words,
                               ArrayRef<LLVM::GEPArg>{number});
  }
  func::CallOp callHook(StringRef name, ValueRange operands, TypeRange results = {});

  LogicalResult rewrite(Operation *op);
  /// Where the accessed buffer or view begins, and how many bytes behind that the access does.
  std::pair<Value, Value> addressOf(const KernelAccess &access);
  void checkAccess(Operation *op, const KernelAccess &access);
  LogicalResult rewriteTileAccess(Operation *op);
  void rewriteCopy(nvgpu::DeviceAsyncCopyOp copy);
  void rewriteLoadMatrix(nvgpu::LdMatrixOp load);
  Value threadIndexOf(Operation *op);
  LogicalResult rewriteOther(Operation *op);
  Value linearThread();
  void rewriteShuffle(gpu::ShuffleOp shuffle);
  LogicalResult rewriteMma(NVVM::MmaOp mma);
  void rewriteWgmma(NVVM::WgmmaMmaAsyncOp product);
  LogicalResult rewriteIntrinsic(LLVM::CallIntrinsicOp call);
  Value storeSums(Value sums, int64_t count);
  void replaceBySums(Operation *product, Value stored, int64_t count);
  LogicalResult moveTable(memref::GetGlobalOp use);

  gpu::GPUFuncOp kernel;
  const LLVMTypeConverter &types;
  EmulatedKernels &records;
  OpBuilder builder;
  LLVM::LLVMPointerType pointer;
  IntegerType integer;
  Location loc = builder.getUnknownLoc();
  func::FuncOp function;
  Operation *entryEnd = nullptr; // an insertion point: words of the thread are loaded before it
  KernelSites sites;
  llvm::DenseMap<int64_t, Value> words;
  SmallVector<int64_t> sharedOffsets; // of the workgroup attributions
  int64_t sharedBytes = 0;
};
} // namespace

void KernelEmulation::addKernel(StringRef name) {
  SmallVector<int64_t> bytes;
  for (Type type : kernel.getArgumentTypes()) {
    auto buffer = dyn_cast<MemRefType>(type);
    bytes.push_back(buffer ? buffer.getNumElements() * bytesInMemory(buffer.getElementType()) : 0);
  }
  NamedAttrList facts;
  facts.set("name", builder.getStringAttr(name));
  facts.set("buffer_bytes", builder.getDenseI64ArrayAttr(bytes));
  facts.set("shared_bytes", builder.getI64IntegerAttr(sharedBytes));
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
    sharedBytes += llvm::alignTo(type.getNumElements() * bytesInMemory(type.getElementType()),
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
      .Case([&](NVVM::FenceProxyOp fence) -> LogicalResult {
        if (fence.getKind() != NVVM::ProxyKind::async_shared)
          return fence.emitOpError("is a fence that the emulator does not support; expected "
                                   "#nvvm.proxy_kind<async.shared>");
        callHook("llmmem_emulate_fence_proxy", {thread});
        return erase();
      })
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
  Value bytes = integerConstant(bytesInMemory(type.getElementType()));
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

//===----------------------------------------------------------------------===//
// Tiles of tensor cores: asynchronous copies and loads of matrices
//===----------------------------------------------------------------------===//

LogicalResult KernelEmulation::rewriteTileAccess(Operation *op) {
  if (auto copy = dyn_cast<nvgpu::DeviceAsyncCopyOp>(op)) {
    if (!copy.getAsyncToken().use_empty())
      return op->emitOpError("gives its token to another op; expected "
                             "nvvm.cp.async.commit.group, which needs none");
    rewriteCopy(copy);
    return success();
  }
  auto load = cast<nvgpu::LdMatrixOp>(op);
  if (Type element = load.getRes().getType().getElementType();
      !element.isBF16() && !element.isF16())
    return op->emitOpError("loads ")
           << element << ", which the emulator does not support; expected bf16 or f16";
  rewriteLoadMatrix(load);
  return success();
}

void KernelEmulation::rewriteCopy(nvgpu::DeviceAsyncCopyOp copy) {
  SmallVector<KernelAccess, 2> accesses = kernelAccessesOf(copy);
  int64_t element = bytesInMemory(getElementTypeOrSelf(accesses[0].type));
  Value bytes = integerConstant(bytesInMemory(accesses[0].type));
  if (accesses[0].count)
    bytes =
        arith::MulIOp::create(builder, loc, toInteger(accesses[0].count), integerConstant(element));
  auto [from, fromOffset] = addressOf(accesses[0]);
  auto [to, toOffset] = addressOf(accesses[1]);
  callHook("llmmem_emulate_copy", {function.getArgument(0), integerConstant(sites.numberOf(copy)),
                                   from, fromOffset, to, toOffset, bytes});
  copy.erase();
}

/// The hook writes this lane's words, one of each matrix, to the stack.
void KernelEmulation::rewriteLoadMatrix(nvgpu::LdMatrixOp load) {
  VectorType type = load.getRes().getType();
  int64_t matrices = type.getShape()[0];
  Value words = entryWords(matrices);
  auto [base, offset] = addressOf(kernelAccessesOf(load)[0]);
  callHook("llmmem_emulate_load_matrix",
           {function.getArgument(0), integerConstant(sites.numberOf(load)), base, offset, words});
  auto pair = VectorType::get({2}, type.getElementType());
  Value result = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  for (int64_t matrix = 0; matrix < matrices; ++matrix) {
    Value word = LLVM::LoadOp::create(builder, loc, builder.getI32Type(),
                                      wordOfStack(words, static_cast<int32_t>(matrix)));
    Value whole =
        vector::BroadcastOp::create(builder, loc, VectorType::get({1}, builder.getI32Type()), word);
    result = vector::InsertOp::create(
        builder, loc, vector::BitCastOp::create(builder, loc, pair, whole), result, matrix);
  }
  load.getRes().replaceAllUsesWith(result);
  load.erase();
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

LogicalResult KernelEmulation::rewriteMma(NVVM::MmaOp mma) {
  auto shape = mma.getShape();
  auto element = mma.getMultiplicandAPtxType();
  bool isHalf = element == NVVM::MMATypes::bf16 || element == NVVM::MMATypes::f16;
  bool isKnown = shape.getM() == 16 && shape.getN() == 8 && shape.getK() == 16 && isHalf &&
                 mma.getMultiplicandBPtxType() == element &&
                 llvm::all_of(mma.getOperandC().getTypes(), [](Type type) { return type.isF32(); });
  if (!isKnown)
    return mma.emitOpError("is an mma that the emulator does not support; expected m16n8k16 of "
                           "bf16 or f16 in f32");
  // 4 words of A, 2 of B, 4 numbers of C that become D's, and whether the words are of f16.
  Value fragments = entryWords(11);
  auto place = [&](int32_t number) { return wordOfStack(fragments, number); };
  for (auto [number, operand] : llvm::enumerate(mma->getOperands()))
    LLVM::StoreOp::create(builder, loc, operand, place(number));
  Value isF16 =
      LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), element == NVVM::MMATypes::f16);
  LLVM::StoreOp::create(builder, loc, isF16, place(10));
  callHook("llmmem_emulate_mma",
           {function.getArgument(0), integerConstant(sites.numberOf(mma)), fragments});
  Value result = LLVM::PoisonOp::create(builder, loc, mma.getType());
  for (int32_t number = 0; number < 4; ++number) {
    Value sum = LLVM::LoadOp::create(builder, loc, builder.getF32Type(), place(6 + number));
    result = LLVM::InsertValueOp::create(builder, loc, result, sum, ArrayRef<int64_t>{number});
  }
  mma.getResult().replaceAllUsesWith(result);
  mma.erase();
  return success();
}

/// The thread's sums of wgmma on the stack.
Value KernelEmulation::storeSums(Value sums, int64_t count) {
  Value words = entryWords(count);
  for (int32_t number = 0; number < count; ++number) {
    Value sum = LLVM::ExtractValueOp::create(builder, loc, sums, number);
    LLVM::StoreOp::create(builder, loc, sum, wordOfStack(words, number));
  }
  return words;
}

void KernelEmulation::replaceBySums(Operation *product, Value stored, int64_t count) {
  Value result = LLVM::PoisonOp::create(builder, loc, product->getResult(0).getType());
  for (int32_t number = 0; number < count; ++number) {
    Value sum =
        LLVM::LoadOp::create(builder, loc, builder.getF32Type(), wordOfStack(stored, number));
    result = LLVM::InsertValueOp::create(builder, loc, result, sum, ArrayRef<int64_t>{number});
  }
  product->getResult(0).replaceAllUsesWith(result);
  product->erase();
}

/// The hook adds to the thread's sums on the stack.
void KernelEmulation::rewriteWgmma(NVVM::WgmmaMmaAsyncOp product) {
  const int64_t count = product.getShape().getN() / 2;
  Value sums = storeSums(product.getInouts(), count);
  callHook("llmmem_emulate_wgmma",
           {function.getArgument(0), integerConstant(sites.numberOf(product)), sums,
            product.getDescriptorA(), product.getDescriptorB()});
  replaceBySums(product, sums, count);
}

/// The host has no such instructions.
LogicalResult KernelEmulation::rewriteIntrinsic(LLVM::CallIntrinsicOp call) {
  if (call.getIntrin() == kApproximatePower) {
    call.getResult(0).replaceAllUsesWith(
        LLVM::Exp2Op::create(builder, loc, call.getArgs().front()));
    call.erase();
    return success();
  }
  std::optional<RegisterWgmma> product = RegisterWgmma::match(call);
  if (!product)
    return call.emitOpError("is an intrinsic that the emulator does not support");
  const int64_t count = product->columns() / 2;
  Value sums = storeSums(product->sums(), count), words = entryWords(4);
  for (auto [number, word] : llvm::enumerate(product->a()))
    LLVM::StoreOp::create(builder, loc, word, wordOfStack(words, static_cast<int32_t>(number)));
  callHook(
      "llmmem_emulate_register_wgmma",
      {function.getArgument(0), integerConstant(sites.numberOf(call)), sums, words, product->b()});
  replaceBySums(call, sums, count);
  return success();
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
