//===- CostOpInterface.cpp -------------------------------------------------===//

#include "llmmem/Interfaces/CostOpInterface.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

int64_t llmmem::bytesOfType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || !tensor.getElementType().isIntOrFloat())
    return 0;
  return llvm::divideCeil(tensor.getNumElements() * tensor.getElementTypeBitWidth(), 8);
}

int64_t llmmem::sumOfOperandAndResultBytes(Operation *op) {
  int64_t bytes = 0;
  for (Type type : op->getOperandTypes())
    bytes += bytesOfType(type);
  for (Type type : op->getResultTypes())
    bytes += bytesOfType(type);
  return bytes;
}

llmmem::KernelCost llmmem::costAsOneKernel(Operation *op) {
  auto cost = cast<CostOpInterface>(op);
  return {cost.getFlops(), cost.getBytesMoved()};
}

#include "llmmem/Interfaces/CostOpInterface.cpp.inc"
