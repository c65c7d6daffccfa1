//===- EditorTest.cpp - Remove repeats from a schedule ---------------------------===//

#include "Schedulers/Editor.h"
#include "ProblemBuilder.h"
#include "RandomProblem.h"
#include "gtest/gtest.h"

using namespace llmmem::planning;

namespace {

/// Small amounts, so that many leave a maximum as it is.
TEST(MaxTree, IsAListOfValues) {
  std::mt19937_64 engine(3);
  for (int32_t size : {1, 2, 3, 8, 21, 64}) {
    std::vector<int64_t> values(size);
    for (int64_t &value : values)
      value = static_cast<int64_t>(engine() % 5);
    MaxTree tree(values);
    for (int round = 0; round < 500; ++round) {
      auto from = static_cast<int32_t>(engine() % size), to = static_cast<int32_t>(engine() % size);
      const int64_t amount = static_cast<int64_t>(engine() % 7) - 3;
      tree.add(from, to, amount);
      for (int32_t at = from; at <= to; ++at)
        values[at] += amount;
      from = static_cast<int32_t>(engine() % size);
      to = from + static_cast<int32_t>(engine() % (size - from));
      EXPECT_EQ(tree.max(from, to),
                *std::max_element(values.begin() + from, values.begin() + to + 1));
    }
  }
}

/// Without useless repeats, and what it holds.
struct RandomSchedule {
  explicit RandomSchedule(uint64_t seed)
      : problem(randomProblem(seed, 2 + static_cast<int>(seed % 14))), graph(problem),
        steps(randomSteps(problem, seed)) {
    dropUselessRepeats(graph, steps);
    usage = profile(graph, steps);
  }

  const Problem problem;
  const Graph graph;
  std::vector<OpIndex> steps;
  Profile usage;
};

/// `steps` without what is at `step`.
std::vector<OpIndex> without(std::vector<OpIndex> steps, int32_t step) {
  steps.erase(steps.begin() + step);
  return steps;
}

/// Returns whether a step above `capacity` holds more without what is at `step`: `then`, where
/// it `held`.
bool holdsMore(const std::vector<int64_t> &held, const std::vector<int64_t> &then, int32_t step,
               int64_t capacity) {
  for (int32_t at = 0; at < static_cast<int32_t>(then.size()); ++at)
    if (then[at] > capacity && then[at] > held[at < step ? at : at + 1])
      return true;
  return false;
}

/// Tries to remove the repeat at `step`, which is at `place` of what is left. It is removed unless
/// a step that holds more without it exceeds the capacity, which the profiles before and after tell
/// as well. A try that fails changes nothing.
bool removesWhatFits(Editor &editor, const Graph &graph, int32_t step, int32_t place,
                     int64_t capacity) {
  const std::vector<OpIndex> before = editor.result(), after = without(before, place);
  const bool fits =
      !holdsMore(profile(graph, before).bytes, profile(graph, after).bytes, place, capacity);
  EXPECT_EQ(editor.tryRemove(step, capacity), fits);
  EXPECT_EQ(editor.result(), fits ? after : before);
  EXPECT_EQ(std::max(editor.peak(), graph.residentBytes()), profile(graph, editor.result()).peak);
  return fits;
}

TEST(Editor, RemovesWhatFits) {
  int removed = 0, refused = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    const RandomSchedule random(seed);
    const int64_t capacity = random.usage.peak + static_cast<int64_t>(seed % 4);
    Editor editor(random.graph, random.steps);
    for (int32_t step = 0, place = 0; step < editor.numSteps(); ++step) {
      const bool isRemoved =
          editor.isRepeat(step) && removesWhatFits(editor, random.graph, step, place, capacity);
      removed += isRemoved;
      refused += editor.isRepeat(step);
      place += !isRemoved;
    }
  }
  EXPECT_GT(removed, 300);
  EXPECT_GT(refused, 50);
}

/// Where no step holds more, what is freed does not count, however much it is.
TEST(Editor, RemovesWhatFreesNearlyAllBytes) {
  test::ProblemBuilder builder;
  const ValueIndex large = builder.value((int64_t(1) << 62) + 1000), small = builder.value(8);
  builder.op({}, {large}, 1);
  builder.op({large}, {small}, 1);
  builder.op({small}, {builder.value(8)}, 1);
  const Graph graph(builder.problem);
  Editor editor(graph, {0, 1, 1, 2});
  EXPECT_TRUE(editor.tryRemove(2, profile(graph, {0, 1, 1, 2}).peak));
  EXPECT_EQ(editor.result(), (std::vector<OpIndex>{0, 1, 2}));
}

TEST(Editor, SaysWhetherAnythingWasRemoved) {
  int changed = 0, kept = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const RandomSchedule random(seed);
    std::vector<OpIndex> steps = random.steps;
    EXPECT_EQ(keepWhatFits(random.graph, steps, random.usage.peak), steps != random.steps);
    EXPECT_LE(profile(random.graph, steps).peak, random.usage.peak);
    steps == random.steps ? ++kept : ++changed;
  }
  EXPECT_GT(changed, 100);
  EXPECT_GT(kept, 100);
}

} // namespace
