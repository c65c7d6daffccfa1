//===- BufferOpInterface.cpp - Whose bytes a result has ------------------===//

#include "llmmem/Interfaces/BufferOpInterface.h"
#include "llmmem/Interfaces/EmptyOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace llmmem;

// Their entries are in LlmAnnotations.td, of a library that is built upon this one.
static constexpr llvm::StringLiteral kViews = "llm.views", kInPlace = "llm.in_place",
                                     kPure = "llm.pure", kResident = "llm.resident";

std::optional<unsigned> llmmem::viewedOperand(OpResult result) {
  Operation *op = result.getOwner();
  if (auto buffers = dyn_cast<BufferOpInterface>(op))
    return buffers.getViewedOperand(result.getResultNumber());
  auto views = op->getAttrOfType<DenseI64ArrayAttr>(kViews);
  if (!views || views.size() != static_cast<int64_t>(op->getNumResults()) ||
      views[result.getResultNumber()] < 0)
    return std::nullopt;
  return views[result.getResultNumber()];
}

SmallVector<unsigned> llmmem::inPlaceOperands(OpResult result) {
  Operation *op = result.getOwner();
  if (auto buffers = dyn_cast<BufferOpInterface>(op))
    return buffers.getInPlaceOperands(result.getResultNumber());
  SmallVector<unsigned> operands;
  auto lists = op->getAttrOfType<ArrayAttr>(kInPlace);
  if (lists && lists.size() == op->getNumResults())
    if (auto list = dyn_cast<DenseI64ArrayAttr>(lists[result.getResultNumber()]))
      operands.append(list.asArrayRef().begin(), list.asArrayRef().end());
  return operands;
}

bool llmmem::isResidentOp(Operation *op) {
  return op->hasAttr(kResident) ||
         (op->getNumOperands() == 0 &&
          (op->hasTrait<OpTrait::ConstantLike>() || isa<EmptyOpInterface>(op)));
}

bool llmmem::isFreeOfEffects(Operation *op) { return op->hasAttr(kPure) || isMemoryEffectFree(op); }

Value llmmem::viewedValue(Value value) {
  while (auto result = dyn_cast<OpResult>(value)) {
    std::optional<unsigned> viewed = viewedOperand(result);
    if (!viewed)
      break;
    value = result.getOwner()->getOperand(*viewed);
  }
  return value;
}

bool llmmem::isViewOp(Operation *op) {
  if (op->getNumResults() == 0)
    return op->getNumOperands() == 0 && isa<BufferOpInterface>(op);
  return llvm::all_of(op->getResults(),
                      [](OpResult result) { return viewedOperand(result).has_value(); });
}

#include "llmmem/Interfaces/BufferOpInterface.cpp.inc"
