//===- InPlace.cpp - When a result may stand where operands lie -------------===//

#include "llmmem/Layout/InPlace.h"
#include "llmmem/Interfaces/BufferOpInterface.h"

using namespace mlir;

bool llmmem::mayOverwrite(OpResult result, llvm::function_ref<bool(Value)> liesThere) {
  SmallVector<unsigned> allowed = inPlaceOperands(result);
  bool isRead = false;
  for (OpOperand &operand : result.getOwner()->getOpOperands()) {
    if (!liesThere(operand.get()))
      continue;
    isRead = true;
    if (!llvm::is_contained(allowed, operand.getOperandNumber()))
      return false;
  }
  return isRead;
}
