//===- KernelSites.cpp - The ops of a kernel that the emulator checks ------===//

#include "KernelSites.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace llmmem;

// Values of a site's buffer that are not the number of an argument.
static constexpr int64_t kSharedMemory = -1, kConstantTable = -2, kChosenArgument = -3;
// The widest access of PTX (ld.global.v4.b32); wider vectors become several accesses.
static constexpr int64_t kWidestAccess = 16;

static std::optional<StringRef> synchronizationKind(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<StringRef>>(op)
      .Case([](gpu::BarrierOp) { return StringRef("barrier"); })
      .Case([](gpu::ShuffleOp) { return StringRef("shuffle"); })
      .Case([](NVVM::SyncWarpOp) { return StringRef("warp_barrier"); })
      .Case([](NVVM::MmaOp) { return StringRef("mma"); })
      .Case([](NVVM::CpAsyncCommitGroupOp) { return StringRef("commit_copies"); })
      .Case([](NVVM::CpAsyncWaitGroupOp) { return StringRef("wait_for_copies"); })
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

/// The number of the argument that `memref` aliases, or one of the constants above.
FailureOr<int64_t> KernelSites::bufferOf(Operation *op, Value memref) {
  Value source = memref::skipViewLikeOps(cast<MemrefValue>(memref));
  if (source.getDefiningOp<gpu::DynamicSharedMemoryOp>())
    return kSharedMemory;
  if (source.getDefiningOp<memref::GetGlobalOp>())
    return kConstantTable;
  // One of several whole arguments, which differ by their addresses.
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
  int64_t bytes = bytesInMemory(access.type);
  int64_t alignment =
      std::min<int64_t>(llvm::PowerOf2Ceil(std::max<int64_t>(bytes, 1)), kWidestAccess);
  bool isWhole = type.hasStaticShape() && type.getLayout().isIdentity();
  int64_t extent = isWhole ? type.getNumElements() * bytesInMemory(type.getElementType()) : -1;
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

LogicalResult KernelSites::add(Operation *op) {
  for (const KernelAccess &access : kernelAccessesOf(op))
    if (failed(addAccess(op, access)))
      return failure();
  if (std::optional<StringRef> kind = synchronizationKind(op))
    addSynchronization(op, *kind);
  return success();
}
