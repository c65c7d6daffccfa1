//===- Barriers.cpp - Views of several values, read when all are there ---===//

#include "llmmem/Layout/Barriers.h"
#include "llmmem/Interfaces/BufferOpInterface.h"

using namespace mlir;
using namespace llmmem;

bool llmmem::isBarrierOp(Operation *op) {
  return op->getNumResults() > 1 && !isa<BufferOpInterface>(op) && isViewOp(op);
}

bool llmmem::isFreeViewOp(Operation *op) { return isViewOp(op) && !isBarrierOp(op); }

Operation *llmmem::barrierBefore(Value value) {
  while (auto result = dyn_cast<OpResult>(value)) {
    Operation *view = result.getOwner();
    std::optional<unsigned> operand = viewedOperand(result);
    if (!operand)
      return nullptr;
    if (isBarrierOp(view))
      return view;
    value = view->getOperand(*operand);
  }
  return nullptr;
}
