//===- PackSaved.cpp - Saved values in 8 bits ------------------------------===//

#include "llmmem/Transforms/PackSaved.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/FewerBits.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

static bool isOf(Operation *op, planning::Phase phase) { return getPhase(op) == phase; }

/// Returns whether a reader may be given rounded numbers. An op that makes a loss head's gradients
/// also makes its loss, which keeps its bits.
static bool readsRounded(Operation *user) {
  bool makesLoss = llvm::any_of(user->getResultTypes(), [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() == 0;
  });
  return isOf(user, planning::Phase::Backward) && !makesLoss;
}

/// Returns the largest group that divides a row, or 0 where none does.
static int64_t groupOf(RankedTensorType type) {
  constexpr int64_t kLargest = 256;
  int64_t row = type.getRank() > 0 ? type.getShape().back() : 0;
  for (int64_t group = kLargest; group > 0 && row > 0; group -= llm::kGroupStep)
    if (row % group == 0)
      return group;
  return 0;
}

static bool mayBePacked(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getEncoding() || groupOf(type) == 0)
    return false;
  if (!type.getElementType().isBF16() && !type.getElementType().isF32())
    return false;
  return llvm::any_of(value.getUsers(), readsRounded);
}

/// Returns the candidates in the order in which the forward makes them.
static SmallVector<OpResult> findCandidates(func::FuncOp step) {
  SmallVector<OpResult> candidates;
  int64_t largest = 0;
  for (Operation &op : step.getBody().front().without_terminator()) {
    if (!isOf(&op, planning::Phase::Forward) || isa<llm::PackOp>(op))
      continue;
    for (OpResult result : op.getResults())
      if (mayBePacked(result)) {
        candidates.push_back(result);
        largest = std::max(largest, cast<RankedTensorType>(result.getType()).getNumElements());
      }
  }
  llvm::erase_if(candidates, [&](OpResult value) {
    return cast<RankedTensorType>(value.getType()).getNumElements() * 8 < largest;
  });
  return candidates;
}

static void describe(Operation *op, Operation *like, llm::Phase phase, const Twine &name) {
  llm::writePhase(op, phase);
  op->setAttr(LlmDialect::kName, StringAttr::get(op->getContext(), name));
  if (Attribute block = like->getAttr(LlmDialect::kBlock))
    op->setAttr(LlmDialect::kBlock, block);
}

/// The backward reads what is unpacked just before its first reader. A plan may unpack it again.
static void pack(OpResult value) {
  Operation *writer = value.getOwner(), *first = nullptr;
  for (Operation *user : value.getUsers())
    if (readsRounded(user) && (!first || user->isBeforeInBlock(first)))
      first = user;
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> groups(type.getShape());
  groups.back() /= groupOf(type);
  OpBuilder builder(writer->getContext());
  builder.setInsertionPointAfter(writer);
  auto packed = llm::PackOp::create(builder, writer->getLoc(), type.clone(builder.getI8Type()),
                                    RankedTensorType::get(groups, type.getElementType()), value);
  std::string name = getName(value);
  describe(packed, writer, llm::Phase::Forward, name + ".packed");
  builder.setInsertionPoint(first);
  auto unpacked =
      llm::UnpackOp::create(builder, first->getLoc(), type, packed.getPacked(), packed.getScales());
  describe(unpacked, first, llm::Phase::Backward, name + ".unpacked");
  value.replaceUsesWithIf(unpacked.getX(),
                          [](OpOperand &use) { return readsRounded(use.getOwner()); });
}

int64_t llmmem::packSavedValues(func::FuncOp step, int64_t quarters) {
  SmallVector<OpResult> candidates = findCandidates(step);
  auto count = static_cast<int64_t>(candidates.size()) * quarters / kPackedQuarters;
  for (OpResult value : ArrayRef(candidates).take_front(count))
    pack(value);
  return count;
}
