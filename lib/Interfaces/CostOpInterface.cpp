//===- CostOpInterface.cpp -------------------------------------------------===//

#include "llmmem/Interfaces/CostOpInterface.h"
#include "llmmem/Support/Count.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

std::optional<int64_t> llmmem::bytesOfElementType(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type)) {
    std::optional<int64_t> part = bytesOfElementType(complex.getElementType());
    return part ? std::optional(2 * *part) : std::nullopt;
  }
  if (type.isIndex())
    return 8;
  if (!type.isIntOrFloat())
    return std::nullopt;
  return llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
}

int64_t llmmem::bytesOfType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return 0;
  Count elements = 1;
  for (int64_t dimension : tensor.getShape())
    elements *= dimension;
  if (tensor.getElementType().isInteger(4)) // two of them share a byte
    return divideCeil(elements, 2);
  return elements * bytesOfElementType(tensor.getElementType()).value_or(0);
}

int64_t llmmem::sumOfOperandAndResultBytes(Operation *op) {
  Count bytes;
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
