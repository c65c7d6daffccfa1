//===- EmptyOpInterface.cpp -------------------------------------------------===//

#include "llmmem/Interfaces/EmptyOpInterface.h"
#include "llmmem/Interfaces/CostOpInterface.h"

using namespace mlir;

bool llmmem::isEmptyValue(Value value) {
  return value.getDefiningOp<EmptyOpInterface>() != nullptr;
}

int64_t llmmem::residentBytes(Value constant) {
  return isEmptyValue(constant) ? 0 : bytesOfType(constant.getType());
}

#include "llmmem/Interfaces/EmptyOpInterface.cpp.inc"
