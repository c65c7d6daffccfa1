//===- PackTest.cpp - Offsets for buffers and for schedules ----------------------===//

#include "Allocation/Ejection.h"
#include "Allocation/PackLike.h"
#include "Allocation/PackShapes.h"
#include "RandomProblem.h"
#include "llmmem/Planning/Allocation/Placement.h"
#include "llmmem/Planning/Formats/BufferCsv.h"
#include "llmmem/Planning/Model/Verify.h"
#include "llmmem/Support/TextFile.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cstdlib>

using namespace llmmem;
using namespace llmmem::planning;

namespace {

TEST(Pack, ExampleOfTheHeader) {
  const Packing packing = pack({{0, 2, 4}, {1, 3, 4}, {2, 4, 4}}, {});
  EXPECT_EQ(packing.arena, 8);
  EXPECT_EQ(packing.lowerBound, 8);
}

TEST(Pack, NothingNeedsNothing) {
  EXPECT_EQ(pack({}, {}).arena, 0);
  EXPECT_EQ(pack({{0, 5, 0}}, {}).arena, 0);
}

TEST(Pack, SizesRoundUpToTheAlignment) {
  PackOptions options;
  options.alignment = 256;
  const Packing packing = pack({{0, 2, 100}, {0, 2, 300}}, options);
  EXPECT_EQ(packing.lowerBound, 256 + 512);
  EXPECT_TRUE(packing.arena == 256 + 300 || packing.arena == 512 + 100);
  for (int64_t offset : packing.offsets)
    EXPECT_EQ(offset % 256, 0);
}

/// No two buffers that live together overlap; quadratic, and shares nothing with the packing.
void expectPacked(const std::vector<Buffer> &buffers, const Packing &packing) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Buffer &a = buffers[i];
    EXPECT_LE(packing.offsets[i] + a.size, packing.arena);
    for (size_t j = 0; j < i; ++j) {
      const Buffer &b = buffers[j];
      const bool together = a.lower < b.upper && b.lower < a.upper;
      const bool apart = packing.offsets[i] + a.size <= packing.offsets[j] ||
                         packing.offsets[j] + b.size <= packing.offsets[i];
      ASSERT_TRUE(!together || apart) << i << " and " << j;
    }
  }
}

TEST(Pack, RandomBuffersNeverOverlap) {
  std::mt19937_64 engine(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<Buffer> buffers;
    for (int i = 0; i < 40; ++i) {
      const auto lower = static_cast<int64_t>(engine() % 50);
      buffers.push_back({lower, lower + 1 + static_cast<int64_t>(engine() % 20),
                         static_cast<int64_t>(engine() % 30)});
    }
    PackOptions options;
    options.work = round % 2 ? 20000 : 0;
    const Packing packing = pack(buffers, options);
    expectPacked(buffers, packing);
    EXPECT_GE(packing.arena, packing.lowerBound);
    EXPECT_EQ(packing.offsets, pack(buffers, options).offsets);
  }
}

/// Skylines lose 5 percent here; the search is for graphs of thousands of values, too.
TEST(Pack, SearchesManyBuffers) {
  std::mt19937 engine(2);
  std::vector<Buffer> buffers;
  for (int64_t lower = 0; lower < 1500; ++lower) {
    const int64_t longest = engine() % 4 ? 20 : 300;
    const auto length = static_cast<int64_t>(1 + engine() % longest);
    buffers.push_back({lower, lower + length, static_cast<int64_t>(1 + engine() % 100)});
  }
  const Packing skylines = pack(buffers, {});
  PackOptions options;
  options.capacity = skylines.lowerBound + skylines.lowerBound / 50;
  options.work = 5000000;
  EXPECT_GT(skylines.arena, *options.capacity);
  const Packing searched = pack(buffers, options);
  expectPacked(buffers, searched);
  EXPECT_LE(searched.arena, *options.capacity);
}

/// A rectangle of 1000 positions and 64 * 1000 bytes, cut into `count` buffers: a packing without
/// any loss exists.
std::vector<Buffer> cutRectangle(int count, std::mt19937_64 &engine) {
  constexpr int64_t unit = 64;
  std::vector<Buffer> buffers{{0, 1000, 1000 * unit}};
  while (static_cast<int>(buffers.size()) < count) {
    Buffer &buffer = buffers[engine() % buffers.size()];
    Buffer remainder = buffer;
    const bool inTime = engine() % 2;
    const int64_t extent = inTime ? buffer.upper - buffer.lower : buffer.size / unit;
    if (extent < 20)
      continue;
    const int64_t cut = extent / 4 + static_cast<int64_t>(engine() % (extent / 2));
    if (inTime) {
      buffer.upper = buffer.lower + cut;
      remainder.lower = buffer.upper;
    } else {
      buffer.size = cut * unit;
      remainder.size -= buffer.size;
    }
    buffers.push_back(remainder);
  }
  return buffers;
}

TEST(Pack, EjectionsCloseMostOfTheGap) {
  std::mt19937_64 engine(11);
  constexpr int rounds = 20, most = 200;
  int heuristics = 0, ejected = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::vector<Buffer> buffers = cutRectangle(most, engine);
    PackOptions options;
    options.alignment = 64;
    options.capacity = 64 * 1000 / 100 * 108;
    heuristics += pack(buffers, options).arena <= *options.capacity;
    options.ejections = 20'000'000;
    const Packing packing = pack(buffers, options);
    expectPacked(buffers, packing);
    for (int64_t offset : packing.offsets)
      EXPECT_EQ(offset % 64, 0);
    ejected += packing.arena <= *options.capacity;
    EXPECT_EQ(packing.offsets, pack(buffers, options).offsets);
  }
  EXPECT_LT(heuristics, rounds / 4);
  EXPECT_GT(ejected, rounds / 4 * 3);
}

/// A thousand full positions of five thousand; the other buffers leave a fifth free.
std::vector<Buffer> fullForAFifthOfTheTime(std::mt19937_64 &engine) {
  constexpr int64_t end = 5000, fullFrom = 2000, fullTo = 3000, most = 64 * 800;
  std::vector<int64_t> live(end, 0);
  std::vector<Buffer> buffers = cutRectangle(60, engine);
  for (Buffer &buffer : buffers) {
    // What is live at either end lives on, as long as it is not too much.
    int64_t longest = 0;
    if (buffer.lower == 0 && buffer.size <= most / 8)
      longest = static_cast<int64_t>(engine() % fullFrom);
    buffer.lower += fullFrom - longest;
    buffer.upper += fullFrom;
    for (int64_t position = buffer.lower; position < buffer.upper; ++position)
      live[position] += buffer.size;
  }
  for (int tries = 0; tries < 2000; ++tries) {
    const auto lower = static_cast<int64_t>(engine() % end);
    const Buffer buffer{lower, std::min<int64_t>(end, lower + 1 + engine() % 200),
                        static_cast<int64_t>(64 * (1 + engine() % 200))};
    if (buffer.lower < fullTo && buffer.upper > fullFrom)
      continue;
    const auto from = live.begin() + buffer.lower, to = live.begin() + buffer.upper;
    if (*std::max_element(from, to) + buffer.size > most)
      continue;
    std::for_each(from, to, [&](int64_t &bytes) { bytes += buffer.size; });
    buffers.push_back(buffer);
  }
  return buffers;
}

TEST(Pack, FindsOffsetsAtFullPositionsFirst) {
  std::mt19937_64 engine(13);
  constexpr int rounds = 20;
  int heuristics = 0, searched = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::vector<Buffer> buffers = fullForAFifthOfTheTime(engine);
    PackOptions options;
    options.alignment = 64;
    options.capacity = 64 * 1000 / 100 * 102;
    heuristics += pack(buffers, options).arena <= *options.capacity;
    options.work = 12000;
    const Packing packing = pack(buffers, options);
    expectPacked(buffers, packing);
    searched += packing.arena <= *options.capacity;
  }
  EXPECT_LT(heuristics, rounds / 4);
  EXPECT_GT(searched, rounds / 4 * 3 - 1); // the search of all at once finds 13
}

/// What does not fit is left as the heuristics packed it.
TEST(Pack, EjectionsThatFailChangeNothing) {
  std::mt19937_64 engine(12);
  const std::vector<Buffer> buffers = cutRectangle(200, engine);
  PackOptions options;
  options.capacity = 64 * 1000;
  const Packing before = pack(buffers, options);
  options.ejections = 1000;
  EXPECT_EQ(pack(buffers, options).offsets, before.offsets);
}

/// Of three shapes of which two fit, one stays unplaced, whichever it is.
TEST(Pack, EjectionChainsEndWhereNoLessIsUnplaced) {
  Shapes shapes;
  shapes.positions = 1;
  for (int shape = 0; shape < 3; ++shape)
    shapes.add(Piece{0, 1, 4});
  PackOptions options;
  options.capacity = 8;
  const std::vector<int64_t> wanted = {0, 4, 8};
  std::vector<int64_t> offsets = wanted;
  int64_t work = 1'000'000;
  EXPECT_FALSE(fitByEjection(shapes, options, work, offsets, littlePatience(work)));
  EXPECT_EQ(offsets, wanted);
  EXPECT_NEAR(double(work), 750'000, 100);

  options.capacity = 12;
  offsets = {12, 4, 16};
  EXPECT_TRUE(fitByEjection(shapes, options, work, offsets));
  EXPECT_EQ(arenaOf(shapes, offsets), 12);
}

/// Every schedule that the placement fills in holds, with all that the format knows.
TEST(PlaceSteps, RandomSchedulesVerify) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const Problem problem = randomProblem(seed, 1 + seed % 12);
    ASSERT_FALSE(static_cast<bool>(validateProblem(problem)));
    Plan plan;
    plan.status = Status::Feasible;
    plan.steps = randomSteps(problem, seed);
    PackOptions options;
    options.alignment = problem.alignment;
    if (seed % 2) {
      options.capacity = 0; // searched down to the live sum
      options.work = 2000;
    }
    placeSteps(problem, plan, options);
    for (const Violation &violation : verify(problem, plan))
      FAIL() << seed << ": " << violation.step << " " << violation.rule << " " << violation.message;
    if (problem.alignment == 1) {
      EXPECT_GE(plan.arena, plan.peak - problem.residentBytes()) << seed;
    }
  }
}

/// As above, beginning where another schedule of the problem has its values.
TEST(PlaceSteps, LikeAnotherScheduleVerifies) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const Problem problem = randomProblem(seed, 1 + seed % 12);
    PackOptions options;
    options.alignment = problem.alignment;
    options.capacity = 0;
    options.work = 200;
    Plan other, plan;
    other.steps = randomSteps(problem, seed + 1);
    placeSteps(problem, other, options);
    plan.status = Status::Feasible;
    plan.steps = randomSteps(problem, seed);
    placeSteps(problem, plan, options, {}, &other);
    for (const Violation &violation : verify(problem, plan))
      FAIL() << seed << ": " << violation.step << " " << violation.rule << " " << violation.message;
  }
}

Shapes shapesOf(const std::vector<Buffer> &buffers) {
  Shapes shapes;
  for (const Buffer &buffer : buffers) {
    shapes.add(
        Piece{static_cast<int32_t>(buffer.lower), static_cast<int32_t>(buffer.upper), buffer.size});
    shapes.positions = std::max(shapes.positions, static_cast<int32_t>(buffer.upper));
  }
  return shapes;
}

/// From the offsets of a packing that fits, nothing is searched anew: without work to search, the
/// heuristics' packing of the same shapes is higher.
TEST(PackLike, GoesOnFromAPacking) {
  std::mt19937_64 engine(13);
  const Shapes shapes = shapesOf(fullForAFifthOfTheTime(engine));
  PackOptions options;
  options.capacity = 64 * 1000 / 100 * 102;
  options.work = 12000;
  const Packing found = packShapes(shapes, options);
  ASSERT_LE(found.arena, *options.capacity);
  options.work = 0;
  ASSERT_GT(packShapes(shapes, options).arena, *options.capacity);
  EXPECT_LE(packLike(shapes, options, found.offsets).arena, found.arena);
}

/// a and b lie one above the other in 9 bytes; c, which is live with neither, is in the way of
/// nothing. The live bytes are 8.
TEST(PackLike, LowersWhatFits) {
  const Shapes shapes = shapesOf({{0, 2, 4}, {1, 3, 4}, {3, 4, 2}});
  PackOptions options;
  options.capacity = 9;
  const Packing packing = packLike(shapes, options, {0, 5, 0});
  EXPECT_EQ(packing.arena, 8);
  EXPECT_EQ(packing.lowerBound, 8);
}

TEST(PackLike, LeavesOutWhatOverlaps) {
  const Shapes shapes = shapesOf({{0, 2, 4}, {1, 3, 8}, {2, 4, 4}, {4, 5, 1}});
  constexpr int64_t capacity = 100;
  // b, the largest, keeps its offset; a overlaps it, c does not; d is wanted nowhere.
  EXPECT_EQ(withoutOverlaps(shapes, {4, 4, 0, -1}, capacity),
            (std::vector<int64_t>{capacity, 4, 0, capacity}));
}

TEST(Pack, ExampleOfMiniMalloc) {
  const std::vector<Buffer> buffers = {{0, 3, 4}, {3, 9, 4}, {0, 9, 4}, {9, 21, 4}, {0, 21, 4}};
  const Packing packing = pack(buffers, {});
  expectPacked(buffers, packing);
  EXPECT_EQ(packing.arena, 12);
}

TEST(Pack, LargestNumber) {
  const std::vector<Buffer> buffers = {{0, 1, 4}, {0, 9, INT64_MAX - 4}};
  const Packing packing = pack(buffers, {});
  expectPacked(buffers, packing);
  EXPECT_EQ(packing.arena, INT64_MAX);
}

/// LLMMEM_DATA names the folder of instances that are not part of this repository.
class PackData : public testing::TestWithParam<std::pair<const char *, int64_t>> {};

TEST_P(PackData, MeetsItsCapacity) {
  const char *data = std::getenv("LLMMEM_DATA");
  if (!data)
    GTEST_SKIP() << "LLMMEM_DATA is not set";
  auto file = readTextFile(std::string(data) + "/" + GetParam().first);
  ASSERT_TRUE(static_cast<bool>(file)) << llvm::toString(file.takeError());
  llvm::Expected<BufferTable> table = parseBufferCsv((*file)->getBuffer());
  ASSERT_TRUE(static_cast<bool>(table)) << llvm::toString(table.takeError());
  PackOptions options;
  options.capacity = GetParam().second;
  options.work = packWork(10);
  const Packing packing = pack(table->buffers, options);
  EXPECT_LE(packing.arena, std::max(GetParam().second, packing.lowerBound));
}

INSTANTIATE_TEST_SUITE_P(MiniMalloc, PackData,
                         testing::Values(std::pair("minimalloc/A.1048576.csv", 1048576),
                                         std::pair("minimalloc/B.1048576.csv", 1048576),
                                         std::pair("minimalloc/C.1048576.csv", 1039360),
                                         std::pair("minimalloc/D.1048576.csv", 1048576),
                                         std::pair("minimalloc/E.1048576.csv", 1048576),
                                         std::pair("minimalloc/F.1048576.csv", 1048576),
                                         std::pair("minimalloc/G.1048576.csv", 1048576),
                                         std::pair("minimalloc/H.1048576.csv", 1048576),
                                         std::pair("minimalloc/I.1048576.csv", 1048576),
                                         std::pair("minimalloc/J.1048576.csv", 1048576),
                                         std::pair("minimalloc/K.1048576.csv", 1048576)));
// Capacity 0: nothing but the largest live sum will do.
INSTANTIATE_TEST_SUITE_P(Gemma, PackData,
                         testing::Values(std::pair("live-ranges/gemma1-2b.csv", 0),
                                         std::pair("live-ranges/gemma1-7b.csv", 0),
                                         std::pair("live-ranges/gemma2-9b.csv", 0)));

/// x (8) -> f -> y (8) in place: the two are one buffer.
TEST(PlaceSteps, InPlaceCountsOnce) {
  Problem problem;
  problem.values = {{0, 8, false, "x"}, {1, 8, false, "y"}};
  Op op;
  op.reads = {0};
  op.writes = {1};
  op.inPlace = {{1, 0}};
  problem.ops = {op};
  problem.keep = {1};
  Plan plan;
  plan.status = Status::Feasible;
  plan.steps = {0};
  placeSteps(problem, plan, {});
  EXPECT_EQ(plan.peak, 8);
  EXPECT_EQ(plan.arena, 8);
  EXPECT_TRUE(verify(problem, plan).empty());
}

} // namespace
