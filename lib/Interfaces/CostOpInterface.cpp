//===- CostOpInterface.cpp -------------------------------------------------===//

#include "llmmem/Interfaces/CostOpInterface.h"
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
  if (tensor.getElementType().isInteger(4)) // two of them share a byte
    return llvm::divideCeil(tensor.getNumElements(), 2);
  return tensor.getNumElements() * bytesOfElementType(tensor.getElementType()).value_or(0);
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
