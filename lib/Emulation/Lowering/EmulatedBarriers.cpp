//===- EmulatedBarriers.cpp - mbarriers and their copies, on the emulator ---===//

#include "KernelEmulation.h"
#include "llmmem/Codegen/Gpu/TensorMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace llmmem;

/// Returns the mapping of a pointer to another block's shared memory; null if it is none.
static NVVM::MapaOp mappingOf(Value pointer) { return pointer.getDefiningOp<NVVM::MapaOp>(); }

/// Returns the number from which a pointer to shared memory was made, which says where it points,
/// for another block of the cluster where its own would point. Returns null if there is none.
static Value sharedAddressOf(Value pointer) {
  if (auto cast = pointer.getDefiningOp<LLVM::AddrSpaceCastOp>())
    pointer = cast.getArg();
  if (NVVM::MapaOp mapping = mappingOf(pointer))
    pointer = mapping.getA();
  auto made = pointer.getDefiningOp<LLVM::IntToPtrOp>();
  return made ? made.getArg() : Value();
}

/// The host has no such pointers.
static void eraseUnused(Value pointer) {
  while (pointer && pointer.use_empty()) {
    Operation *op = pointer.getDefiningOp();
    if (!isa_and_nonnull<LLVM::AddrSpaceCastOp, LLVM::IntToPtrOp, NVVM::MapaOp>(op))
      return;
    pointer = op->getOperand(0);
    op->erase();
  }
}

LogicalResult KernelEmulation::rewriteBoxCopy(NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp copy) {
  TensorMap map = *TensorMap::match(copy.getTmaDescriptor().getDefiningOp());
  TensorMap::Shape shape = map.shape();
  Value first = integerConstant(shape.begin);
  if (Value more = map.first())
    first = arith::AddIOp::create(builder, loc, first, toInteger(more));
  ValueRange at = copy.getCoordinates();
  Value blocks = i32Constant(0);
  if (Value mask = copy.getMulticastMask())
    blocks = arith::ExtUIOp::create(builder, loc, builder.getI32Type(), mask);
  callHook("llmmem_emulate_copy_box",
           {function.getArgument(0), integerConstant(sites.numberOf(copy)),
            map.op().getArgs().front(), first, integerConstant(shape.rows),
            integerConstant(shape.columns), integerConstant(shape.pitch),
            integerConstant(shape.boxRows), at[1], at[0], sharedAddressOf(copy.getDstMem()),
            sharedAddressOf(copy.getMbar()), blocks});
  SmallVector<Value> pointers = {copy.getDstMem(), copy.getMbar()};
  copy.erase();
  if (map.result().use_empty())
    map.op().erase();
  llvm::for_each(pointers, eraseUnused);
  return success();
}

LogicalResult KernelEmulation::rewriteBarrierObject(Operation *op) {
  auto copy = dyn_cast<NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp>(op);
  Value pointer = copy ? copy.getMbar() : op->getOperand(0);
  if (!sharedAddressOf(pointer) || (copy && !sharedAddressOf(copy.getDstMem())))
    return op->emitOpError("is at a place that the emulator does not know; expected llvm.inttoptr "
                           "of an address");
  if (copy)
    return rewriteBoxCopy(copy);
  auto call = [&](StringRef name, ValueRange more) {
    SmallVector<Value> operands = {function.getArgument(0), integerConstant(sites.numberOf(op)),
                                   sharedAddressOf(pointer)};
    llvm::append_range(operands, more);
    callHook(name, operands);
  };
  bool isPlain = op->use_empty();
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](NVVM::MBarrierInitOp made) {
        isPlain &= !made.getPredicate();
        call("llmmem_emulate_make_barrier", made.getCount());
      })
      .Case([&](NVVM::MBarrierArriveOp arrival) {
        isPlain &= !arrival.getCount() && !arrival.getRelaxed();
        if (NVVM::MapaOp mapping = mappingOf(pointer))
          callHook("llmmem_emulate_arrive_at",
                   {function.getArgument(0), integerConstant(sites.numberOf(op)),
                    sharedAddressOf(mapping.getA()), mapping.getB()});
        else
          call("llmmem_emulate_arrive", i32Constant(0));
      })
      .Case([&](NVVM::MBarrierArriveExpectTxOp arrival) {
        isPlain &= !arrival.getPredicate() && !arrival.getRelaxed();
        call("llmmem_emulate_arrive", arrival.getTxcount());
      })
      .Case([&](NVVM::MBarrierTryWaitParityOp wait) {
        call("llmmem_emulate_wait_for_phase", wait.getPhase());
      });
  if (!isPlain)
    return op->emitOpError("has a result, a count, a predicate or relaxed semantics, which the "
                           "emulator does not support");
  op->erase();
  eraseUnused(pointer);
  return success();
}
