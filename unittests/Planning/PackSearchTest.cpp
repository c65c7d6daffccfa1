//===- PackSearchTest.cpp - Exact search for a packing within a capacity ----------===//

#include "Allocation/PackSearch.h"
#include "gtest/gtest.h"
#include <numeric>
#include <random>

using namespace llmmem::planning;

namespace {

/// Makes three to six shapes over five positions, of one piece or two, the later one smaller.
Shapes randomShapes(std::mt19937_64 &engine) {
  auto below = [&](uint64_t bound) { return static_cast<int32_t>(engine() % bound); };
  Shapes shapes;
  shapes.positions = 5;
  for (int32_t count = 3 + below(4); count > 0; --count) {
    const int32_t lower = below(5), upper = lower + 1 + below(5 - lower);
    const int64_t size = 1 + below(4);
    const int32_t middle = lower + 1 + below(4);
    if (middle < upper && size > 1)
      shapes.add({{lower, middle, size}, {middle, upper, 1 + below(size)}});
    else
      shapes.add(Piece{lower, upper, size});
  }
  return shapes;
}

bool areApart(const Shapes &shapes, const std::vector<int64_t> &offsets, size_t a, size_t b) {
  for (const Piece &one : shapes.piecesOf(shapes.shapes[a]))
    for (const Piece &other : shapes.piecesOf(shapes.shapes[b]))
      if (one.lower < other.upper && other.lower < one.upper &&
          offsets[a] < offsets[b] + other.size && offsets[b] < offsets[a] + one.size)
        return false;
  return true;
}

/// Returns whether the shapes after those of `offsets` have a place next to them, by trying all.
bool fitsWithPlaced(const Shapes &shapes, int64_t capacity, std::vector<int64_t> offsets) {
  const size_t next = offsets.size();
  if (next == shapes.shapes.size())
    return true;
  offsets.push_back(0);
  for (; offsets[next] + shapes.shapes[next].size <= capacity; ++offsets[next]) {
    bool isApart = true;
    for (size_t other = 0; other < next; ++other)
      isApart &= areApart(shapes, offsets, other, next);
    if (isApart && fitsWithPlaced(shapes, capacity, offsets))
      return true;
  }
  return false;
}

void expectPacked(const Shapes &shapes, int64_t capacity, const std::vector<int64_t> &offsets) {
  ASSERT_EQ(offsets.size(), shapes.shapes.size());
  for (size_t shape = 0; shape < offsets.size(); ++shape) {
    EXPECT_GE(offsets[shape], 0);
    EXPECT_LE(offsets[shape] + shapes.shapes[shape].size, capacity);
    for (size_t other = 0; other < shape; ++other)
      EXPECT_TRUE(areApart(shapes, offsets, shape, other)) << shape << " and " << other;
  }
}

/// One search is asked for several capacities and orders, so what a run leaves would show.
TEST(PackSearch, FindsAPackingWhereThereIsOne) {
  std::mt19937_64 engine(5);
  int found = 0, none = 0;
  for (int round = 0; round < 1500; ++round) {
    const Shapes shapes = randomShapes(engine);
    const std::vector<int64_t> live = liveBytes(shapes);
    const int64_t least = *std::max_element(live.begin(), live.end());
    PackSearch search(shapes);
    std::vector<int32_t> rank(shapes.shapes.size());
    std::iota(rank.begin(), rank.end(), 0);
    for (int64_t capacity : {least + 1, least, least - 1, least}) {
      std::shuffle(rank.begin(), rank.end(), engine);
      int64_t nodes = 1'000'000;
      std::vector<int64_t> offsets;
      const PackSearch::Outcome outcome = search.run(capacity, {rank, 0.1}, nodes, offsets);
      const bool fits = fitsWithPlaced(shapes, capacity, {});
      EXPECT_EQ(outcome, fits ? PackSearch::Outcome::Found : PackSearch::Outcome::None)
          << "round " << round << ", capacity " << capacity;
      if (outcome == PackSearch::Outcome::Found)
        expectPacked(shapes, capacity, offsets);
      none += capacity >= least && !fits;
      found += fits;
    }
  }
  EXPECT_GT(found, 3000);
  EXPECT_GT(none, 10);
}

} // namespace
