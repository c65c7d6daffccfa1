//===- LoopLayout.cpp - Where the values of a loop's body lie --------------===//

#include "llmmem/Layout/LoopLayout.h"
#include "llmmem/Alignment.h"
#include "llmmem/Interfaces/BufferOpInterface.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "llmmem/Layout/InPlace.h"
#include "llmmem/Layout/LastReads.h"
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
  llvm::DenseMap<Operation *, int64_t> positions;
  for (Operation &op : body)
    positions[&op] = end++;
  --end; // the position of the terminator
  auto reads = [](Operation &op) { return readsOf(op).takeVector(); };
  for (auto [value, reader] : llmmem::findLastReads(body, viewedValue, reads))
    lastRead[value] = positions.lookup(reader);
}

/// Returns whether the op of `result` is the last to read `source`, by operands alone, and its
/// bytes suffice.
bool LoopLayout::fits(OpResult result, Value source, int64_t position) const {
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(result.getOwner()->getRegions(), captured);
  auto place = places.find(source);
  if (place == places.end() || lastRead.lookup(source) != position || !hasPlace(result) ||
      llvm::any_of(captured, [&](Value value) { return viewedValue(value) == source; }))
    return false;
  // The bytes of a result may be an argument's, of one type.
  return place->second.carried ? source.getType() == result.getType()
                               : bytesOfType(result.getType()) <= bytesOfType(source.getType());
}

bool LoopLayout::hasPlace(OpResult result) {
  return isa<TensorType>(result.getType()) && !viewedOperand(result);
}

/// Finds what is in the bytes of an operand that is read here last.
void LoopLayout::takeOver(Operation &op, int64_t position) {
  SmallVector<InPlaceCandidate, 4> candidates = inPlaceCandidates(&op, viewedValue);
  llvm::erase_if(candidates, [&](const InPlaceCandidate &candidate) {
    return !fits(candidate.result, candidate.source, position);
  });
  for (auto [result, source] : chooseInPlace(candidates)) {
    LoopPlace inherited = places.lookup(source);
    places[result] = inherited;
    if (inherited.carried)
      continue;
    unsigned buffer = bufferOf[result] = bufferOf.lookup(source);
    buffers[buffer].last = std::max(position, lastRead.lookup(result));
  }
}

unsigned LoopLayout::addBuffer(int64_t size, int64_t first, int64_t last) {
  buffers.push_back({size, first, last});
  return buffers.size() - 1;
}

void LoopLayout::visit(Operation &op, int64_t position) {
  if (isResidentOp(&op))
    return;
  takeOver(op, position);
  for (OpResult result : op.getResults()) {
    if (!hasPlace(result) || places.contains(result))
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
