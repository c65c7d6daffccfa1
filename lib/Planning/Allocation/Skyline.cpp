//===- Skyline.cpp - Lowest offset first ---------------------------------------===//

#include "Skyline.h"
#include "llvm/Support/MathExtras.h"
#include <bit>
#include <numeric>

namespace llmmem::planning {
namespace {
constexpr size_t blockSize = 64; // slots
constexpr size_t groupSize = 32; // blocks
constexpr uint64_t allBits = ~uint64_t(0);
constexpr uint64_t wallHeight = std::numeric_limits<uint64_t>::max(); // above all sums

/// Runs `visit` with the index of each bit that is set.
template <typename Visit>
void forEachBit(uint64_t bits, Visit visit) {
  for (; bits; bits &= bits - 1)
    visit(static_cast<size_t>(std::countr_zero(bits)));
}

/// Sorts the indices `from` by a position of their shapes, into `to`. Returns where the indices of
/// each position begin.
std::vector<int32_t> sortBy(int32_t Shape::*key, const Shapes &shapes,
                            const std::vector<int32_t> &from, std::vector<int32_t> &to) {
  std::vector<int32_t> begins(shapes.positions + 3, 0);
  for (const Shape &shape : shapes.shapes)
    ++begins[shape.*key + 2];
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  for (int32_t index : from)
    to[begins[shapes.shapes[index].*key + 1]++] =
        index; // moves to where those of the next one begin
  return begins;
}

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

UnplacedShapes::UnplacedShapes(const Shapes &shapes) {
  const std::vector<Shape> &all = shapes.shapes;
  std::vector<int32_t> byUpper(all.size());
  order.resize(all.size());
  std::iota(order.begin(), order.end(), 0);
  sortBy(&Shape::upper, shapes, order, byUpper);
  firstSlot = sortBy(&Shape::lower, shapes, byUpper, order);
  slots.reserve(all.size());
  for (int32_t index : order)
    slots.push_back({all[index].upper, -1});
  slotOfRank.resize(all.size());
  isUnplaced.resize((all.size() + blockSize - 1) / blockSize);
  blocks.resize(isUnplaced.size());
  groups.resize((blocks.size() + groupSize - 1) / groupSize);
}

void UnplacedShapes::reset(llvm::ArrayRef<int32_t> ranks) {
  for (size_t slot = 0; slot < slots.size(); ++slot) {
    slots[slot].rank = ranks[order[slot]];
    slotOfRank[slots[slot].rank] = static_cast<int32_t>(slot);
  }
  std::fill(isUnplaced.begin(), isUnplaced.end(), allBits);
  if (const size_t rest = slots.size() % blockSize)
    isUnplaced.back() = ~(allBits << rest);
  for (size_t block = 0; block < blocks.size(); ++block)
    blocks[block] = boundsOfBlock(block);
  for (size_t group = 0; group < groups.size(); ++group)
    groups[group] = boundsOfGroup(group);
}

UnplacedShapes::Bounds UnplacedShapes::boundsOfBlock(size_t block) const {
  Bounds bounds;
  forEachBit(isUnplaced[block], [&](size_t bit) {
    const Slot &slot = slots[block * blockSize + bit];
    bounds.add({slot.rank, slot.upper, slot.upper});
  });
  return bounds;
}

UnplacedShapes::Bounds UnplacedShapes::boundsOfGroup(size_t group) const {
  Bounds bounds;
  const size_t end = std::min(blocks.size(), (group + 1) * groupSize);
  for (size_t block = group * groupSize; block < end; ++block)
    bounds.add(blocks[block]);
  return bounds;
}

int32_t UnplacedShapes::take(int32_t rank) {
  const size_t slot = slotOfRank[rank], block = slot / blockSize, group = block / groupSize;
  isUnplaced[block] &= ~(uint64_t(1) << slot % blockSize);
  // Bounds that are too wide would do, but a rank that is no longer there may not be found.
  if (blocks[block].hasAtEdge(slots[slot])) {
    blocks[block] = boundsOfBlock(block);
    if (groups[group].hasAtEdge(slots[slot]))
      groups[group] = boundsOfGroup(group);
  }
  return order[slot];
}

struct UnplacedShapes::Search {
  const int32_t to;
  int32_t best = -1;

  /// Says whether the shapes within the bounds must be visited one by one. `isInside` says that all
  /// of them begin where they may.
  bool mustVisit(const Bounds &bounds, bool isInside) {
    if (bounds.maxRank <= best || bounds.minUpper > to)
      return false;
    if (!isInside || bounds.maxUpper > to)
      return true;
    best = bounds.maxRank;
    return false;
  }
  void visit(const Slot &slot) { best = std::max(best, slot.upper <= to ? slot.rank : -1); }
};

int32_t UnplacedShapes::highestRank(int32_t from, int32_t to) const {
  const size_t begin = firstSlot[from], end = firstSlot[to];
  if (begin == end)
    return -1;
  const size_t firstBlock = begin / blockSize, lastBlock = (end - 1) / blockSize;
  Search search = {to};
  for (size_t block = firstBlock; block <= lastBlock; ++block) {
    if (block % groupSize == 0 && block + groupSize <= lastBlock &&
        !search.mustVisit(groups[block / groupSize], block > firstBlock)) {
      block += groupSize - 1;
      continue;
    }
    if (!search.mustVisit(blocks[block], block > firstBlock && block < lastBlock))
      continue;
    uint64_t bits = isUnplaced[block];
    if (block == firstBlock)
      bits &= allBits << begin % blockSize;
    if (block == lastBlock)
      bits &= allBits >> (blockSize - 1 - (end - 1) % blockSize);
    forEachBit(bits, [&](size_t bit) { search.visit(slots[block * blockSize + bit]); });
  }
  return search.best;
}

/// Returns the first of the lowest segments.
int32_t Skyline::lowestSegment() {
  while (lowest.empty()) {
    const auto segment = static_cast<int32_t>(heap.front());
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.pop_back();
    if (segments[segment].start >= 0)
      lowest.push_back(segment);
  }
  return lowest.back();
}

/// Returns the segment of `height` from `start` on, after `left`. It is `left` where that has this
/// height.
int32_t Skyline::raise(int32_t left, int32_t start, uint64_t height) {
  if (segments[left].height == height)
    return left;
  const auto added = static_cast<int32_t>(segments.size());
  segments.push_back({height, start, left, -1});
  segments[left].next = added;
  heap.push_back(Entry(height) << 64 | Entry(start) << 32 | Entry(added));
  std::push_heap(heap.begin(), heap.end(), std::greater<>());
  return added;
}

void Skyline::link(int32_t left, int32_t right) {
  segments[left].next = right;
  segments[right].previous = left;
}

/// Makes two segments neighbours, and joins neighbours of the same height.
void Skyline::join(int32_t left, int32_t right) {
  if (segments[left].height == segments[right].height) {
    segments[right].start = -1;
    right = segments[right].next;
  }
  link(left, right);
}

/// Gives the place of the first of the lowest segments to its lower neighbour. The entry of the
/// neighbour stays: no other segment begins between two positions of one segment.
void Skyline::fillLowest() {
  const Segment filled = segments[lowest.back()];
  lowest.pop_back();
  const int32_t left = filled.previous, right = filled.next;
  if (segments[right].height < segments[left].height)
    segments[right].start = filled.start;
  join(left, right);
}

/// Raises the skyline over `shape`, which lies within the first of the lowest segments.
void Skyline::put(const Shape &shape) {
  const int32_t segment = lowest.back();
  const Segment under = segments[segment];
  if (under.height == std::numeric_limits<int64_t>::max())
    return; // as high as a saturated sum can be
  lowest.pop_back();
  int32_t left = under.previous, right = under.next;
  if (shape.upper < segments[right].start) {
    const auto rest = static_cast<int32_t>(segments.size());
    segments.push_back({under.height, shape.upper, -1, right});
    segments[right].previous = rest;
    lowest.push_back(rest);
    right = rest;
  }
  if (shape.lower > under.start)
    lowest.push_back(left = segment);
  // Offsets depend on this: an even number of pieces of the same height in a row is not joined with
  // what is as high after them before one of the two is the lowest.
  bool isEven = false;
  uint64_t last = under.height;
  for (const Piece &piece : shapes.piecesOf(shape)) {
    const uint64_t height = saturatingSum(under.height, piece.size);
    isEven = height == last && !isEven;
    left = raise(left, piece.lower, last = height);
  }
  isEven ? link(left, right) : join(left, right);
}

int64_t Skyline::run(llvm::ArrayRef<int32_t> ranks, int64_t limit, std::vector<int64_t> &offsets) {
  const size_t count = shapes.shapes.size();
  unplaced.reset(ranks);
  segments = {{wallHeight, 0, -1, 2}, {wallHeight, shapes.positions, 2, -1}, {0, 0, 0, 1}};
  lowest.assign(1, 2);
  heap.clear();
  offsets.resize(count);

  int64_t arena = 0;
  for (size_t placed = 0; placed < count;) {
    const Segment &segment = segments[lowestSegment()];
    const int32_t rank = unplaced.highestRank(segment.start, segments[segment.next].start);
    if (rank < 0) {
      fillLowest();
      continue;
    }
    const int32_t index = unplaced.take(rank);
    const auto low = static_cast<int64_t>(segment.height);
    const int64_t end = saturatingSum(low, shapes.shapes[index].size);
    if (end >= limit && limit != std::numeric_limits<int64_t>::max())
      return limit;
    offsets[index] = low;
    arena = std::max(arena, end);
    put(shapes.shapes[index]);
    ++placed;
  }
  return arena;
}

} // namespace llmmem::planning
