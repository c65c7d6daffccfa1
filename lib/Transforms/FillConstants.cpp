//===- FillConstants.cpp - Constants that a plan may write where they are read --===//

#include "llmmem/Transforms/FillConstants.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Interfaces/BufferOpInterface.h"
#include "llmmem/Interfaces/FillableOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

/// Returns whether every reader of `value`, and of the views of it, is an op of the step itself
/// that reads elements from memory. The other operands of a view say where it lies, and ops that
/// write no destination of their own, as those of tosa, may have to know a constant when they are
/// compiled.
static bool isReadFromMemory(Value value, Block *block) {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *reader = use.getOwner();
    if (reader->getBlock() != block)
      return false;
    for (OpResult result : reader->getResults())
      if (std::optional<unsigned> viewed = viewedOperand(result))
        return *viewed == use.getOperandNumber() && isReadFromMemory(result, block);
    return isa<DestinationStyleOpInterface>(reader);
  });
}

static bool isToBeFilled(Operation &op) {
  SplatElementsAttr elements;
  return isa<FillableOpInterface>(op) && isResidentOp(&op) && op.getNumResults() == 1 &&
         !op.use_empty() && matchPattern(op.getResult(0), m_Constant(&elements)) &&
         isReadFromMemory(op.getResult(0), op.getBlock());
}

bool llmmem::hasConstantsToFill(func::FuncOp step) {
  return llvm::any_of(step.getBody().front(), isToBeFilled);
}

static Operation *firstReader(Operation &op) {
  Operation *first = nullptr;
  for (Operation *reader : op.getUsers())
    if (!first || reader->isBeforeInBlock(first))
      first = reader;
  return first;
}

int64_t llmmem::fillConstants(func::FuncOp step) {
  SmallVector<Operation *> constants;
  for (Operation &op : step.getBody().front())
    if (isToBeFilled(op))
      constants.push_back(&op);
  int64_t filled = 0;
  for (Operation *constant : constants) {
    OpBuilder builder(firstReader(*constant));
    Value fill = cast<FillableOpInterface>(constant).makeFill(builder);
    if (!fill)
      continue;
    for (StringRef name : {LlmDialect::kPhase, LlmDialect::kBlock, LlmDialect::kName})
      if (Attribute attribute = constant->getAttr(name))
        fill.getDefiningOp()->setAttr(name, attribute);
    constant->replaceAllUsesWith(ValueRange(fill));
    constant->erase();
    ++filled;
  }
  return filled;
}
