//===- HeadColumns.cpp - Where the rows of attention's heads lie -----------===//

#include "llmmem/Dialect/HeadColumns.h"
#include "llmmem/Dialect/LlmOps.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

bool llmmem::llm::readsHeads(OpOperand &use) {
  auto groupable = dyn_cast<GroupableOpInterface>(use.getOwner());
  return groupable && llvm::is_contained(groupable.getHeadOperands(), use.getOperandNumber());
}

bool llmmem::llm::areHeads(Value value) {
  auto groupable = value.getDefiningOp<GroupableOpInterface>();
  return groupable &&
         llvm::is_contained(groupable.getHeadResults(), cast<OpResult>(value).getResultNumber());
}

static int64_t widthOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getShape().back();
}

static HeadColumns columnsOf(Value whole, ValueRange parts, Value part) {
  HeadColumns columns{whole, 0, widthOf(whole)};
  for (Value before : parts) {
    if (before == part)
      break;
    columns.begin += widthOf(before);
  }
  return columns;
}

HeadColumns llmmem::llm::columnsRead(Value operand) {
  if (auto split = operand.getDefiningOp<SplitOp>())
    return columnsOf(split.getX(), split.getParts(), operand);
  return {operand};
}

HeadColumns llmmem::llm::columnsWritten(OpResult result) {
  for (Operation *user : result.getUsers())
    if (auto concat = dyn_cast<ConcatOp>(user))
      return columnsOf(concat.getY(), concat.getParts(), result);
  return {result};
}
