//===- EmulatedClusters.cpp - Clusters of blocks, on the emulator ----------===//

#include "KernelEmulation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace llmmem;

void KernelEmulation::rewritePeerAccess(const PeerAccess &access) {
  func::CallOp visit =
      callHook("llmmem_emulate_visit",
               {function.getArgument(0), integerConstant(sites.numberOf(access.op())),
                access.address(), access.rank()},
               {integer});
  Value peer = access.pointer();
  access.setPointer(LLVM::IntToPtrOp::create(builder, loc, pointer, visit.getResult(0)));
  // The host has no such pointers.
  while (peer.use_empty() &&
         isa_and_nonnull<NVVM::MapaOp, LLVM::IntToPtrOp>(peer.getDefiningOp())) {
    Operation *unused = peer.getDefiningOp();
    peer = unused->getOperand(0);
    unused->erase();
  }
}

/// Returns the next op in a direction that has an effect; null if there is none in its block.
static Operation *nextEffect(Operation *op, Operation *(Operation::*step)()) {
  do
    op = (op->*step)();
  while (op && isMemoryEffectFree(op));
  return op;
}

/// No barrier would order accesses between arrival and wait, so the two are one here.
LogicalResult KernelEmulation::rewriteClusterBarrier(Operation *op) {
  if (isa<NVVM::ClusterArriveOp>(op)) {
    if (isa_and_nonnull<NVVM::ClusterWaitOp>(nextEffect(op, &Operation::getNextNode)))
      return success(); // The wait erases it.
    return op->emitOpError("has no nvvm.cluster.wait directly after it, which the emulator does "
                           "not support");
  }
  Operation *arrival = nextEffect(op, &Operation::getPrevNode);
  if (!isa_and_nonnull<NVVM::ClusterArriveOp>(arrival))
    return op->emitOpError("has no nvvm.cluster.arrive directly before it, which the emulator does "
                           "not support");
  callHook("llmmem_emulate_cluster_barrier",
           {function.getArgument(0), integerConstant(sites.numberOf(op))});
  arrival->erase();
  op->erase();
  return success();
}

LogicalResult KernelEmulation::rewriteOfCluster(Operation *op) {
  if (std::optional<PeerAccess> access = PeerAccess::match(op)) {
    rewritePeerAccess(*access);
    return success();
  }
  if (isa<NVVM::MapaOp>(op))
    return success(); // Its accesses erase it.
  if (isa<NVVM::ClusterId>(op)) {
    op->getResult(0).replaceAllUsesWith(clusterRank());
    op->erase();
    return success();
  }
  if (isa<NVVM::ClusterArriveOp, NVVM::ClusterWaitOp>(op))
    return rewriteClusterBarrier(op);
  return op->emitOpError("accesses memory by a pointer that the emulator does not know; expected "
                         "nvvm.mapa of llvm.inttoptr of an address");
}
