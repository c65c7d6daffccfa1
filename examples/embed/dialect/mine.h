//===- mine.h - A dialect of two ops that can be planned ---------------------===//
//
// An op of your own takes part in a plan by three traits: CostOpInterface says what a run costs,
// BufferOpInterface whose bytes its result may take over, and MemoryEffectOpInterface that a second
// run changes nothing. Ops from ODS list the same interfaces in their traits.
//
//===----------------------------------------------------------------------===//

#ifndef MINE_H
#define MINE_H

#include "llmmem/Interfaces/BufferOpInterface.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mine {

/// Is an op without attributes, of one result, that can be planned.
template <typename ConcreteOp, template <typename> class Operands>
class PlannedOp
    : public mlir::Op<ConcreteOp, mlir::OpTrait::OneResult, mlir::OpTrait::ZeroRegions,
                      mlir::OpTrait::ZeroSuccessors, Operands, llmmem::CostOpInterface::Trait,
                      llmmem::BufferOpInterface::Trait, mlir::MemoryEffectOpInterface::Trait> {
public:
  using mlir::Op<ConcreteOp, mlir::OpTrait::OneResult, mlir::OpTrait::ZeroRegions,
                 mlir::OpTrait::ZeroSuccessors, Operands, llmmem::CostOpInterface::Trait,
                 llmmem::BufferOpInterface::Trait, mlir::MemoryEffectOpInterface::Trait>::Op;
  static llvm::ArrayRef<llvm::StringRef> getAttributeNames() { return {}; }
  void getEffects(
      llvm::SmallVectorImpl<mlir::SideEffects::EffectInstance<mlir::MemoryEffects::Effect>> &) {}

protected:
  mlir::RankedTensorType tensor(mlir::Value value) {
    return llvm::cast<mlir::RankedTensorType>(value.getType());
  }
};

/// Multiplies matrices: two FLOPs for each product that is added.
class DotOp : public PlannedOp<DotOp, mlir::OpTrait::NOperands<2>::Impl> {
public:
  using PlannedOp::PlannedOp;
  static llvm::StringRef getOperationName() { return "mine.dot"; }
  int64_t getFlops() {
    return 2 * tensor((*this)->getResult(0)).getNumElements() *
           tensor((*this)->getOperand(0)).getDimSize(1);
  }
};

/// Works element by element, so its result may lie where one of its operands lies.
template <typename ConcreteOp, template <typename> class Operands>
class ElementwiseOp : public PlannedOp<ConcreteOp, Operands> {
public:
  using PlannedOp<ConcreteOp, Operands>::PlannedOp;
  int64_t getFlops() { return 4 * this->tensor((*this)->getResult(0)).getNumElements(); }
  llvm::SmallVector<unsigned> getInPlaceOperands(unsigned) {
    return llvm::to_vector(llvm::seq<unsigned>(0, (*this)->getNumOperands()));
  }
};

class TanhOp : public ElementwiseOp<TanhOp, mlir::OpTrait::OneOperand> {
public:
  using ElementwiseOp::ElementwiseOp;
  static llvm::StringRef getOperationName() { return "mine.tanh"; }
};

class MulOp : public ElementwiseOp<MulOp, mlir::OpTrait::NOperands<2>::Impl> {
public:
  using ElementwiseOp::ElementwiseOp;
  static llvm::StringRef getOperationName() { return "mine.mul"; }
};

class MineDialect : public mlir::Dialect {
public:
  explicit MineDialect(mlir::MLIRContext *context)
      : mlir::Dialect("mine", context, mlir::TypeID::get<MineDialect>()) {
    addOperations<DotOp, TanhOp, MulOp>();
  }
  static llvm::StringRef getDialectNamespace() { return "mine"; }
};

/// Replaces a planned function on tensors by one on buffers: its arguments, and after them one
/// arena of `llm.arena` bytes, in which each result lies at its `llm.offsets`. Each op becomes a
/// call of a function of its name on its operands and its result.
void lower(mlir::func::FuncOp step);

} // namespace mine

#endif // MINE_H
