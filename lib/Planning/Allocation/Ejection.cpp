//===- Ejection.cpp - Ejection chains that fit a packing into a capacity ---------------===//

#include "Ejection.h"
#include "llmmem/Support/Random.h"
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
  /// The bottom or the top of a placed shape.
  struct Edge {
    int64_t height;
    int32_t shape;
    int32_t lower, upper; // of the shape, in time
  };
  using Edges = std::vector<Edge>;
  /// From this offset on, the weight that a shape to be placed collides with grows by that much.
  struct Step {
    int64_t offset;
    int64_t weight;
  };

  int32_t nextUnplaced();
  void findSteps(const Edges &edges, const Shape &shape, int64_t shift, int64_t sign,
                 std::vector<Step> &steps) const;
  int64_t leastConflictOffset(const Shape &shape);
  void eject(const Shape &shape, int64_t offset);
  void gainWeight(int32_t shape);
  void insertEdges(int32_t shape);

  const Shapes &shapes;
  int64_t capacity;
  std::vector<int64_t> weight;
  std::vector<int32_t> unplaced;
  Edges bottoms, tops; // of the placed shapes, by height
  std::vector<Step> begins, ends;
  Random random{0x9E3779B97F4A7C15ULL};
};

bool isLower(int64_t height, int64_t other) { return height < other; }

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
  }
  capacity = within - within % unit;
  constexpr double meanWeight = 1000;
  for (size_t shape = 0; shape < from.size(); ++shape) {
    weight.push_back(1 + int64_t(meanWeight * areaOf(shapes.shapes[shape]) / area));
    if (from[shape] + shapes.shapes[shape].size > capacity)
      unplaced.push_back(int32_t(shape));
    else
      insertEdges(int32_t(shape));
  }
}

void Ejection::insertEdges(int32_t index) {
  const Shape &shape = shapes.shapes[index];
  auto insert = [&](Edges &edges, int64_t height) {
    auto at =
        std::upper_bound(edges.begin(), edges.end(), height, [](int64_t height, const Edge &edge) {
          return isLower(height, edge.height);
        });
    edges.insert(at, {height, index, shape.lower, shape.upper});
  };
  insert(bottoms, offsets[index]);
  insert(tops, offsets[index] + shape.size);
}

/// A random unplaced shape, mostly one of a large weight.
int32_t Ejection::nextUnplaced() {
  size_t next = 0;
  double most = -1;
  for (size_t i = 0; i < unplaced.size(); ++i)
    if (double score = double(weight[unplaced[i]]) * (0.5 + random.unit()); score > most) {
      most = score;
      next = i;
    }
  std::swap(unplaced[next], unplaced.back());
  const int32_t shape = unplaced.back();
  unplaced.pop_back();
  return shape;
}

void Ejection::findSteps(const Edges &edges, const Shape &shape, int64_t shift, int64_t sign,
                         std::vector<Step> &steps) const {
  steps.resize(edges.size() + 1);
  size_t count = 0;
  for (const Edge &edge : edges) { // without a branch
    steps[count] = {edge.height + shift, sign * weight[edge.shape]};
    count += (edge.lower < shape.upper) & (shape.lower < edge.upper);
  }
  steps.resize(count);
}

/// The offset where `shape` collides with the least weight; of several, that in the tightest gap.
int64_t Ejection::leastConflictOffset(const Shape &shape) {
  findSteps(bottoms, shape, 1 - shape.size, 1, begins);
  findSteps(tops, shape, 0, -1, ends);
  const int64_t last = capacity - shape.size;
  begins.push_back({last + 1, 0});
  ends.push_back({last + 1, 0});
  int64_t collides = 0, from = 0, least = INT64_MAX, tightest = INT64_MAX, best = 0;
  for (size_t begin = 0, end = 0; from <= last;) {
    for (; begins[begin].offset <= from && begin + 1 < begins.size(); ++begin)
      collides += begins[begin].weight;
    for (; ends[end].offset <= from && end + 1 < ends.size(); ++end)
      collides += ends[end].weight;
    const int64_t to = std::min({begins[begin].offset, ends[end].offset, last + 1});
    if (collides < least || (collides == least && to - from < tightest)) {
      least = collides;
      tightest = to - from;
      best = random.below(2) ? from : to - 1;
    }
    from = to;
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
  auto collides = [&](const Edge &edge) {
    const int64_t bottom = offsets[edge.shape];
    return edge.lower < shape.upper && shape.lower < edge.upper && bottom < offset + shape.size &&
           offset < bottom + shapes.shapes[edge.shape].size;
  };
  tops.erase(std::remove_if(tops.begin(), tops.end(), collides), tops.end());
  size_t kept = 0;
  for (const Edge &edge : bottoms) {
    if (!collides(edge)) {
      bottoms[kept++] = edge;
      continue;
    }
    gainWeight(edge.shape);
    unplaced.push_back(edge.shape);
  }
  bottoms.resize(kept);
}

bool Ejection::run(const PackOptions &options, int64_t &work) {
  while (!unplaced.empty()) {
    work -= 2 * int64_t(bottoms.size()) + 1;
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

bool fitByEjection(const Shapes &shapes, const PackOptions &options, int64_t &work,
                   std::vector<int64_t> &offsets) {
  Ejection ejection(shapes, *options.capacity, offsets);
  if (!ejection.run(options, work))
    return false;
  offsets = std::move(ejection.offsets);
  return true;
}

} // namespace llmmem::planning
