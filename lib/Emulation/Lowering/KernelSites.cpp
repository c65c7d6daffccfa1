//===- KernelSites.cpp - The ops of a kernel that the emulator checks ------===//

#include "KernelSites.h"
#include "llmmem/Interfaces/Bytes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace llmmem;

// These are values of a site's buffer that are not the number of an argument.
static constexpr int64_t kSharedMemory = -1, kConstantTable = -2, kChosenArgument = -3;
// This is the widest access of PTX (ld.global.v4.b32); wider vectors become several accesses.
static constexpr int64_t kWidestAccess = 16;

static std::optional<StringRef> synchronizationKind(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<StringRef>>(op)
      .Case([](gpu::BarrierOp) { return StringRef("barrier"); })
      .Case([](gpu::ShuffleOp) { return StringRef("shuffle"); })
      .Case([](NVVM::SyncWarpOp) { return StringRef("warp_barrier"); })
      .Case([](NVVM::MmaOp) { return StringRef("mma"); })
      .Case([](NVVM::ClusterWaitOp) { return StringRef("cluster_barrier"); })
      .Case([](NVVM::CpAsyncCommitGroupOp) { return StringRef("commit_copies"); })
      .Case([](NVVM::CpAsyncWaitGroupOp) { return StringRef("wait_for_copies"); })
      .Case<NVVM::MBarrierInitOp, NVVM::MBarrierArriveOp, NVVM::MBarrierArriveExpectTxOp,
            NVVM::MBarrierTryWaitParityOp>(
          [](Operation *) { return StringRef("of_barrier_object"); })
      .Case<NVVM::FenceMbarrierInitOp, NVVM::FenceProxyOp, NVVM::WgmmaFenceAlignedOp,
            NVVM::WgmmaGroupSyncAlignedOp, NVVM::WgmmaWaitGroupSyncOp>(
          [](Operation *) { return StringRef("other_of_wgmma"); })
      .Default([](Operation *) { return std::nullopt; });
}

void KernelSites::record(Operation *op, NamedAttrList site) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream, names);
  site.set("text", builder.getStringAttr(text));
  site.set("location", op->getLoc());
  numbers.try_emplace(op, records.size());
  records.push_back(site.getDictionary(op->getContext()));
}

/// Returns the number of the argument that `memref` aliases, or one of the constants above.
FailureOr<int64_t> KernelSites::bufferOf(Operation *op, Value memref) {
  Value source = memref::skipViewLikeOps(cast<MemrefValue>(memref));
  if (source.getDefiningOp<gpu::DynamicSharedMemoryOp>())
    return kSharedMemory;
  if (source.getDefiningOp<memref::GetGlobalOp>())
    return kConstantTable;
  // It is one of several whole arguments, which differ by their addresses.
  if (source.getDefiningOp<scf::IfOp>() &&
      cast<MemRefType>(source.getType()).getLayout().isIdentity())
    return kChosenArgument;
  auto argument = dyn_cast<BlockArgument>(source);
  if (argument && argument.getOwner() == &kernel.front()) {
    unsigned number = argument.getArgNumber(), shared = kernel.getFirstWorkgroupAttributionIndex();
    if (number < shared)
      return number;
    if (number < shared + kernel.getNumWorkgroupAttributions())
      return kSharedMemory;
  }
  op->emitOpError(
      "accesses memory that is neither an argument of the kernel nor shared memory: the "
      "emulator cannot tell what it may access");
  return failure();
}

LogicalResult KernelSites::addAccess(Operation *op, const KernelAccess &access) {
  FailureOr<int64_t> buffer = bufferOf(op, access.memref);
  if (failed(buffer))
    return failure();
  auto type = cast<MemRefType>(access.memref.getType());
  int64_t bytes = bytesOfNumber(access.type);
  int64_t alignment =
      std::min<int64_t>(llvm::PowerOf2Ceil(std::max<int64_t>(bytes, 1)), kWidestAccess);
  bool isWhole = type.hasStaticShape() && type.getLayout().isIdentity();
  int64_t extent = isWhole ? type.getNumElements() * bytesOfNumber(type.getElementType()) : -1;
  NamedAttrList site;
  site.set("kind", builder.getStringAttr(access.isWrite ? "write" : "read"));
  site.set("buffer", builder.getI64IntegerAttr(*buffer));
  site.set("bytes", builder.getI64IntegerAttr(bytes));
  site.set("alignment", builder.getI64IntegerAttr(alignment));
  site.set("extent", builder.getI64IntegerAttr(extent));
  if (auto load = dyn_cast<nvgpu::LdMatrixOp>(op)) {
    site.set("matrices", builder.getI64IntegerAttr(access.matrices));
    site.set("transposed", builder.getBoolAttr(load.getTranspose()));
    synchronizes = true;
  }
  record(op, std::move(site));
  return success();
}

void KernelSites::addSynchronization(Operation *op, StringRef kind) {
  NamedAttrList site;
  site.set("kind", builder.getStringAttr(kind));
  if (auto shuffle = dyn_cast<gpu::ShuffleOp>(op))
    site.set("mode", builder.getStringAttr(gpu::stringifyShuffleMode(shuffle.getMode())));
  synchronizes = true;
  record(op, std::move(site));
}

/// Numbers the sums. A sum is a chain of values: the result of wgmma, what a loop carries, a struct
/// with one number replaced. Constants that sums begin as do not connect them.
void KernelSites::numberSums() {
  auto connect = [&](Value one, Value other) {
    auto isStruct = [](Value value) { return isa<LLVM::LLVMStructType>(value.getType()); };
    if (isStruct(one) && !matchPattern(one, m_Constant()) && !matchPattern(other, m_Constant()) &&
        !one.getDefiningOp<LLVM::ZeroOp>() && !other.getDefiningOp<LLVM::ZeroOp>() &&
        !other.getDefiningOp<LLVM::PoisonOp>())
      sums.unionSets(one.getAsOpaquePointer(), other.getAsOpaquePointer());
  };
  kernel.walk([&](Operation *op) {
    if (auto product = dyn_cast<NVVM::WgmmaMmaAsyncOp>(op))
      connect(product.getResults(), product.getInouts());
    if (std::optional<RegisterWgmma> product = RegisterWgmma::match(op))
      connect(product->result(), product->sums());
    if (auto insert = dyn_cast<LLVM::InsertValueOp>(op))
      connect(insert.getRes(), insert.getContainer());
    if (auto loop = dyn_cast<LoopLikeOpInterface>(op); loop && loop.getLoopResults())
      for (auto [carried, initial, yielded, result] :
           llvm::zip(loop.getRegionIterArgs(), loop.getInits(), loop.getYieldedValues(),
                     *loop.getLoopResults())) {
        connect(carried, initial);
        connect(carried, yielded);
        connect(carried, result);
      }
  });
  kernel.walk([&](Operation *op) {
    if (!isa<NVVM::WgmmaMmaAsyncOp>(op) && !RegisterWgmma::match(op))
      return;
    const void *leader = sums.getOrInsertLeaderValue(op->getResult(0).getAsOpaquePointer());
    sumNumbers.try_emplace(leader, sumNumbers.size());
  });
}

/// Returns -1 if wgmma does not add to it.
int64_t KernelSites::numberOfSums(Value value) const {
  auto leader = sums.findLeader(value.getAsOpaquePointer());
  auto known = leader == sums.member_end() ? sumNumbers.end() : sumNumbers.find(*leader);
  return known == sumNumbers.end() ? -1 : known->second;
}

LogicalResult KernelSites::addWgmma(NVVM::WgmmaMmaAsyncOp op) {
  auto type = cast<LLVM::LLVMStructType>(op.getResults().getType());
  auto shape = op.getShape();
  bool isHalf = op.getTypeA() == NVVM::WGMMATypes::bf16 || op.getTypeA() == NVVM::WGMMATypes::f16;
  bool isKnown =
      isHalf && op.getTypeB() == op.getTypeA() && op.getTypeD() == NVVM::WGMMATypes::f32 &&
      shape.getM() == 64 && shape.getK() == 16 &&
      static_cast<int64_t>(type.getBody().size()) == shape.getN() / 2 &&
      op.getScaleA() == NVVM::WGMMAScaleIn::one && op.getScaleB() == NVVM::WGMMAScaleIn::one;
  if (!isKnown)
    return op.emitOpError("is a wgmma that the emulator does not support; expected m64nNk16 of "
                          "bf16 or f16 that adds to N / 2 numbers of f32, without signs");
  recordWgmma(op, shape.getN(),
              {{"clears", op.getScaleD() == NVVM::WGMMAScaleOut::zero},
               {"turned_a", op.getLayoutA() == NVVM::MMALayout::col},
               {"turned_b", op.getLayoutB() == NVVM::MMALayout::row},
               {"is_f16", op.getTypeA() == NVVM::WGMMATypes::f16}});
  return success();
}

void KernelSites::recordWgmma(Operation *op, int64_t columns,
                              ArrayRef<std::pair<StringRef, bool>> facts) {
  NamedAttrList site;
  site.set("kind", builder.getStringAttr("wgmma"));
  site.set("buffer", builder.getI64IntegerAttr(kSharedMemory));
  site.set("sums", builder.getI64IntegerAttr(numberOfSums(op->getResult(0))));
  site.set("columns", builder.getI64IntegerAttr(columns));
  for (auto [name, holds] : facts)
    if (holds)
      site.set(name, builder.getUnitAttr());
  synchronizes = true;
  record(op, std::move(site));
}

/// It has two sites: the read of a row of the box from its matrix, and its write to shared memory.
LogicalResult KernelSites::addBoxCopy(NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp copy) {
  std::optional<TensorMap> map = TensorMap::match(copy.getTmaDescriptor().getDefiningOp());
  bool isKnown = map && map->buffer() && copy.getCoordinates().size() == 2 &&
                 copy.getMode() == NVVM::TMALoadMode::TILE && !copy.getPredicate();
  if (!isKnown)
    return copy.emitOpError("is a copy that the emulator does not support; expected one of two "
                            "dimensions by a map of an argument");
  FailureOr<int64_t> buffer = bufferOf(copy, map->buffer());
  if (failed(buffer))
    return failure();
  constexpr int64_t rowBytes = 128;
  for (bool isWrite : {false, true}) {
    NamedAttrList site;
    site.set("kind", builder.getStringAttr(isWrite ? "write" : "read"));
    site.set("buffer", builder.getI64IntegerAttr(isWrite ? kSharedMemory : *buffer));
    site.set("bytes", builder.getI64IntegerAttr(rowBytes));
    site.set("alignment", builder.getI64IntegerAttr(2));
    site.set("extent", builder.getI64IntegerAttr(-1));
    record(copy, std::move(site));
  }
  synchronizes = true;
  return success();
}

void KernelSites::addPeerAccess(const PeerAccess &access) {
  int64_t bytes = bytesOfNumber(access.type());
  NamedAttrList site;
  site.set("kind", builder.getStringAttr(access.isWrite() ? "write" : "read"));
  site.set("buffer", builder.getI64IntegerAttr(kSharedMemory));
  site.set("bytes", builder.getI64IntegerAttr(bytes));
  site.set("alignment",
           builder.getI64IntegerAttr(std::min<int64_t>(llvm::PowerOf2Ceil(bytes), kWidestAccess)));
  site.set("extent", builder.getI64IntegerAttr(-1));
  site.set("of_peer", builder.getUnitAttr());
  synchronizes = true;
  record(access.op(), std::move(site));
}

LogicalResult KernelSites::add(Operation *op) {
  if (std::optional<PeerAccess> access = PeerAccess::match(op)) {
    addPeerAccess(*access);
    return success();
  }
  if (auto copy = dyn_cast<NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp>(op))
    return addBoxCopy(copy);
  if (auto product = dyn_cast<NVVM::WgmmaMmaAsyncOp>(op))
    return addWgmma(product);
  if (std::optional<RegisterWgmma> product = RegisterWgmma::match(op)) {
    recordWgmma(op, product->columns(),
                {{"registers_of_a", true},
                 {"turned_b", product->isTurned()},
                 {"is_f16", product->isF16()}});
    return success();
  }
  if (auto taken = dyn_cast<LLVM::ExtractValueOp>(op))
    if (int64_t number = numberOfSums(taken.getContainer()); number >= 0) {
      NamedAttrList site;
      site.set("kind", builder.getStringAttr("take_sums"));
      site.set("sums", builder.getI64IntegerAttr(number));
      record(op, std::move(site));
    }
  for (const KernelAccess &access : kernelAccessesOf(op))
    if (failed(addAccess(op, access)))
      return failure();
  if (std::optional<StringRef> kind = synchronizationKind(op))
    addSynchronization(op, *kind);
  return success();
}
