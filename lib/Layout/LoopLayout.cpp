//===- LoopLayout.cpp - Where the values of a loop's body lie --------------===//

#include "llmmem/Layout/LoopLayout.h"
#include "llmmem/Alignment.h"
#include "llmmem/Interfaces/BufferOpInterface.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "llmmem/Layout/InPlace.h"
#include "llmmem/Support/Count.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace llmmem;

bool llmmem::isCarriedUnchanged(LoopLikeOpInterface loop, unsigned number) {
  return loop.getYieldedValues()[number] == loop.getRegionIterArgs()[number];
}

LoopLayout::LoopLayout(LoopLikeOpInterface loop)
    : loop(loop), body(loop.getLoopRegions().front()->front()) {
  for (auto [number, argument] : llvm::enumerate(loop.getRegionIterArgs()))
    if (!isCarriedUnchanged(loop, number))
      places[argument] = {static_cast<unsigned>(number)};
  findLastReads();
  int64_t position = 0;
  for (Operation &op : body.without_terminator())
    visit(op, position++);
  findCopies();
  pack();
}

/// Returns what `op` reads, and what the ops in its regions read from outside of it.
static llvm::SetVector<Value> readsOf(Operation &op) {
  llvm::SetVector<Value> reads;
  getUsedValuesDefinedAbove(op.getRegions(), reads);
  reads.insert_range(op.getOperands());
  return reads;
}

void LoopLayout::findLastReads() {
  for (Operation &op : body) {
    for (Value read : readsOf(op))
      lastRead[viewedValue(read)] = end;
    ++end;
  }
  --end; // The position of the terminator.
}

/// Returns whether `result` lies in the bytes of an operand that is read here last.
bool LoopLayout::takesOver(OpResult result, int64_t position) {
  Operation *op = result.getOwner();
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (unsigned number : inPlaceOperands(result)) {
    Value root = viewedValue(op->getOperand(number));
    auto place = places.find(root);
    bool isCaptured =
        llvm::any_of(captured, [&](Value value) { return viewedValue(value) == root; });
    auto liesThere = [&](Value other) { return viewedValue(other) == root; };
    if (place == places.end() || lastRead.lookup(root) != position || isCaptured ||
        !mayOverwrite(result, liesThere))
      continue;
    // The bytes of a result may belong to an argument of one type.
    bool fits = place->second.carried
                    ? root.getType() == result.getType()
                    : bytesOfType(result.getType()) <= bytesOfType(root.getType());
    if (!fits || !taken.insert(root).second)
      continue;
    Place inherited = place->second;
    places[result] = inherited;
    if (!inherited.carried) {
      unsigned buffer = bufferOf[result] = bufferOf.lookup(root);
      buffers[buffer].last = std::max(position, lastRead.lookup(result));
    }
    return true;
  }
  return false;
}

unsigned LoopLayout::addBuffer(int64_t size, int64_t first, int64_t last) {
  buffers.push_back({size, first, last});
  return buffers.size() - 1;
}

void LoopLayout::visit(Operation &op, int64_t position) {
  if (isResidentOp(&op))
    return;
  for (OpResult result : op.getResults()) {
    if (!isa<TensorType>(result.getType()) || viewedOperand(result) || takesOver(result, position))
      continue;
    places[result] = {};
    bufferOf[result] = addBuffer(bytesOfType(result.getType()), position,
                                 std::max(position, lastRead.lookup(result)));
  }
  if (auto cost = dyn_cast<CostOpInterface>(op); cost && cost.getWorkspaceBytes() != 0)
    scratchOf[&op] = addBuffer(cost.getWorkspaceBytes(), position, position);
}

void LoopLayout::findCopies() {
  for (auto [number, value] : llvm::enumerate(loop.getYieldedValues())) {
    if (!isa<TensorType>(value.getType()) || isCarriedUnchanged(loop, number))
      continue;
    auto place = places.find(viewedValue(value));
    std::optional<unsigned> home = place == places.end() ? std::nullopt : place->second.carried;
    if (home == number)
      continue;
    copies.push_back({static_cast<unsigned>(number), std::nullopt});
    if (home)
      wayOf[number] = addBuffer(bytesOfType(value.getType()), end, end);
  }
}

int64_t LoopLayout::getBytesCopied() const {
  Count sum;
  LoopLikeOpInterface of = loop;
  for (const Copy &copy : copies)
    sum += (copy.by ? 4 : 2) * Count(bytesOfType(of.getRegionIterArgs()[copy.carried].getType()));
  return sum;
}

/// Packs greedily by size (Pisarchyk and Lee 2020): the largest first, each at the lowest offset
/// where no other is held at the same time.
void LoopLayout::pack() {
  SmallVector<Buffer *> order;
  Count all;
  for (Buffer &buffer : buffers) {
    order.push_back(&buffer);
    all += alignTo(Count(buffer.bytes), kArenaAlignment);
  }
  if (all.isTooMany()) { // No sum below could be trusted.
    bytes = Count::tooMany;
    return;
  }
  llvm::stable_sort(order, [](Buffer *a, Buffer *b) { return a->bytes > b->bytes; });
  SmallVector<Buffer *> placed; // Ordered by offset.
  for (Buffer *buffer : order) {
    for (Buffer *other : placed)
      if (other->first <= buffer->last && buffer->first <= other->last &&
          other->offset < buffer->offset + buffer->bytes)
        buffer->offset = std::max<int64_t>(
            buffer->offset, llvm::alignTo(other->offset + other->bytes, kArenaAlignment));
    placed.insert(llvm::upper_bound(placed, buffer,
                                    [](Buffer *a, Buffer *b) { return a->offset < b->offset; }),
                  buffer);
    bytes = std::max(bytes, buffer->offset + buffer->bytes);
  }
  for (auto [value, buffer] : bufferOf)
    places[value].offset = buffers[buffer].offset;
  for (auto [op, buffer] : scratchOf)
    scratch[op] = buffers[buffer].offset;
  for (Copy &copy : copies)
    if (auto way = wayOf.find(copy.carried); way != wayOf.end())
      copy.by = buffers[way->second].offset;
}
