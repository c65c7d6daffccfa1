//===- Skyline.cpp - Lowest offset first ---------------------------------------===//

#include "Skyline.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <limits>

namespace llmmem::planning {
namespace {
constexpr size_t leafSize = 8;

// Sums of repeated instances may leave 63 bits although the live bytes never do.
int64_t saturatingSum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return llvm::AddOverflow(a, b, sum) ? std::numeric_limits<int64_t>::max() : sum;
}
} // namespace

void Shapes::add(llvm::ArrayRef<Piece> chain) {
  int64_t size = 0;
  for (const Piece &piece : chain)
    size = std::max(size, piece.size);
  shapes.push_back({static_cast<int32_t>(pieces.size()), static_cast<int32_t>(chain.size()),
                    chain.front().lower, chain.back().upper, size});
  pieces.insert(pieces.end(), chain.begin(), chain.end());
}

std::vector<int64_t> liveBytes(const Shapes &shapes) {
  std::vector<int64_t> live(shapes.positions + 1, 0);
  for (const Piece &piece : shapes.pieces) {
    live[piece.lower] += piece.size;
    live[piece.upper] -= piece.size;
  }
  for (size_t at = 1; at < live.size(); ++at)
    live[at] += live[at - 1];
  live.pop_back();
  return live;
}

Skyline::Skyline(const Shapes &shapes) : shapes(shapes) {
  const size_t count = shapes.shapes.size();
  order.resize(count);
  for (size_t i = 0; i < count; ++i)
    order[i] = static_cast<int32_t>(i);
  size_t nodeCount = 1;
  for (size_t width = count; width > leafSize; width = (width + 1) / 2)
    nodeCount = nodeCount * 2 + 1;
  nodes.resize(nodeCount);
  build(0, 0, count, /*byLength=*/true);
  for (int32_t index : order)
    slots.push_back({shapes.shapes[index].lower, shapes.shapes[index].upper, -1});
  height.resize(shapes.positions + 1);
  next.resize(shapes.positions + 1);
  previous.resize(shapes.positions + 1);
}

/// Splits alternately by length and by lower: long and short buffers rarely fit the same segment.
void Skyline::build(size_t node, size_t begin, size_t end, bool byLength) {
  if (end - begin <= leafSize)
    return;
  const size_t middle = begin + (end - begin + 1) / 2;
  auto key = [&](int32_t index) {
    const Shape &shape = shapes.shapes[index];
    return std::pair(byLength ? shape.upper - shape.lower : shape.lower, index);
  };
  std::nth_element(order.begin() + begin, order.begin() + middle, order.begin() + end,
                   [&](int32_t a, int32_t b) { return key(a) < key(b); });
  build(2 * node + 1, begin, middle, !byLength);
  build(2 * node + 2, middle, end, !byLength);
}

Skyline::Node Skyline::gathered(size_t node, size_t begin, size_t end) const {
  Node it = {-1, std::numeric_limits<int32_t>::max(), -1};
  if (end - begin > leafSize) {
    for (const Node *child : {&nodes[2 * node + 1], &nodes[2 * node + 2]}) {
      it.maxLower = std::max(it.maxLower, child->maxLower);
      it.minUpper = std::min(it.minUpper, child->minUpper);
      it.maxRank = std::max(it.maxRank, child->maxRank);
    }
    return it;
  }
  for (size_t slot = begin; slot < end; ++slot) {
    if (slots[slot].rank < 0)
      continue;
    it.maxLower = std::max(it.maxLower, slots[slot].lower);
    it.minUpper = std::min(it.minUpper, slots[slot].upper);
    it.maxRank = std::max(it.maxRank, slots[slot].rank);
  }
  return it;
}

void Skyline::fill(size_t node, size_t begin, size_t end) {
  if (end - begin > leafSize) {
    const size_t middle = begin + (end - begin + 1) / 2;
    fill(2 * node + 1, begin, middle);
    fill(2 * node + 2, middle, end);
  }
  nodes[node] = gathered(node, begin, end);
}

/// Whether the node is another one then: where it is not, those above it are not either.
bool Skyline::remove(size_t node, size_t begin, size_t end, size_t slot) {
  if (end - begin > leafSize) {
    const size_t middle = begin + (end - begin + 1) / 2;
    const bool isChanged = slot < middle ? remove(2 * node + 1, begin, middle, slot)
                                         : remove(2 * node + 2, middle, end, slot);
    if (!isChanged)
      return false;
  } else {
    slots[slot].rank = -1;
  }
  const Node before = nodes[node];
  nodes[node] = gathered(node, begin, end);
  return !(nodes[node] == before);
}

/// The unplaced shape of highest rank within [from, to), into bestSlot.
void Skyline::find(size_t node, size_t begin, size_t end, int32_t from, int32_t to) {
  if (end - begin <= leafSize) {
    for (size_t slot = begin; slot < end; ++slot)
      if (slots[slot].rank > bestRank && slots[slot].lower >= from && slots[slot].upper <= to) {
        bestRank = slots[slot].rank;
        bestSlot = static_cast<int32_t>(slot);
      }
    return;
  }
  const size_t middle = begin + (end - begin + 1) / 2;
  const size_t left = 2 * node + 1, right = left + 1;
  auto mayHave = [&](size_t child) {
    const Node &it = nodes[child];
    return it.maxRank > bestRank && it.maxLower >= from && it.minUpper <= to;
  };
  if (nodes[left].maxRank >= nodes[right].maxRank) {
    if (mayHave(left))
      find(left, begin, middle, from, to);
    if (mayHave(right))
      find(right, middle, end, from, to);
  } else {
    if (mayHave(right))
      find(right, middle, end, from, to);
    if (mayHave(left))
      find(left, begin, middle, from, to);
  }
}

void Skyline::push(int32_t start) {
  heap.emplace_back(height[start], start);
  std::push_heap(heap.begin(), heap.end(), std::greater<>());
}

/// Starts a segment at `at`, inside or at the start of the segment that begins at `inside`.
int32_t Skyline::startSegment(int32_t at, int64_t newHeight, int32_t inside) {
  if (at != inside) {
    next[at] = next[inside];
    previous[next[at]] = at;
    previous[at] = inside;
    next[inside] = at;
  }
  height[at] = newHeight;
  return at;
}

/// Joins the segment at `at` with neighbours of the same height, and queues the result.
void Skyline::mergeAround(int32_t at) {
  const int32_t after = next[at];
  if (after < shapes.positions && height[after] == height[at]) {
    next[at] = next[after];
    previous[next[at]] = at;
    height[after] = -1;
  }
  const int32_t before = previous[at];
  if (before >= 0 && height[before] == height[at]) {
    next[before] = next[at];
    previous[next[before]] = before;
    height[at] = -1;
    at = before;
  }
  push(at);
}

/// Raises the skyline over `shape`, which lies within the segment at `start`.
void Skyline::put(int32_t start, int32_t index) {
  const Shape &shape = shapes.shapes[index];
  const int64_t base = height[start];
  const int32_t stop = next[start];
  int32_t last = start;
  if (shape.lower > start)
    push(start);
  if (shape.upper < stop) {
    startSegment(shape.upper, base, start);
    push(shape.upper);
  }
  for (const Piece &piece : shapes.piecesOf(shape))
    last = startSegment(piece.lower, saturatingSum(base, piece.size), last);
  for (const Piece &piece : shapes.piecesOf(shape))
    if (height[piece.lower] >= 0)
      mergeAround(piece.lower);
}

int64_t Skyline::run(llvm::ArrayRef<int32_t> ranks, int64_t limit, std::vector<int64_t> &offsets) {
  const size_t count = shapes.shapes.size();
  for (size_t slot = 0; slot < count; ++slot)
    slots[slot].rank = ranks[order[slot]];
  fill(0, 0, count);
  std::fill(height.begin(), height.end(), -1);
  height[0] = 0;
  next[0] = shapes.positions;
  previous[0] = -1;
  heap.assign(1, {0, 0});
  offsets.resize(count);

  int64_t arena = 0;
  for (size_t placed = 0; placed < count && !heap.empty();) {
    const auto [low, start] = heap.front();
    if (height[start] != low) { // merged or raised since
      std::pop_heap(heap.begin(), heap.end(), std::greater<>());
      heap.pop_back();
      continue;
    }
    bestRank = bestSlot = -1;
    find(0, 0, count, start, next[start]);
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.pop_back();
    if (bestSlot < 0) {
      const int32_t before = previous[start], after = next[start];
      int64_t rise = std::numeric_limits<int64_t>::max();
      if (before >= 0)
        rise = std::min(rise, height[before]);
      if (after < shapes.positions)
        rise = std::min(rise, height[after]);
      if (before < 0 && after >= shapes.positions)
        break;
      height[start] = rise;
      mergeAround(start);
      continue;
    }
    const int32_t index = order[bestSlot];
    const int64_t end = saturatingSum(low, shapes.shapes[index].size);
    if (end >= limit && limit != std::numeric_limits<int64_t>::max())
      return limit;
    offsets[index] = low;
    arena = std::max(arena, end);
    remove(0, 0, count, bestSlot);
    put(start, index);
    ++placed;
  }
  return arena;
}

} // namespace llmmem::planning
