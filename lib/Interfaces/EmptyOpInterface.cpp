//===- EmptyOpInterface.cpp - Values without contents --------------------===//

#include "llmmem/Interfaces/EmptyOpInterface.h"

using namespace mlir;

bool llmmem::isEmptyValue(Value value) {
  return value.getDefiningOp<EmptyOpInterface>() != nullptr;
}

#include "llmmem/Interfaces/EmptyOpInterface.cpp.inc"
