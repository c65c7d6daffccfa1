//===- KernelGroup.cpp - Ops on their way into one kernel ------------------===//

#include "KernelGroup.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static bool isRowReduction(Operation *op) {
  auto groupable = dyn_cast<GroupableOpInterface>(op);
  return groupable && groupable.getTraversal() == Traversal::RowReduction;
}

bool llmmem::isGroupable(Operation *op) {
  auto groupable = dyn_cast<GroupableOpInterface>(op);
  bool isElementwise = groupable && groupable.getTraversal() == Traversal::Elementwise;
  return (isElementwise || isRowReduction(op)) && op->getNumResults() > 0;
}

bool llmmem::isCheapElementwise(Operation *op) {
  auto groupable = dyn_cast<GroupableOpInterface>(op);
  return groupable && groupable.getTraversal() == Traversal::Elementwise &&
         groupable.isCheapToRepeat();
}

bool llmmem::isColumns(Operation *op) {
  auto groupable = dyn_cast<GroupableOpInterface>(op);
  return groupable && groupable.getTraversal() == Traversal::Columns;
}

static int64_t elements(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getNumElements() : -1;
}

bool llmmem::isElementOperand(Value operand, Operation *op) {
  return op->getNumResults() > 0 && elements(operand) == elements(op->getResult(0));
}

bool llmmem::canFeed(Operation *producer, Operation *reader) {
  return isGroupable(producer) && isGroupable(reader) &&
         isElementOperand(producer->getResult(0), reader) &&
         !(isRowReduction(producer) && isRowReduction(reader));
}

static constexpr StringLiteral kStanding[] = {LlmDialect::kPhase, LlmDialect::kBlock,
                                              LlmDialect::kMicroBatch};

bool llmmem::standTogether(Operation *a, Operation *b) {
  return llvm::all_of(kStanding,
                      [&](StringRef name) { return a->getAttr(name) == b->getAttr(name); });
}

void llmmem::putWith(Operation *op, Operation *other) {
  for (StringRef name : kStanding)
    if (Attribute ofOther = other->getAttr(name))
      op->setAttr(name, ofOther);
    else
      op->removeAttr(name);
}

//===----------------------------------------------------------------------===//
// One group
//===----------------------------------------------------------------------===//

SmallVector<Value> KernelGroup::inputs() const {
  llvm::SetVector<Value> values;
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (!operand.getDefiningOp() || !contains(operand.getDefiningOp()))
        values.insert(operand);
  return values.takeVector();
}

SmallVector<Value> KernelGroup::outputs() const {
  SmallVector<Value> values;
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !contains(user); }))
        values.push_back(result);
  return values;
}

Operation *KernelGroup::rowOp() const {
  auto found = llvm::find_if(ops, isRowReduction);
  return found == ops.end() ? nullptr : *found;
}

bool KernelGroup::feedsRows(Operation *op) const {
  return llvm::any_of(op->getUsers(), [&](Operation *user) {
    return contains(user) && (isRowReduction(user) || feedsRows(user));
  });
}

KernelGroup KernelGroup::with(const KernelGroup &other) const {
  KernelGroup both = *this;
  both.ops.append(other.ops);
  llvm::sort(both.ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return both;
}

bool KernelGroup::keepsLifetimes() const {
  Operation *first = ops.front(), *last = ops.back();
  for (Value input : inputs())
    if (Operation *producer = input.getDefiningOp(); producer && !producer->isBeforeInBlock(first))
      return false;
  for (Value output : outputs())
    for (Operation *user : output.getUsers())
      if (!contains(user) && user->isBeforeInBlock(last))
        return false;
  return true;
}

//===----------------------------------------------------------------------===//
// All groups
//===----------------------------------------------------------------------===//

KernelGroups::KernelGroups(Block &block) : block(block) {
  for (Operation &op : block)
    groups[&op] = std::make_shared<KernelGroup>(&op);
}

bool KernelGroups::merge(Operation *a, Operation *b) {
  KernelGroup both = groupOf(a).with(groupOf(b));
  if (!both.keepsLifetimes())
    return false;
  auto shared = std::make_shared<KernelGroup>(both);
  for (Operation *op : shared->members())
    groups[op] = shared;
  return true;
}

bool KernelGroups::mergeProducer(Operation *producer, Operation *reader) {
  const KernelGroup &into = groupOf(reader), &from = groupOf(producer);
  auto readInside = [&](Operation *user) { return into.contains(user); };
  if (&into == &from || !canFeed(producer, reader) || !standTogether(producer, reader) ||
      !llvm::all_of(producer->getResult(0).getUsers(), readInside))
    return false;
  if (from.rowOp() && into.rowOp())
    return false;
  KernelGroup both = from.with(into);
  bool costly = llvm::any_of(
      from.members(), [&](Operation *op) { return both.feedsRows(op) && !isCheapElementwise(op); });
  return !costly && merge(producer, reader);
}

bool KernelGroups::mergeSibling(Operation *first, Operation *second) {
  const KernelGroup &a = groupOf(first), &b = groupOf(second);
  if (&a == &b || a.rowOp() || b.rowOp() || !standTogether(first, second) ||
      elements(first->getResult(0)) != elements(second->getResult(0)))
    return false;
  return merge(first, second);
}

SmallVector<KernelGroup> KernelGroups::withSeveralMembers() const {
  SmallVector<KernelGroup> several;
  for (Operation &op : block) {
    const KernelGroup &group = groupOf(&op);
    if (group.members().size() > 1 && group.members().back() == &op)
      several.push_back(group);
  }
  return several;
}
