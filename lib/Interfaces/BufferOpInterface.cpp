//===- BufferOpInterface.cpp -----------------------------------------------===//

#include "llmmem/Interfaces/BufferOpInterface.h"

using namespace mlir;
using namespace llmmem;

std::optional<unsigned> llmmem::viewedOperand(OpResult result) {
  auto buffers = dyn_cast<BufferOpInterface>(result.getOwner());
  return buffers ? buffers.getViewedOperand(result.getResultNumber()) : std::nullopt;
}

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
  return op->getNumResults() > 0 && llvm::all_of(op->getResults(), [](OpResult result) {
           return viewedOperand(result).has_value();
         });
}

#include "llmmem/Interfaces/BufferOpInterface.cpp.inc"
