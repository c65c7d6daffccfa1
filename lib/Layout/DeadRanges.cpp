//===- DeadRanges.cpp - Which bytes of the arena die after each op --------===//

#include "llmmem/Layout/DeadRanges.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/BufferOpInterface.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Layout/LastReads.h"

using namespace mlir;
using namespace llmmem;

namespace {
class Deaths {
public:
  Deaths(func::FuncOp step, const StepPlaces &places) : places(places) {
    lastUse = findLastReads(step.getBody().front(), viewedValue, usedAt);
    for (Operation &op : step.getBody().front())
      for (OpResult result : op.getResults())
        lastUse.try_emplace(viewedValue(result), &op);
  }

  /// Returns what dies at `op`, without the bytes that its results reuse in place.
  SmallVector<DeadRange> at(Operation &op) const {
    SmallVector<DeadRange> dead;
    llvm::SmallPtrSet<void *, 8> visited;
    auto visit = [&](Value value) {
      Value owner = viewedValue(value);
      if (!visited.insert(owner.getAsOpaquePointer()).second || lastUse.lookup(owner) != &op)
        return;
      if (!places.placeOf(owner).argument)
        add(dead, remainder(op, {places.placeOf(owner).offset, bytesOfType(owner.getType()),
                                 places.placeOf(owner).onHost}));
    };
    llvm::for_each(usedAt(op), visit);
    llvm::for_each(op.getResults(), visit);
    if (llm::isStarted(&op))
      return dead;
    auto wait = dyn_cast<llm::WaitOp>(op);
    if (auto workspace = plannedWorkspace(wait ? wait.getStart() : &op))
      add(dead, {workspace->offset, workspace->bytes, /*onHost=*/false});
    return dead;
  }

private:
  /// Returns the operands, and at a wait those of what was started: until then they are in flight.
  static SmallVector<Value> usedAt(Operation &op) {
    SmallVector<Value> used(op.getOperands());
    if (auto wait = dyn_cast<llm::WaitOp>(op))
      llvm::append_range(used, wait.getStart()->getOperands());
    return used;
  }

  static void add(SmallVector<DeadRange> &dead, DeadRange range) {
    if (range.bytes > 0)
      dead.push_back(range);
  }

  /// Returns the part of `range` after the results of `op` that begin where it begins and are live
  /// after `op`. It is empty if a live result overlaps it in another way.
  DeadRange remainder(Operation &op, DeadRange range) const {
    for (OpResult result : op.getResults()) {
      Place place = places.placeOf(result);
      if (place.argument || place.onHost != range.onHost ||
          lastUse.lookup(viewedValue(result)) == &op)
        continue;
      int64_t end = place.offset + bytesOfType(result.getType());
      if (end <= range.offset || place.offset >= range.offset + range.bytes)
        continue;
      int64_t rest = range.offset + range.bytes - end;
      range = {end, std::max<int64_t>(rest, 0), range.onHost};
    }
    return range;
  }

  const StepPlaces &places;
  llvm::DenseMap<Value, Operation *> lastUse;
};
} // namespace

/// Returns whether a result or the workspace of `op` meets `range`.
static bool writes(const StepPlaces &places, Operation *op, DeadRange range) {
  auto meets = [&](int64_t offset, int64_t bytes) {
    return offset < range.offset + range.bytes && range.offset < offset + bytes;
  };
  std::optional<Workspace> workspace = plannedWorkspace(op);
  return (workspace && !range.onHost && meets(workspace->offset, workspace->bytes)) ||
         llvm::any_of(op->getResults(), [&](Value result) {
           Place place = places.placeOf(result);
           return !place.argument && place.onHost == range.onHost &&
                  meets(place.offset, bytesOfType(result.getType()));
         });
}

llvm::DenseMap<Operation *, SmallVector<DeadRange>>
llmmem::findDeadRanges(func::FuncOp step, const StepPlaces &places) {
  Deaths deaths(step, places);
  llvm::DenseMap<Operation *, SmallVector<DeadRange>> ranges;
  SmallVector<Operation *> inFlight;
  for (Operation &op : step.getBody().front().without_terminator()) {
    SmallVector<DeadRange> &dead = ranges[&op] = deaths.at(op);
    if (llm::isStarted(&op))
      inFlight.push_back(&op);
    auto wait = dyn_cast<llm::WaitOp>(op);
    if (!wait)
      continue;
    // An op that was started later runs after what was waited for, and may reuse its bytes.
    llvm::erase(inFlight, wait.getStart());
    llvm::erase_if(dead, [&](DeadRange range) {
      return llvm::any_of(inFlight, [&](Operation *start) { return writes(places, start, range); });
    });
  }
  return ranges;
}
