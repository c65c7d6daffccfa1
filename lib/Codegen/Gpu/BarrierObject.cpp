//===- BarrierObject.cpp - mbarriers, and the copies that they count --------===//

#include "BarrierObject.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace llmmem;

static LLVM::LLVMPointerType pointerTo(OpBuilder &b, NVVM::NVVMMemorySpace space) {
  return LLVM::LLVMPointerType::get(b.getContext(), static_cast<unsigned>(space));
}

static Value constant(OpBuilder &b, Location loc, int32_t number) {
  return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(number));
}

static Value asI32(KernelEmitter &e, Index index) {
  return arith::IndexCastOp::create(e.builder(), e.location(), e.builder().getI32Type(),
                                    index.value);
}

BarrierObjects::BarrierObjects(KernelEmitter &e, Buffer memory, int64_t begin)
    : e(e), memory(memory), begin(begin) {}

Value BarrierObjects::addressOf(Buffer of, Index byte) {
  OpBuilder &b = e.builder();
  Location loc = e.location();
  Index address{&b, memref::ExtractAlignedPointerAsIndexOp::create(b, loc, of.memref)};
  Value word = arith::IndexCastOp::create(b, loc, b.getI64Type(), (address + byte).value);
  return LLVM::IntToPtrOp::create(b, loc, pointerTo(b, NVVM::NVVMMemorySpace::Shared), word);
}

void BarrierObjects::make(Index number, int32_t arrivals) {
  OpBuilder &b = e.builder();
  NVVM::MBarrierInitOp::create(b, e.location(), at(number), constant(b, e.location(), arrivals),
                               Value());
}

void BarrierObjects::fence() {
  OpBuilder &b = e.builder();
  auto shared = NVVM::SharedSpaceAttr::get(b.getContext(), NVVM::SharedSpace::shared_cta);
  NVVM::FenceProxyOp::create(b, e.location(), NVVM::ProxyKind::async_shared, shared);
}

void BarrierObjects::fenceForCluster() {
  NVVM::FenceMbarrierInitOp::create(e.builder(), e.location());
}

void BarrierObjects::arriveAt(Index number, Index rank) {
  OpBuilder &b = e.builder();
  Value there =
      NVVM::MapaOp::create(b, e.location(), pointerTo(b, NVVM::NVVMMemorySpace::SharedCluster),
                           at(number), asI32(e, rank));
  NVVM::MBarrierArriveOp::create(b, e.location(), Type(), there, Value());
}

void BarrierObjects::arrive(Index number) {
  NVVM::MBarrierArriveOp::create(e.builder(), e.location(), Type(), at(number), Value());
}

void BarrierObjects::arriveExpecting(Index number, int32_t bytes) {
  OpBuilder &b = e.builder();
  NVVM::MBarrierArriveExpectTxOp::create(b, e.location(), Type(), at(number),
                                         constant(b, e.location(), bytes), NVVM::MemScopeKind::CTA,
                                         /*relaxed=*/false, Value());
}

void BarrierObjects::wait(Index number, Index parity) {
  constexpr int32_t nanoseconds = 10'000'000; // The time limit after which it tries again.
  OpBuilder &b = e.builder();
  NVVM::MBarrierTryWaitParityOp::create(b, e.location(), at(number), asI32(e, parity),
                                        constant(b, e.location(), nanoseconds));
}

void BarrierObjects::startCopy(Index number, const Box &box, int64_t blocks,
                               std::optional<Index> first) {
  OpBuilder &b = e.builder();
  Location loc = e.location();
  Value mask;
  if (blocks > 1)
    mask = arith::ConstantOp::create(b, loc,
                                     b.getI16IntegerAttr(static_cast<int16_t>((1 << blocks) - 1)));
  if (mask && first)
    mask = arith::ShLIOp::create(b, loc, mask,
                                 arith::IndexCastOp::create(b, loc, b.getI16Type(), first->value));
  Value target = LLVM::AddrSpaceCastOp::create(
      b, loc, pointerTo(b, NVVM::NVVMMemorySpace::SharedCluster), addressOf(box.memory, box.to));
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      b, loc, target, box.map, ValueRange{asI32(e, box.column), asI32(e, box.row)}, at(number),
      ValueRange(), mask, /*l2CacheHint=*/Value(), NVVM::TMALoadMode::TILE,
      /*isCTAOnly=*/false, NVVM::CTAGroupKindAttr(), /*predicate=*/Value());
}
