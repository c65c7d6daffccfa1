//===- UpdateModel.h - Updates as kernels ----------------------*- C++ -*-===//

#ifndef LLMMEM_LIB_CODEGEN_KERNELS_UPDATEMODEL_H
#define LLMMEM_LIB_CODEGEN_KERNELS_UPDATEMODEL_H

#include "Emitter/Ranks.h"
#include "KernelModels.h"
#include "llmmem/Codegen/Gpu/LaunchParts.h"

namespace llmmem {

/// An update is elementwise, with some common values. `Model` has `static Row factors(ConcreteOp,
/// KernelEmitter &)`, which reads only `commonOperands(op)`, and `static void updateAt(ConcreteOp,
/// KernelEmitter &, Index, unsigned lanes, llvm::ArrayRef<Num>)`. One that is not elementwise has
/// `isElementwise` and `emitUpdate` of its own.
template <typename Model, typename ConcreteOp>
struct UpdateModel : BaseModel<Model, ConcreteOp> {
  static bool isElementwise(ConcreteOp) { return true; }

  static void emitUpdate(ConcreteOp update, KernelEmitter &e) {
    forLanesParallel(
        e, e.operand(0).size, [&] { return Model::factors(update, e); },
        [&](Index i, unsigned lanes, llvm::ArrayRef<Num> f) {
          Model::updateAt(update, e, i, lanes, f);
        });
  }

  llvm::LogicalResult emitKernel(mlir::Operation *op, KernelEmitter &e) const {
    auto update = llvm::cast<ConcreteOp>(op);
    if (!update.getServer()) {
      Model::emitUpdate(update, e);
      return llvm::success();
    }
    if (e.options().target == KernelTarget::Gpu)
      return op->emitOpError("of a server has no kernel on a GPU yet; lower the step for a CPU");
    Index position = positionInGroup(e, *update.getServer());
    ifThen(e, equal(position, e.index(0)), [&] { Model::emitUpdate(update, e); });
    return llvm::success();
  }

  std::optional<llvm::SmallVector<unsigned>> getOperandsInCommon(mlir::Operation *op) const {
    // In a shared launch all ranks would update.
    if (llvm::cast<ConcreteOp>(op).getServer() || !Model::isElementwise(llvm::cast<ConcreteOp>(op)))
      return std::nullopt;
    llvm::SmallVector<unsigned> numbers;
    for (mlir::MutableOperandRange range : Model::commonOperands(llvm::cast<ConcreteOp>(op)))
      for (mlir::OpOperand &operand : range)
        numbers.push_back(operand.getOperandNumber());
    return numbers;
  }

  llvm::LogicalResult emitSharedLaunch(mlir::Operation *op, KernelEmitter &e,
                                       llvm::ArrayRef<OpBuffers> ops) const {
    auto update = llvm::cast<ConcreteOp>(op);
    forLanesOfOps(
        e, ops, [&] { return Model::factors(update, e); },
        [&](KernelEmitter &own, Index i, unsigned lanes, llvm::ArrayRef<Num> f) {
          Model::updateAt(update, own, i, lanes, f);
        });
    return llvm::success();
  }
};

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_KERNELS_UPDATEMODEL_H
