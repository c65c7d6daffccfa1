//===- CostOpInterface.cpp - What running an op costs --------------------===//

#include "llmmem/Interfaces/CostOpInterface.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Support/Count.h"

using namespace mlir;

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
