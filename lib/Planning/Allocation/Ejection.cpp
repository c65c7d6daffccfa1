//===- Ejection.cpp - Ejection chains that fit a packing into a capacity ---------------===//

#include "Ejection.h"
#include "llmmem/Support/Random.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace llmmem::planning {
namespace {

/// The placed shapes sorted by the height of one of their edges, the bottom or the top; those of
/// one height stay in their order of arrival. A step of a chain visits all of them, so what it
/// reads lies together.
class Edges {
public:
  /// `height` is indexed by shape.
  Edges(const Shapes &shapes, const std::vector<int64_t> &height);

  /// Assigns the first shapes; there must be none yet.
  void assign(std::vector<int32_t> placed);
  void insert(int32_t index);
  void erase(int32_t index);
  size_t size() const { return count; }
  /// Returns how many edges have at most this height.
  size_t numUpTo(int64_t most) const;

  /// Calls `function` with each shape of the lowest `end` edges that is live together with
  /// `placed`.
  template <typename Function>
  void forEachOverlapping(const Shape &placed, size_t end, Function function) const;

private:
  static constexpr size_t blockSize = 32;
  static constexpr std::array<uint32_t, blockSize> bits() {
    std::array<uint32_t, blockSize> each{};
    for (size_t bit = 0; bit < blockSize; ++bit)
      each[bit] = uint32_t(1) << bit;
    return each;
  }
  uint32_t overlappingBits(const Shape &placed, size_t block) const;

  const Shapes &shapes;
  const std::vector<int64_t> &height;
  std::vector<int32_t> lower, upper; // interval of the shape in time
  std::vector<int32_t> shape;
  size_t count = 0;
};

/// The shapes without a place, and how hard each is to place.
class UnplacedByWeight {
public:
  explicit UnplacedByWeight(const Shapes &shapes);

  bool empty() const { return heap.empty(); }
  size_t size() const { return heap.size(); }
  int64_t weightOf(int32_t shape) const { return weight[shape]; }
  /// Adds a shape. One of a large weight mostly comes first.
  void add(int32_t shape, Random &random);
  int32_t next();
  /// Makes a shape that was ejected heavier.
  void gainWeight(int32_t shape);
  /// Says whether the sum of the first weights fell not long ago, in terms of `work`, which is
  /// counted down.
  bool makesProgress(int64_t work, int64_t patience);

private:
  std::vector<int64_t> weight, firstWeight;
  std::vector<std::pair<double, int32_t>> heap; // by score
  int64_t sum = 0;                              // of the first weights
  int64_t leastSum = INT64_MAX;                 // so far
  int64_t workOfLeast = 0;                      // work that was left then
};

class Ejection {
public:
  Ejection(const Shapes &shapes, int64_t capacity, const std::vector<int64_t> &offsets);

  bool run(const PackOptions &options, int64_t &work, int64_t patience);

  std::vector<int64_t> offsets;

private:
  struct ConflictingOffset {
    int64_t offset;
    int64_t collides; // weight
  };

  bool takeWork(const PackOptions &options, int64_t &work) const;
  void listEdges();
  llvm::ArrayRef<int32_t> neighbours(const Shape &shape);
  ConflictingOffset leastConflict(const Shape &shape, llvm::ArrayRef<int32_t> neighbours);
  void eject(const Shape &shape, int64_t offset, llvm::ArrayRef<int32_t> neighbours);
  void place(int32_t shape, int64_t offset);

  const Shapes &shapes;
  int64_t capacity;
  std::vector<int64_t> ends; // by shape
  UnplacedByWeight unplaced;
  Edges bottoms, tops;
  std::vector<int32_t> found; // room for all shapes
  std::vector<int32_t> ejected;
  Random random{kSearchSeed};
};

Edges::Edges(const Shapes &shapes, const std::vector<int64_t> &height)
    : shapes(shapes), height(height) {
  for (std::vector<int32_t> *each : {&lower, &upper, &shape})
    each->resize(shapes.shapes.size() + blockSize); // the last block is read to its end
}

void Edges::assign(std::vector<int32_t> placed) {
  std::stable_sort(placed.begin(), placed.end(),
                   [&](int32_t a, int32_t b) { return height[a] < height[b]; });
  for (int32_t index : placed) {
    lower[count] = shapes.shapes[index].lower;
    upper[count] = shapes.shapes[index].upper;
    shape[count++] = index;
  }
}

size_t Edges::numUpTo(int64_t most) const {
  const auto above = [&](int64_t value, int32_t index) { return value < height[index]; };
  return std::upper_bound(shape.begin(), shape.begin() + count, most, above) - shape.begin();
}

void Edges::insert(int32_t index) {
  const size_t at = numUpTo(height[index]);
  auto insertInto = [&](std::vector<int32_t> &values, int32_t value) {
    std::copy_backward(values.begin() + at, values.begin() + count, values.begin() + count + 1);
    values[at] = value;
  };
  insertInto(lower, shapes.shapes[index].lower);
  insertInto(upper, shapes.shapes[index].upper);
  insertInto(shape, index);
  ++count;
}

void Edges::erase(int32_t index) {
  size_t at = numUpTo(height[index] - 1);
  while (shape[at] != index)
    ++at;
  for (std::vector<int32_t> *each : {&lower, &upper, &shape})
    std::copy(each->begin() + at + 1, each->begin() + count, each->begin() + at);
  --count;
}

/// Returns a bit for each edge of the block. It has no branch, so that compilers use vectors.
uint32_t Edges::overlappingBits(const Shape &placed, size_t block) const {
  static constexpr std::array<uint32_t, blockSize> bitOf = bits();
  const int32_t *lowers = &lower[block], *uppers = &upper[block];
  const int32_t from = placed.lower, to = placed.upper;
  uint32_t found = 0;
  for (size_t at = 0; at < blockSize; ++at)
    found |= -static_cast<uint32_t>((lowers[at] < to) & (from < uppers[at])) & bitOf[at];
  return found;
}

template <typename Function>
void Edges::forEachOverlapping(const Shape &placed, size_t end, Function function) const {
  for (size_t block = 0; block < end; block += blockSize) {
    uint32_t bits = overlappingBits(placed, block);
    if (end - block < blockSize)
      bits &= (uint32_t(1) << (end - block)) - 1;
    for (; bits; bits &= bits - 1)
      function(shape[block + llvm::countr_zero(bits)]);
  }
}

UnplacedByWeight::UnplacedByWeight(const Shapes &shapes) {
  double area = 0;
  auto areaOf = [](const Shape &shape) { // a long live range counts, but less than many bytes
    return double(shape.size) * std::sqrt(double(shape.upper - shape.lower));
  };
  for (const Shape &shape : shapes.shapes)
    area += areaOf(shape) / double(shapes.shapes.size());
  for (const Shape &shape : shapes.shapes)
    firstWeight.push_back(1 + int64_t(tuning::meanEjectionWeight * areaOf(shape) / area));
  weight = firstWeight;
}

void UnplacedByWeight::add(int32_t shape, Random &random) {
  sum += firstWeight[shape];
  heap.emplace_back(double(weight[shape]) * (0.5 + random.unit()), shape);
  std::push_heap(heap.begin(), heap.end());
}

int32_t UnplacedByWeight::next() {
  std::pop_heap(heap.begin(), heap.end());
  const int32_t shape = heap.back().second;
  heap.pop_back();
  sum -= firstWeight[shape];
  return shape;
}

void UnplacedByWeight::gainWeight(int32_t shape) {
  constexpr int64_t heaviest = int64_t(1) << 40, shrink = 1 << 10;
  weight[shape] += weight[shape] / tuning::ejectionGainPart + 1;
  if (weight[shape] > heaviest)
    for (int64_t &each : weight)
      each = each / shrink + 1;
}

bool UnplacedByWeight::makesProgress(int64_t work, int64_t patience) {
  if (sum < leastSum) {
    leastSum = sum;
    workOfLeast = work;
  }
  return workOfLeast - work <= patience;
}

Ejection::Ejection(const Shapes &shapes, int64_t within, const std::vector<int64_t> &from)
    : offsets(from), shapes(shapes), unplaced(shapes), bottoms(shapes, offsets), tops(shapes, ends),
      found(from.size()) {
  // Every offset is a sum of sizes, so an alignment of the sizes is one of the offsets.
  int64_t unit = 0;
  for (const Shape &shape : shapes.shapes)
    unit = std::gcd(unit, shape.size);
  capacity = within - within % unit;
  for (size_t shape = 0; shape < from.size(); ++shape) {
    ends.push_back(from[shape] + shapes.shapes[shape].size);
    if (ends[shape] > capacity)
      unplaced.add(int32_t(shape), random);
  }
}

void Ejection::listEdges() {
  std::vector<int32_t> placed;
  for (size_t shape = 0; shape < ends.size(); ++shape)
    if (ends[shape] <= capacity)
      placed.push_back(int32_t(shape));
  bottoms.assign(placed);
  tops.assign(std::move(placed));
}

void Ejection::place(int32_t index, int64_t offset) {
  offsets[index] = offset;
  ends[index] = offset + shapes.shapes[index].size;
  bottoms.insert(index);
  tops.insert(index);
}

/// Returns the placed shapes that are live together with `shape`, by offset.
llvm::ArrayRef<int32_t> Ejection::neighbours(const Shape &shape) {
  int32_t *next = found.data();
  bottoms.forEachOverlapping(shape, bottoms.size(), [&](int32_t other) { *next++ = other; });
  return {found.data(), next};
}

/// Returns the place where `shape` collides with the least weight of `neighbours`; of several such
/// places, the one in the tightest free range. The set it collides with shrinks only where a shape
/// ends, so a free range begins there or at 0.
Ejection::ConflictingOffset Ejection::leastConflict(const Shape &shape,
                                                    llvm::ArrayRef<int32_t> neighbours) {
  const int64_t size = shape.size, last = capacity - size;
  const int32_t *next = neighbours.begin(); // the shape begins above what ends at `from`
  int64_t from = 0, collides = 0, tightest = INT64_MAX;
  ConflictingOffset best = {0, INT64_MAX};
  auto startGap = [&](int64_t offset) {
    from = offset;
    for (; next != neighbours.end() && offsets[*next] < offset + size; ++next)
      collides += unplaced.weightOf(*next);
  };
  auto endGap = [&](int64_t end) {
    if (collides > best.collides)
      return; // as most are
    const int64_t to = next == neighbours.end() ? end : std::min(end, offsets[*next] - size + 1);
    const int64_t length = to - from;
    if (length == 0 || (collides == best.collides && length >= tightest))
      return;
    tightest = length;
    best = {random.below(2) ? from : to - 1, collides};
  };
  startGap(0);
  tops.forEachOverlapping(shape, tops.numUpTo(last), [&](int32_t other) {
    endGap(ends[other]);
    startGap(ends[other]);
    collides -= unplaced.weightOf(other);
  });
  endGap(last + 1);
  return best;
}

/// Removes the shapes of `neighbours` that collide with `shape` at `offset`.
void Ejection::eject(const Shape &shape, int64_t offset, llvm::ArrayRef<int32_t> neighbours) {
  const int64_t top = offset + shape.size;
  ejected.clear();
  for (const int32_t *other = neighbours.begin();
       other != neighbours.end() && offsets[*other] < top; ++other)
    if (ends[*other] > offset)
      ejected.push_back(*other);
  for (int32_t other : ejected) {
    bottoms.erase(other);
    tops.erase(other);
    unplaced.gainWeight(other);
    unplaced.add(other, random);
  }
}

/// Takes work for one step. Returns false where the work does not suffice to visit all edges; every
/// placed shape has two.
bool Ejection::takeWork(const PackOptions &options, int64_t &work) const {
  work -= 2 * int64_t(offsets.size() - unplaced.size()) + 1;
  return work >= 0 && !options.isCancelled();
}

bool Ejection::run(const PackOptions &options, int64_t &work, int64_t patience) {
  for (bool isFirst = true; !unplaced.empty(); isFirst = false) {
    if (!unplaced.makesProgress(work, patience) || !takeWork(options, work))
      return false;
    if (isFirst)
      listEdges();
    const int32_t index = unplaced.next();
    const Shape &shape = shapes.shapes[index];
    if (shape.size > capacity)
      return false;
    const llvm::ArrayRef<int32_t> others = neighbours(shape);
    const ConflictingOffset best = leastConflict(shape, others);
    if (best.collides > 0)
      eject(shape, best.offset, others);
    place(index, best.offset);
  }
  return true;
}

/// A set of rectangles of time and bytes.
class Rectangles {
public:
  explicit Rectangles(size_t most) {
    for (std::vector<int32_t> *each : {&lowers, &uppers})
      each->reserve(most);
    for (std::vector<int64_t> *each : {&bottoms, &tops})
      each->reserve(most);
  }
  /// Adds the shape at `offset` unless it overlaps another one. It has no branch, as most do not
  /// overlap.
  bool add(const Shape &shape, int64_t offset) {
    const int64_t top = offset + shape.size;
    int64_t overlaps = 0;
    for (size_t at = 0; at < lowers.size(); ++at)
      overlaps |= (int64_t(lowers[at] < shape.upper) & int64_t(shape.lower < uppers[at]) &
                   int64_t(bottoms[at] < top) & int64_t(offset < tops[at]));
    if (overlaps)
      return false;
    lowers.push_back(shape.lower);
    uppers.push_back(shape.upper);
    bottoms.push_back(offset);
    tops.push_back(top);
    return true;
  }

private:
  std::vector<int32_t> lowers, uppers;
  std::vector<int64_t> bottoms, tops;
};

/// Finds the shapes that overlap another one at their wanted offsets, in the order of their times.
class OverlapSweep {
public:
  OverlapSweep(const Shapes &shapes, llvm::ArrayRef<int64_t> wanted)
      : shapes(shapes), wanted(wanted), overlaps(wanted.size(), false) {}

  /// Returns, by shape, which of the shapes in `some` overlap another one.
  std::vector<bool> run(const std::vector<int32_t> &some);

private:
  int64_t topOf(int32_t shape) const { return wanted[shape] + shapes.shapes[shape].size; }
  void begin(int32_t shape);
  void end(int32_t shape);

  const Shapes &shapes;
  llvm::ArrayRef<int64_t> wanted;
  std::vector<bool> overlaps;
  // The live shapes: those that overlapped none when they began, by offset, and the few others.
  std::vector<int32_t> apart, others;
};

std::vector<bool> OverlapSweep::run(const std::vector<int32_t> &some) {
  std::vector<int32_t> byLower = some, byUpper = some;
  llvm::sort(byLower,
             [&](int32_t a, int32_t b) { return shapes.shapes[a].lower < shapes.shapes[b].lower; });
  llvm::sort(byUpper,
             [&](int32_t a, int32_t b) { return shapes.shapes[a].upper < shapes.shapes[b].upper; });
  auto next = byUpper.begin(); // the next to end
  for (int32_t shape : byLower) {
    for (; shapes.shapes[*next].upper <= shapes.shapes[shape].lower; ++next)
      end(*next);
    begin(shape);
  }
  return std::move(overlaps);
}

void OverlapSweep::begin(int32_t shape) {
  const int64_t bottom = wanted[shape], top = topOf(shape);
  const auto above = llvm::partition_point(apart, [&](int32_t it) { return topOf(it) <= bottom; });
  bool isApart = true;
  auto meet = [&](int32_t other) {
    isApart = false;
    overlaps[other] = overlaps[shape] = true;
  };
  for (auto other = above; other != apart.end() && wanted[*other] < top; ++other)
    meet(*other);
  for (int32_t other : others)
    if (wanted[other] < top && bottom < topOf(other))
      meet(other);
  if (isApart)
    apart.insert(above, shape);
  else
    others.push_back(shape);
}

void OverlapSweep::end(int32_t shape) {
  // No two of the shapes in `apart` have one offset.
  const auto at =
      llvm::partition_point(apart, [&](int32_t it) { return wanted[it] < wanted[shape]; });
  if (at != apart.end() && *at == shape)
    apart.erase(at);
  else
    llvm::erase(others, shape);
}

} // namespace

std::vector<int64_t> withoutOverlaps(const Shapes &shapes, llvm::ArrayRef<int64_t> wanted,
                                     int64_t capacity) {
  std::vector<int32_t> some, byArea;
  for (size_t index = 0; index < wanted.size(); ++index)
    if (wanted[index] >= 0)
      some.push_back(static_cast<int32_t>(index));
  const std::vector<bool> overlaps = OverlapSweep(shapes, wanted).run(some);
  std::vector<int64_t> offsets(wanted.size(), capacity);
  for (int32_t index : some)
    if (overlaps[index])
      byArea.push_back(index);
    else
      offsets[index] = wanted[index];
  auto areaOf = [&](int32_t index) {
    const Shape &shape = shapes.shapes[index];
    return static_cast<double>(shape.size) * (shape.upper - shape.lower);
  };
  std::stable_sort(byArea.begin(), byArea.end(),
                   [&](int32_t a, int32_t b) { return areaOf(a) > areaOf(b); });
  Rectangles placed(byArea.size());
  for (int32_t index : byArea)
    if (placed.add(shapes.shapes[index], wanted[index]))
      offsets[index] = wanted[index];
  return offsets;
}

bool fitByEjection(const Shapes &shapes, const PackOptions &options, int64_t &work,
                   std::vector<int64_t> &offsets, int64_t patience) {
  Ejection ejection(shapes, *options.capacity, offsets);
  if (!ejection.run(options, work, patience))
    return false;
  offsets = std::move(ejection.offsets);
  return true;
}

} // namespace llmmem::planning
