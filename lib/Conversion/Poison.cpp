//===- Poison.cpp - Which bytes of the arena die after each op -------------===//

#include "Poison.h"
#include "llmmem/Interfaces/BufferOpInterface.h"
#include "llmmem/Interfaces/CostOpInterface.h"

using namespace mlir;
using namespace llmmem;

namespace {
class Deaths {
public:
  Deaths(func::FuncOp step, const StepPlaces &places) : places(places) {
    for (Operation &op : step.getBody().front()) {
      for (Value operand : op.getOperands())
        lastUse[viewedValue(operand)] = &op;
      for (OpResult result : op.getResults())
        lastUse.try_emplace(viewedValue(result), &op);
    }
  }

  /// What dies at `op`, less what its results have taken over.
  SmallVector<DeadRange> at(Operation &op) const {
    SmallVector<DeadRange> dead;
    llvm::SmallPtrSet<void *, 8> seen;
    auto visit = [&](Value value) {
      Value owner = viewedValue(value);
      if (!seen.insert(owner.getAsOpaquePointer()).second || lastUse.lookup(owner) != &op)
        return;
      if (!places.placeOf(owner).argument)
        add(dead, remainder(op, {places.placeOf(owner).offset, bytesOfType(owner.getType())}));
    };
    llvm::for_each(op.getOperands(), visit);
    llvm::for_each(op.getResults(), visit);
    if (auto workspace = places.workspaceOf(&op))
      add(dead, {workspace->offset, workspace->bytes});
    return dead;
  }

private:
  static void add(SmallVector<DeadRange> &dead, DeadRange range) {
    if (range.bytes > 0)
      dead.push_back(range);
  }

  /// `range` beyond the results of `op` that begin at its place and live on. Nothing where a live
  /// result reaches into it otherwise.
  DeadRange remainder(Operation &op, DeadRange range) const {
    for (OpResult result : op.getResults()) {
      Place place = places.placeOf(result);
      if (place.argument || lastUse.lookup(viewedValue(result)) == &op)
        continue;
      int64_t end = place.offset + bytesOfType(result.getType());
      if (end <= range.offset || place.offset >= range.offset + range.bytes)
        continue;
      int64_t rest = range.offset + range.bytes - end;
      range = {end, std::max<int64_t>(rest, 0)};
    }
    return range;
  }

  const StepPlaces &places;
  llvm::DenseMap<Value, Operation *> lastUse;
};
} // namespace

llvm::DenseMap<Operation *, SmallVector<DeadRange>>
llmmem::findDeadRanges(func::FuncOp step, const StepPlaces &places) {
  Deaths deaths(step, places);
  llvm::DenseMap<Operation *, SmallVector<DeadRange>> ranges;
  for (Operation &op : step.getBody().front().without_terminator())
    ranges[&op] = deaths.at(op);
  return ranges;
}
