//===- GrowingScheduleTest.cpp - A schedule into which repeats are inserted --------===//

#include "Schedulers/GrowingSchedule.h"
#include "RandomProblem.h"
#include "gtest/gtest.h"

using namespace llmmem::planning;

namespace {

struct Repeats {
  std::vector<OpIndex> ops;
  int32_t place;

  std::vector<OpIndex> insertedInto(std::vector<OpIndex> steps) const {
    steps.insert(steps.begin() + place, ops.begin(), ops.end());
    return steps;
  }
};

/// One to four ops that ran before a place, which may be the end.
Repeats randomRepeats(const std::vector<OpIndex> &steps, std::mt19937_64 &engine) {
  Repeats repeats;
  repeats.place = 1 + static_cast<int32_t>(engine() % steps.size());
  for (uint64_t count = 1 + engine() % 4; count > 0; --count)
    repeats.ops.push_back(steps[engine() % repeats.place]);
  return repeats;
}

void expectEqual(const Profile &actual, const Profile &expected) {
  EXPECT_EQ(actual.bytes, expected.bytes);
  EXPECT_EQ(actual.peak, expected.peak);
  EXPECT_EQ(actual.peakStep, expected.peakStep);
  EXPECT_EQ(actual.cost, expected.cost);
}

/// What the schedule says about live ranges, read from a list of all of them.
void expectRangesOf(const Graph &graph, const GrowingSchedule &schedule) {
  const std::vector<Instance> all = instances(graph, schedule.steps());
  for (int32_t step = 0; step <= schedule.numSteps(); ++step) {
    std::vector<ValueIndex> heldOver, expected;
    schedule.liveRanges().forEachHeldOver(graph, schedule.steps(), step,
                                          [&](ValueIndex value) { heldOver.push_back(value); });
    std::vector<int32_t> last(graph.numValues(), -1);
    for (size_t at = 0; at < all.size(); ++at) {
      if (all[at].from < step)
        last[all[at].value] = static_cast<int32_t>(at);
      if (all[at].from < step && all[at].to > step)
        expected.push_back(all[at].value);
    }
    EXPECT_EQ(heldOver, expected);
    for (ValueIndex value = 0; value < graph.numValues(); ++value) {
      const std::optional<Instance> current = schedule.liveRanges().currentBefore(value, step);
      ASSERT_EQ(current.has_value(), last[value] >= 0);
      if (!current)
        continue;
      EXPECT_EQ(current->from, all[last[value]].from);
      EXPECT_EQ(current->to, all[last[value]].to);
    }
  }
}

void expectReadsOf(const Graph &graph, const GrowingSchedule &schedule) {
  std::vector<int32_t> next(graph.numValues(), -1);
  for (int32_t step = schedule.numSteps(); step-- > 0;) {
    for (ValueIndex value = 0; value < graph.numValues(); ++value)
      EXPECT_EQ(schedule.readSteps().nextAfter(value, step), next[value]);
    for (ValueIndex value : graph.reads(schedule.steps()[step]))
      next[value] = step;
  }
}

/// Expects the changes after which the bytes are `then`, with the repeats.
void expectChanges(const GrowingSchedule &schedule, const Repeats &repeats,
                   const std::vector<int64_t> &then) {
  using Change = std::pair<int64_t, int64_t>;
  std::vector<int64_t> now = schedule.usage().bytes;
  now.insert(now.begin() + repeats.place, repeats.ops.size(), 0);
  std::vector<Change> expected, changes;
  for (size_t step = 0; step < then.size(); ++step)
    if (now[step] != then[step])
      expected.emplace_back(now[step], then[step]);
  schedule.forEachChange(
      [&](int64_t before, int64_t after) { changes.emplace_back(before, after); });
  EXPECT_EQ(changes, expected);
}

TEST(GrowingSchedule, IsTheSameAsOneListedAnew) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = randomProblem(seed, /*ops=*/12);
    const Graph graph(problem);
    const std::vector<OpIndex> steps = randomSteps(problem, seed);
    GrowingSchedule schedule(graph, steps, profile(graph, steps));
    std::mt19937_64 engine(seed);
    for (int round = 0; round < 12; ++round) {
      const Repeats repeats = randomRepeats(schedule.steps(), engine);
      const std::vector<OpIndex> grown = repeats.insertedInto(schedule.steps());
      const std::vector<int64_t> &then = schedule.bytesWith(repeats.ops, repeats.place);
      EXPECT_EQ(then, profile(graph, grown).bytes);
      expectChanges(schedule, repeats, then);
      if (engine() % 2 == 0)
        continue; // what is only tried changes nothing
      schedule.insert();
      EXPECT_EQ(schedule.steps(), grown);
      expectEqual(schedule.usage(), profile(graph, grown));
    }
    expectRangesOf(graph, schedule);
    expectReadsOf(graph, schedule);
    if (HasFailure())
      return;
  }
}

} // namespace
