//===- Cluster.cpp - Blocks that read and write each other's shared memory --===//

#include "llmmem/Codegen/Gpu/Cluster.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Interfaces/Bytes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace llmmem;

//===----------------------------------------------------------------------===//
// Of kernels
//===----------------------------------------------------------------------===//

/// Returns the sizes that the barriers of a kernel name, each once.
static SmallVector<int64_t, 1> sizesAtBarriers(gpu::GPUFuncOp kernel) {
  SmallVector<int64_t, 1> sizes;
  kernel.walk([&](Operation *op) {
    if (auto blocks = op->getAttrOfType<IntegerAttr>(llm::LlmDialect::kClusterBlocks);
        blocks && !llvm::is_contained(sizes, blocks.getInt()))
      sizes.push_back(blocks.getInt());
  });
  return sizes;
}

int64_t llmmem::clusterBlocksOf(gpu::GPUFuncOp kernel) {
  if (std::optional<ArrayRef<int32_t>> known = kernel.getKnownClusterSize())
    return (*known)[0];
  SmallVector<int64_t, 1> sizes = sizesAtBarriers(kernel);
  return sizes.empty() ? 1 : sizes.front();
}

LogicalResult llmmem::verifyClusterSize(gpu::GPUFuncOp kernel) {
  SmallVector<int64_t, 1> sizes = sizesAtBarriers(kernel);
  if (std::optional<ArrayRef<int32_t>> known = kernel.getKnownClusterSize()) {
    if ((*known)[1] != 1 || (*known)[2] != 1)
      return kernel.emitOpError(
          "has clusters of several dimensions; expected blocks along x alone");
    if (!llvm::is_contained(sizes, (*known)[0]))
      sizes.push_back((*known)[0]);
  }
  if (sizes.size() > 1)
    return kernel.emitOpError("has clusters of ")
           << sizes[0] << " and of " << sizes[1] << " blocks; expected one size";
  if (!sizes.empty() && (sizes.front() < 1 || sizes.front() > kMostClusterBlocks))
    return kernel.emitOpError("has clusters of ")
           << sizes.front() << " blocks; expected 1 to " << kMostClusterBlocks;
  return success();
}

LogicalResult llmmem::verifyClusters(gpu::LaunchFuncOp launch) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<gpu::GPUFuncOp>(launch, launch.getKernel());
  if (!kernel)
    return success();
  if (failed(verifyClusterSize(kernel)))
    return failure();
  int64_t blocks = clusterBlocksOf(kernel);
  if (blocks == 1)
    return success();
  std::optional<int64_t> grid = getConstantIntValue(launch.getGridSizeOperandValues().x);
  if (grid && *grid % blocks == 0)
    return success();
  InFlightDiagnostic error = launch.emitOpError("has a grid of ");
  grid ? error << *grid : error << "unknown many";
  return error << " blocks along x, but its kernel has clusters of " << blocks
               << "; expected a multiple";
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

static NVVM::MapaOp mappingOf(Value pointer) {
  auto mapping = pointer.getDefiningOp<NVVM::MapaOp>();
  return mapping && mapping.getA().getDefiningOp<LLVM::IntToPtrOp>() ? mapping : nullptr;
}

std::optional<PeerAccess> PeerAccess::match(Operation *op) {
  auto load = dyn_cast<LLVM::LoadOp>(op);
  auto store = dyn_cast<LLVM::StoreOp>(op);
  if ((load && mappingOf(load.getAddr())) || (store && mappingOf(store.getAddr())))
    return PeerAccess(op);
  return std::nullopt;
}

bool PeerAccess::isWrite() const { return isa<LLVM::StoreOp>(access); }

Type PeerAccess::type() const {
  return isWrite() ? access->getOperand(0).getType() : access->getResult(0).getType();
}

Value PeerAccess::address() const {
  return mappingOf(pointer()).getA().getDefiningOp<LLVM::IntToPtrOp>().getArg();
}

Value PeerAccess::rank() const { return mappingOf(pointer()).getB(); }

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

Index llmmem::clusterRank(KernelEmitter &e) {
  OpBuilder &b = e.builder();
  Value rank = NVVM::ClusterId::create(b, e.location(), b.getI32Type());
  return {&b, arith::IndexCastOp::create(b, e.location(), b.getIndexType(), rank)};
}

void llmmem::clusterBarrier(KernelEmitter &e, int64_t blocks) {
  OpBuilder &b = e.builder();
  auto arrival = NVVM::ClusterArriveOp::create(b, e.location(), b.getUnitAttr());
  arrival->setAttr(llm::LlmDialect::kClusterBlocks,
                   b.getI32IntegerAttr(static_cast<int32_t>(blocks)));
  NVVM::ClusterWaitOp::create(b, e.location(), b.getUnitAttr());
}

/// Returns `index` of `buffer` in the shared memory of block `rank`.
static Value placeOfPeer(KernelEmitter &e, Buffer buffer, Index index, Index rank) {
  OpBuilder &b = e.builder();
  Location loc = e.location();
  auto pointerTo = [&](NVVM::NVVMMemorySpace space) {
    return LLVM::LLVMPointerType::get(b.getContext(), static_cast<unsigned>(space));
  };
  Index begin{&b, memref::ExtractAlignedPointerAsIndexOp::create(b, loc, buffer.memref)};
  Index address = begin + index * bytesOfNumber(buffer.element);
  Value word = arith::IndexCastOp::create(b, loc, b.getI64Type(), address.value),
        own = LLVM::IntToPtrOp::create(b, loc, pointerTo(NVVM::NVVMMemorySpace::Shared), word),
        other = arith::IndexCastOp::create(b, loc, b.getI32Type(), rank.value);
  return NVVM::MapaOp::create(b, loc, pointerTo(NVVM::NVVMMemorySpace::SharedCluster), own, other);
}

Value llmmem::loadOfPeer(KernelEmitter &e, Buffer buffer, Index index, Type type, Index rank) {
  Value place = placeOfPeer(e, buffer, index, rank);
  return LLVM::LoadOp::create(e.builder(), e.location(), type, place, bytesOfNumber(type));
}
