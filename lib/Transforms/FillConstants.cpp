//===- FillConstants.cpp - Constants that a plan may write where they are read --===//

#include "llmmem/Transforms/FillConstants.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Interfaces/BufferOpInterface.h"
#include "llmmem/Interfaces/FillableOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

/// Whether the reader takes what it reads from memory. A view looks at one operand, and what else
/// it has says where.
static bool readsBytes(OpOperand &use) {
  return llvm::all_of(use.getOwner()->getResults(), [&](OpResult result) {
    std::optional<unsigned> viewed = viewedOperand(result);
    return !viewed || *viewed == use.getOperandNumber();
  });
}

static bool isToBeFilled(Operation &op) {
  SplatElementsAttr elements;
  if (!isa<FillableOpInterface>(op) || !isResidentOp(&op) || op.getNumResults() != 1 ||
      op.use_empty() || !matchPattern(op.getResult(0), m_Constant(&elements)))
    return false;
  return llvm::all_of(op.getUses(), [&](OpOperand &use) {
    Operation *reader = use.getOwner();
    return reader->getBlock() == op.getBlock() && !reader->hasTrait<OpTrait::IsTerminator>() &&
           readsBytes(use);
  });
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
