//===- SavedValues.cpp - What the forward leaves for the backward ----------===//

#include "llmmem/Analysis/SavedValues.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Planning/Model/Decisions.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

llvm::DenseMap<Operation *, Operation *> llmmem::findOriginals(func::FuncOp step) {
  llvm::DenseMap<int64_t, Operation *> byId;
  llvm::DenseMap<Operation *, Operation *> originals;
  for (Operation &op : step.getBody().front())
    if (auto id = op.getAttrOfType<IntegerAttr>(LlmDialect::kId))
      byId[id.getInt()] = &op;
  for (Operation &op : step.getBody().front())
    if (auto of = op.getAttrOfType<IntegerAttr>(LlmDialect::kCloneOf))
      if (Operation *original = byId.lookup(of.getInt()))
        originals[&op] = original;
  return originals;
}

std::vector<SavedValue> llmmem::findSavedValues(func::FuncOp step, const StepStorage &storage) {
  llvm::DenseMap<Operation *, Operation *> originals = findOriginals(step);
  llvm::MapVector<Value, SavedValue> saved;
  llvm::DenseMap<Operation *, int64_t> order;
  for (Operation &op : step.getBody().front().without_terminator()) {
    order[&op] = order.size();
    for (Value operand : op.getOperands()) {
      Value read = storage.getRoot(operand);
      auto root = dyn_cast<OpResult>(storage.getRoot(llm::copiedFrom(read)));
      if (!root || storage.getArgument(root) || storage.isConstant(root) ||
          !planning::isSavedFor(getPhase(root.getOwner()), getPhase(&op)))
        continue;
      Operation *original = originals.lookup(root.getOwner());
      Value first = original ? original->getResult(root.getResultNumber()) : Value(root);
      SavedValue &entry = saved[first];
      entry.value = first;
      entry.recomputed |= original != nullptr;
      entry.offloaded |= read != root;
      if (entry.readers.empty() || entry.readers.back() != &op)
        entry.readers.push_back(&op);
    }
  }
  std::vector<SavedValue> result;
  for (auto &[value, entry] : saved) {
    entry.bytes = bytesOfType(value.getType());
    entry.offloaded &= !entry.recomputed;
    entry.block = getBlock(value.getDefiningOp());
    result.push_back(std::move(entry));
  }
  llvm::stable_sort(result, [&](const SavedValue &a, const SavedValue &b) {
    auto x = cast<OpResult>(a.value), y = cast<OpResult>(b.value);
    return std::pair(order[x.getOwner()], x.getResultNumber()) <
           std::pair(order[y.getOwner()], y.getResultNumber());
  });
  return result;
}
