//===- Ejection.cpp - Ejection chains that fit a packing into a capacity ---------------===//

#include "Ejection.h"
#include "llmmem/Support/Random.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace llmmem::planning {
namespace {

class Ejection {
public:
  Ejection(const Shapes &shapes, int64_t capacity, const std::vector<int64_t> &offsets);

  bool run(const PackOptions &options, int64_t &work);

  std::vector<int64_t> offsets;

private:
  /// The bottoms or the tops of the placed shapes, by height; those of one height as they came. A
  /// step of a chain visits all of them, so what it reads lies together.
  struct Edges {
    std::vector<int64_t> height;
    std::vector<int32_t> lower, upper; // of the shape, in time
    std::vector<int32_t> shape;

    void insert(int64_t height, const Shape &shape, int32_t index);
    void erase(size_t at);
    size_t find(int64_t height, int32_t index) const;
  };
  /// From this offset on, the weight that a shape to be placed collides with grows by that much.
  struct Step {
    int64_t offset;
    int64_t weight;
  };

  void addUnplaced(int32_t shape);
  int32_t nextUnplaced();
  size_t findSteps(const Edges &edges, const Shape &shape, int64_t shift, int64_t sign,
                   std::vector<Step> &steps);
  size_t findSteps(const Shape &shape);
  int64_t leastConflictOffset(const Shape &shape);
  void eject(const Shape &shape, int64_t offset);
  void gainWeight(int32_t shape);
  void insertEdges(int32_t shape);

  const Shapes &shapes;
  int64_t capacity;
  std::vector<int64_t> weight;
  std::vector<std::pair<double, int32_t>> unplaced; // a heap by score
  Edges bottoms, tops;
  int64_t largest = 0;                   // size of a shape
  std::vector<Step> begins, ends, steps; // room for all edges
  std::vector<int32_t> besides;          // edges of shapes that are live at the same time
  std::vector<size_t> ejected;           // where their bottoms are
  Random random{0x9E3779B97F4A7C15ULL};
};

void Ejection::Edges::insert(int64_t at, const Shape &item, int32_t index) {
  const auto position = std::upper_bound(height.begin(), height.end(), at) - height.begin();
  height.insert(height.begin() + position, at);
  lower.insert(lower.begin() + position, item.lower);
  upper.insert(upper.begin() + position, item.upper);
  shape.insert(shape.begin() + position, index);
}

void Ejection::Edges::erase(size_t at) {
  height.erase(height.begin() + at);
  lower.erase(lower.begin() + at);
  upper.erase(upper.begin() + at);
  shape.erase(shape.begin() + at);
}

size_t Ejection::Edges::find(int64_t at, int32_t index) const {
  size_t position = std::lower_bound(height.begin(), height.end(), at) - height.begin();
  while (shape[position] != index)
    ++position;
  return position;
}

} // namespace

Ejection::Ejection(const Shapes &shapes, int64_t within, const std::vector<int64_t> &from)
    : offsets(from), shapes(shapes) {
  // Every offset is a sum of sizes, so an alignment of the sizes is one of the offsets.
  int64_t unit = 0;
  double area = 0;
  auto areaOf = [](const Shape &shape) { // a long live range counts, but less than many bytes
    return double(shape.size) * std::sqrt(double(shape.upper - shape.lower));
  };
  for (const Shape &shape : shapes.shapes) {
    unit = std::gcd(unit, shape.size);
    area += areaOf(shape) / double(shapes.shapes.size());
    largest = std::max(largest, shape.size);
  }
  capacity = within - within % unit;
  for (std::vector<Step> *each : {&begins, &ends, &steps})
    each->resize(2 * from.size() + 1);
  besides.resize(from.size() + 1);
  constexpr double meanWeight = 1000;
  for (size_t shape = 0; shape < from.size(); ++shape) {
    weight.push_back(1 + int64_t(meanWeight * areaOf(shapes.shapes[shape]) / area));
    if (from[shape] + shapes.shapes[shape].size > capacity)
      addUnplaced(int32_t(shape));
    else
      insertEdges(int32_t(shape));
  }
}

void Ejection::insertEdges(int32_t index) {
  const Shape &shape = shapes.shapes[index];
  bottoms.insert(offsets[index], shape, index);
  tops.insert(offsets[index] + shape.size, shape, index);
}

/// Of a large weight mostly comes first.
void Ejection::addUnplaced(int32_t shape) {
  unplaced.emplace_back(double(weight[shape]) * (0.5 + random.unit()), shape);
  std::push_heap(unplaced.begin(), unplaced.end());
}

int32_t Ejection::nextUnplaced() {
  std::pop_heap(unplaced.begin(), unplaced.end());
  const int32_t shape = unplaced.back().second;
  unplaced.pop_back();
  return shape;
}

/// How many; without a branch, as in the merge of both kinds.
size_t Ejection::findSteps(const Edges &edges, const Shape &shape, int64_t shift, int64_t sign,
                           std::vector<Step> &found) {
  const int32_t *lower = edges.lower.data(), *upper = edges.upper.data();
  const int32_t from = shape.lower, to = shape.upper;
  const auto numEdges = static_cast<int32_t>(edges.shape.size());
  int32_t *beside = besides.data();
  size_t count = 0;
  for (int32_t edge = 0; edge < numEdges; ++edge) {
    beside[count] = edge;
    count += (lower[edge] < to) & (from < upper[edge]);
  }
  for (size_t at = 0; at < count; ++at)
    found[at] = {edges.height[beside[at]] + shift, sign * weight[edges.shape[beside[at]]]};
  return count;
}

/// Into `steps`, by offset.
size_t Ejection::findSteps(const Shape &shape) {
  const size_t numBegins = findSteps(bottoms, shape, 1 - shape.size, 1, begins);
  const size_t numEnds = findSteps(tops, shape, 0, -1, ends);
  size_t begin = 0, end = 0, count = 0;
  while (begin < numBegins && end < numEnds) {
    const bool isBegin = begins[begin].offset <= ends[end].offset;
    steps[count++] = *(isBegin ? &begins[begin] : &ends[end]);
    begin += isBegin;
    end += !isBegin;
  }
  std::copy(begins.begin() + begin, begins.begin() + numBegins, steps.begin() + count);
  count += numBegins - begin;
  std::copy(ends.begin() + end, ends.begin() + numEnds, steps.begin() + count);
  return count + numEnds - end;
}

/// The offset where `shape` collides with the least weight; of several, that in the tightest gap.
int64_t Ejection::leastConflictOffset(const Shape &shape) {
  const int64_t last = capacity - shape.size;
  const size_t count = findSteps(shape);
  steps[count] = {last + 1, 0};
  int64_t collides = 0, from = 0, least = INT64_MAX, tightest = INT64_MAX, best = 0;
  for (size_t step = 0; from <= last; ++step) {
    const int64_t to = std::min(steps[step].offset, last + 1), length = to - from;
    if ((length > 0) & ((collides < least) | ((collides == least) & (length < tightest)))) {
      least = collides;
      tightest = length;
      best = random.below(2) ? from : to - 1;
    }
    collides += steps[step].weight;
    from = std::max(from, to);
  }
  return best;
}

void Ejection::gainWeight(int32_t shape) {
  constexpr int64_t heaviest = int64_t(1) << 40, shrink = 1 << 10;
  weight[shape] += weight[shape] / 10 + 1;
  if (weight[shape] > heaviest)
    for (int64_t &each : weight)
      each = each / shrink + 1;
}

/// Removes the shapes that collide with `shape` at `offset`.
void Ejection::eject(const Shape &shape, int64_t offset) {
  const std::vector<int64_t> &heights = bottoms.height;
  auto above = [&](int64_t height) {
    return size_t(std::upper_bound(heights.begin(), heights.end(), height) - heights.begin());
  };
  ejected.clear();
  const size_t end = above(offset + shape.size - 1);
  for (size_t at = above(offset - largest); at < end; ++at)
    if (bottoms.lower[at] < shape.upper && shape.lower < bottoms.upper[at] &&
        offset < heights[at] + shapes.shapes[bottoms.shape[at]].size)
      ejected.push_back(at);
  for (size_t at : ejected) {
    const int32_t other = bottoms.shape[at];
    tops.erase(tops.find(heights[at] + shapes.shapes[other].size, other));
    gainWeight(other);
    addUnplaced(other);
  }
  for (size_t at : llvm::reverse(ejected))
    bottoms.erase(at);
}

bool Ejection::run(const PackOptions &options, int64_t &work) {
  while (!unplaced.empty()) {
    work -= 2 * int64_t(bottoms.height.size()) + 1;
    if (work < 0 || options.isCancelled())
      return false;
    const int32_t index = nextUnplaced();
    const Shape &shape = shapes.shapes[index];
    if (shape.size > capacity)
      return false;
    const int64_t offset = leastConflictOffset(shape);
    eject(shape, offset);
    offsets[index] = offset;
    insertEdges(index);
  }
  return true;
}

namespace {
/// Rectangles of time and bytes.
class Rectangles {
public:
  explicit Rectangles(size_t most) {
    for (std::vector<int32_t> *each : {&lowers, &uppers})
      each->reserve(most);
    for (std::vector<int64_t> *each : {&bottoms, &tops})
      each->reserve(most);
  }
  /// Adds the shape at `offset` unless it overlaps another one. Without a branch, as most do not.
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
} // namespace

std::vector<int64_t> withoutOverlaps(const Shapes &shapes, llvm::ArrayRef<int64_t> wanted,
                                     int64_t capacity) {
  std::vector<int32_t> byArea;
  std::vector<double> area;
  for (size_t index = 0; index < wanted.size(); ++index) {
    const Shape &shape = shapes.shapes[index];
    area.push_back(static_cast<double>(shape.size) * (shape.upper - shape.lower));
    if (wanted[index] >= 0)
      byArea.push_back(static_cast<int32_t>(index));
  }
  std::stable_sort(byArea.begin(), byArea.end(),
                   [&](int32_t a, int32_t b) { return area[a] > area[b]; });
  std::vector<int64_t> offsets(wanted.size(), capacity);
  Rectangles placed(byArea.size());
  for (int32_t index : byArea)
    if (placed.add(shapes.shapes[index], wanted[index]))
      offsets[index] = wanted[index];
  return offsets;
}

bool fitByEjection(const Shapes &shapes, const PackOptions &options, int64_t &work,
                   std::vector<int64_t> &offsets) {
  Ejection ejection(shapes, *options.capacity, offsets);
  if (!ejection.run(options, work))
    return false;
  offsets = std::move(ejection.offsets);
  return true;
}

} // namespace llmmem::planning
