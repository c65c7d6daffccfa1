//===- PipelineTest.cpp - Schedules, bubbles, exchanges, deadlocks --------------===//

#include "llmmem/Planning/Pipeline/PipelineExchanges.h"
#include "llmmem/Planning/Pipeline/PipelineTime.h"
#include "llmmem/Planning/Pipeline/StageCuts.h"
#include "llmmem/Planning/Pipeline/TimedSchedule.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <map>
#include <tuple>

using namespace llmmem::planning;

namespace {

/// Times tasks whose messages wait for nobody, as the formulas of PipelineTime.h do.
class Clock {
public:
  Clock(const PipelineShape &shape, llvm::ArrayRef<ChunkCost> costs) : shape(shape), costs(costs) {}

  /// Says whether all that `task` waits for has ended; `at` is then when it may begin.
  bool mayBegin(const PipelineTask &task, int64_t &at) const;
  int64_t costOf(const PipelineTask &task) const {
    return llmmem::planning::costOf(task, shape, costs);
  }
  void end(const PipelineTask &task, int64_t at) { ended[keyOf(task)] = at; }

private:
  using Key = std::tuple<TaskKind, int64_t, int64_t>;
  static Key keyOf(const PipelineTask &task) { return {task.kind, task.microBatch, task.chunk}; }

  const PipelineShape &shape;
  llvm::ArrayRef<ChunkCost> costs;
  std::map<Key, int64_t> ended;
};

bool Clock::mayBegin(const PipelineTask &task, int64_t &at) const {
  auto after = [&](PipelineTask before, int64_t message) {
    auto found = ended.find(keyOf(before));
    if (found == ended.end())
      return false;
    bool isOwn = shape.stageOf(before.chunk, before.microBatch) ==
                 shape.stageOf(task.chunk, task.microBatch);
    at = std::max(at, found->second + (isOwn ? 0 : message));
    return true;
  };
  PipelineTask before = task;
  if (task.kind == TaskKind::WeightGradient) {
    before.kind = TaskKind::Backward;
    return after(before, 0);
  }
  if (task.kind == TaskKind::Forward) {
    --before.chunk;
    return task.chunk == 0 || after(before, costs[before.chunk].message);
  }
  ++before.chunk;
  if (task.chunk + 1 < shape.numChunks() && !after(before, costs[task.chunk].message))
    return false;
  return after({TaskKind::Forward, task.microBatch, task.chunk}, 0);
}

/// Returns the time of `schedule`, which must be one of `shape`.
PipelineTime timeOfTasks(const PipelineShape &shape,
                         const std::vector<std::vector<PipelineTask>> &schedule,
                         llvm::ArrayRef<ChunkCost> costs) {
  PipelineTime time;
  time.busy.assign(shape.stages, 0);
  std::vector<int64_t> now(shape.stages, 0);
  std::vector<size_t> next(shape.stages, 0);
  Clock clock(shape, costs);
  for (bool moved = true; moved;) {
    moved = false;
    for (int64_t stage = 0; stage < shape.stages; ++stage)
      for (; next[stage] < schedule[stage].size(); ++next[stage]) {
        const PipelineTask &task = schedule[stage][next[stage]];
        int64_t at = now[stage];
        if (!clock.mayBegin(task, at))
          break;
        now[stage] = at + clock.costOf(task);
        time.busy[stage] += clock.costOf(task);
        clock.end(task, now[stage]);
        moved = true;
      }
  }
  time.ns = *std::max_element(now.begin(), now.end());
  return time;
}

std::string textOf(const PipelineShape &shape, int64_t stage) {
  std::string text;
  std::vector<std::vector<PipelineTask>> schedule = makeSchedule(shape);
  for (const PipelineTask &task : schedule[stage])
    text += (text.empty() ? "" : " ") + describe(task, shape);
  return text;
}

TEST(PipelineSchedules, AreThoseOfThePapers) {
  EXPECT_EQ(textOf({PipelineKind::GPipe, 2, 3}, 0), "F0 F1 F2 B0 B1 B2");
  EXPECT_EQ(textOf({PipelineKind::OneForwardOneBackward, 2, 4}, 0), "F0 F1 B0 F2 B1 F3 B2 B3");
  EXPECT_EQ(textOf({PipelineKind::OneForwardOneBackward, 2, 4}, 1), "F0 B0 F1 B1 F2 B2 F3 B3");
  EXPECT_EQ(textOf({PipelineKind::ZeroBubble, 2, 4}, 0), "F0 F1 B0 W0 F2 B1 W1 F3 B2 W2 B3 W3");
  EXPECT_EQ(textOf({PipelineKind::ZeroBubble, 2, 4}, 1), "F0 B0 F1 B1 W0 F2 B2 W1 F3 B3 W2 W3");
  EXPECT_EQ(textOf({PipelineKind::Interleaved, 2, 2, 2}, 0),
            "F0.0 F1.0 F0.2 F1.2 B0.2 B1.2 B0.0 B1.0");
  EXPECT_EQ(textOf({PipelineKind::Interleaved, 2, 2, 2}, 1),
            "F0.1 F1.1 F0.3 B0.3 F1.3 B1.3 B0.1 B1.1");
  EXPECT_EQ(textOf({PipelineKind::ZeroBubbleV, 2, 3, 2}, 0),
            "F0.0 F1.0 F2.0 F0.3 B0.3 W0.3 F1.3 B1.3 W1.3 B0.0 W0.0 F2.3 B2.3 W2.3 B1.0 W1.0 B2.0 "
            "W2.0");
  EXPECT_EQ(textOf({PipelineKind::DualPipe, 2, 4}, 0), "F0 F2 F1 B2 W2 F3 B0 W0 B3 W3 B1 W1");
}

/// Shapes of up to 8 stages and 16 micro-batches that have a schedule.
void forShapes(llvm::function_ref<void(const PipelineShape &)> visit) {
  for (int64_t p = 1; p <= 8; ++p)
    for (int64_t m = 1; m <= 16; ++m)
      for (PipelineKind kind :
           {PipelineKind::GPipe, PipelineKind::OneForwardOneBackward, PipelineKind::Interleaved,
            PipelineKind::ZeroBubble, PipelineKind::ZeroBubbleV, PipelineKind::DualPipe})
        for (int64_t v : {1, 2, 3})
          if (PipelineShape shape{kind, p, m, v}; !checkShape(shape))
            visit(shape);
}

TEST(PipelineSchedules, HaveEachTaskOnce) {
  forShapes([](const PipelineShape &shape) {
    auto schedule = makeSchedule(shape);
    for (int64_t stage = 0; stage < shape.stages; ++stage) {
      std::map<std::string, int64_t> count;
      for (const PipelineTask &task : schedule[stage]) {
        EXPECT_EQ(shape.stageOf(task.chunk, task.microBatch), stage);
        ++count[describe(task, shape)];
      }
      EXPECT_EQ(static_cast<int64_t>(count.size()),
                (shape.splitsBackward() ? 3 : 2) * shape.microBatches * shape.chunks);
      for (auto &[task, times] : count)
        EXPECT_EQ(times, 1) << task;
    }
  });
}

TEST(PipelineSchedules, HoldAsManyMicroBatchesAsTheTheorySays) {
  forShapes([](const PipelineShape &shape) {
    auto schedule = makeSchedule(shape);
    int64_t m = shape.microBatches, p = shape.stages;
    for (int64_t stage = 0; stage < p; ++stage) {
      int64_t held = countInFlight(schedule[stage], shape.splitsBackward());
      if (shape.kind == PipelineKind::GPipe)
        EXPECT_EQ(held, m);
      if (shape.kind == PipelineKind::OneForwardOneBackward)
        EXPECT_EQ(held, std::min(m, p - stage));
      if (shape.kind == PipelineKind::ZeroBubble)
        EXPECT_EQ(held, std::min(m, p)); // no more than the first stage of 1F1B
      // The chunks of a V are halves: 2p of them are what 1F1B's first stage holds.
      if (shape.kind == PipelineKind::ZeroBubbleV) {
        EXPECT_LE(held, std::min(2 * m, 2 * p));
        if (m >= 2 * p - 1)
          EXPECT_EQ(held, 2 * p);
      }
      if (shape.kind == PipelineKind::DualPipe)
        EXPECT_EQ(held, p + 1);
    }
  });
}

/// Waiting of the stage that waits longest, with forward, backward and weights of equal chunks.
int64_t waiting(const PipelineShape &shape, int64_t forward, int64_t backward, int64_t weights) {
  std::vector<ChunkCost> costs(shape.numChunks(), {forward, backward, weights, 0});
  PipelineTime time = timeOfTasks(shape, makeSchedule(shape), costs);
  EXPECT_EQ(time.busy.front(), shape.microBatches * shape.chunks * (forward + backward + weights));
  return time.ns - time.busy.front();
}

TEST(PipelineTime, BubblesAreThoseOfTheFormulas) {
  forShapes([](const PipelineShape &shape) {
    int64_t p = shape.stages, m = shape.microBatches;
    SCOPED_TRACE(nameOf(shape.kind).str() + " of " + std::to_string(p) + " stages, " +
                 std::to_string(m) + " micro-batches, " + std::to_string(shape.chunks) + " chunks");
    switch (shape.kind) {
    case PipelineKind::GPipe:
    case PipelineKind::OneForwardOneBackward: {
      EXPECT_EQ(waiting(shape, 7, 8, 6), (p - 1) * 21);
      std::vector<ChunkCost> costs(p, {7, 8, 6, 0});
      EXPECT_DOUBLE_EQ(timeOfTasks(shape, makeSchedule(shape), costs).bubble(),
                       static_cast<double>(p - 1) / static_cast<double>(m + p - 1));
      break;
    }
    case PipelineKind::Interleaved:
      // A stage has v times as much work, so this is the waiting of 1F1B divided by v.
      EXPECT_EQ(waiting(shape, 7, 8, 6), (p - 1) * 21);
      break;
    case PipelineKind::ZeroBubble:
      if (m >= p)
        EXPECT_EQ(waiting(shape, 10, 10, 10), (p - 1) * 10);
      break;
    case PipelineKind::ZeroBubbleV:
      // Nothing but the first forward on its way to the last stage and the way back.
      if (m >= 2 * p - 1)
        EXPECT_EQ(waiting(shape, 10, 10, 10), (p - 1) * 10);
      break;
    case PipelineKind::DualPipe:
      // (p/2 - 1)(F&B + B - 3W), where a forward and a backward do not overlap.
      EXPECT_EQ(waiting(shape, 10, 10, 10), (p / 2 - 1) * 10);
      break;
    }
  });
}

/// Each task's messages are there before it, each message is sent and received once, and nothing
/// waits for ever.
TEST(PipelineExchanges, FitTheSchedule) {
  forShapes([](const PipelineShape &shape) {
    SCOPED_TRACE(nameOf(shape.kind).str() + " of " + std::to_string(shape.stages) + " stages, " +
                 std::to_string(shape.microBatches) + " micro-batches, " +
                 std::to_string(shape.chunks) + " chunks");
    auto schedule = makeSchedule(shape);
    auto stages = placeExchanges(shape, schedule);
    std::vector<std::vector<Rendezvous>> meetings(shape.stages);
    size_t sent = 0, received = 0;
    for (int64_t stage = 0; stage < shape.stages; ++stage)
      for (const PipelineExchange &exchange : stages[stage]) {
        Rendezvous meeting;
        for (const PipelineMessage &message : exchange.sends)
          meeting.sends.push_back(message.to);
        for (const PipelineMessage &message : exchange.receives)
          meeting.receives.push_back(message.from);
        meetings[stage].push_back(meeting);
        sent += exchange.sends.size();
        received += exchange.receives.size();
      }
    EXPECT_FALSE(findDeadlock(meetings));
    auto pairs = matchMessages(meetings);
    EXPECT_EQ(pairs.size(), sent);
    EXPECT_EQ(sent, received);
    if (shape.stages > 1)
      // A V has the two chunks in its middle on one stage.
      EXPECT_EQ(static_cast<int64_t>(sent),
                2 * shape.microBatches *
                    (shape.numChunks() - (shape.kind == PipelineKind::ZeroBubbleV ? 2 : 1)));
    for (auto &[send, receive] : pairs)
      EXPECT_EQ(stages[send.stage][send.op].sends[send.number],
                stages[receive.stage][receive.op].receives[receive.number]);
  });
}

TEST(PipelineDeadlocks, AreFoundAndSayWho) {
  // Both send first: 0 sends before it receives, and 1 as well, each in an op of its own.
  Rendezvous toOne{{1}, {}}, fromOne{{}, {1}}, toZero{{0}, {}}, fromZero{{}, {0}};
  EXPECT_FALSE(findDeadlock({{toOne, fromOne}, {fromZero, toZero}}));
  std::optional<Deadlock> found = findDeadlock({{toOne, fromOne}, {toZero, fromZero}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->op, 0);
  EXPECT_EQ(found->otherOp, 0);
  // One op for both ways is no deadlock.
  EXPECT_FALSE(findDeadlock({{{{1}, {1}}}, {{{0}, {0}}}}));
  // One that nobody receives.
  found = findDeadlock({{toOne, toOne}, {fromZero}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->stage, 0);
  EXPECT_EQ(found->op, 1);
  EXPECT_EQ(found->other, 1);
  EXPECT_FALSE(found->otherOp);
  // What all do together, in another order than messages.
  Rendezvous all{{}, {}, true};
  EXPECT_FALSE(findDeadlock({{toOne, all}, {fromZero, all}}));
  EXPECT_TRUE(findDeadlock({{toOne, all}, {all, fromZero}}));
}

using Kind = StageEvent::Kind;

// Stage 0 works 5, gives stage 1 a message of 2, works 4 more; stage 1 works 1 before it and 6
// after it: it waits from 1 to 5, and ends at 13.
TEST(PipelineTime, OfMeetings) {
  PipelineTime time = modelTime({{{{1}, {}}}, {{{}, {0}}}},
                                {{{Kind::Work, 5}, {Kind::Meeting, 2}, {Kind::Work, 4}},
                                 {{Kind::Work, 1}, {Kind::Meeting, 0}, {Kind::Work, 6}}});
  EXPECT_EQ(time.ns, 13);
  EXPECT_EQ(time.busy, (std::vector<int64_t>{11, 9}));
  EXPECT_DOUBLE_EQ(time.bubble(), 6.0 / 26.0);
}

// Stage 0 gives stage 1 two messages of 2 and goes on at once: its works of 5 end at 5, 10 and 15.
// Stage 1 has started to receive both before it works: the messages come at 5 to 7 and at 10 to 12,
// and its works of 4 after each begin at 7 and at 12.
TEST(PipelineTime, OfStartedMeetings) {
  const Rendezvous send{{1}, {}}, receive{{}, {0}};
  const StageEvent work{Kind::Work, 5}, half{Kind::Work, 4}, wait{Kind::Wait},
      message{Kind::Meeting, 2, /*isStarted=*/true};
  PipelineTime time = modelTime({{send, send}, {receive, receive}},
                                {{work, message, work, message, wait, work, wait},
                                 {message, message, wait, half, wait, half}});
  EXPECT_EQ(time.ns, 16);
  EXPECT_EQ(time.busy, (std::vector<int64_t>{15, 8}));
}

// The link of a stage does one thing at a time: what stage 1 receives comes after its own
// transfer, which it has started first, and a transfer that is not started stops its compute.
TEST(PipelineTime, OfOneLink) {
  const StageEvent started{Kind::Transfer, 10, true}, message{Kind::Meeting, 2, true},
      wait{Kind::Wait}, inTurn{Kind::Transfer, 3};
  PipelineTime time = modelTime({{{{1}, {}}}, {{{}, {0}}}},
                                {{message, wait}, {started, message, wait, wait, inTurn}});
  EXPECT_EQ(time.ns, 15);
  EXPECT_EQ(time.busy, (std::vector<int64_t>{0, 3}));
}

/// What TimedSchedule times, as meetings of stages.
PipelineTime timeOfMeetings(const PipelineShape &shape, llvm::ArrayRef<ChunkCost> costs) {
  const auto schedule = makeSchedule(shape);
  const auto exchanges = placeExchanges(shape, schedule);
  std::vector<std::vector<Rendezvous>> stages(shape.stages);
  std::vector<std::vector<StageEvent>> events(shape.stages);
  for (int64_t stage = 0; stage < shape.stages; ++stage)
    for (size_t place = 0; place < exchanges[stage].size(); ++place) {
      Rendezvous meeting;
      StageEvent event{Kind::Meeting};
      for (const PipelineMessage &message : exchanges[stage][place].sends) {
        meeting.sends.push_back(message.to);
        event.ns += costs[message.writer.chunk].message;
      }
      for (const PipelineMessage &message : exchanges[stage][place].receives)
        meeting.receives.push_back(message.from);
      stages[stage].push_back(meeting);
      events[stage].push_back(event);
      if (place < schedule[stage].size())
        events[stage].push_back({Kind::Work, costOf(schedule[stage][place], shape, costs)});
    }
  return modelTime(stages, events);
}

TEST(TimedSchedule, IsAsLongAsItsMeetings) {
  forShapes([](const PipelineShape &shape) {
    std::vector<ChunkCost> costs;
    for (int64_t chunk = 0; chunk < shape.numChunks(); ++chunk)
      costs.push_back(
          {7 + chunk % 3, 11 + chunk % 5, shape.splitsBackward() ? 4 : 0, 1 + chunk % 2});
    const PipelineTime time = TimedSchedule(shape).time(costs), same = timeOfMeetings(shape, costs);
    EXPECT_EQ(time.ns, same.ns) << nameOf(shape.kind).str() << " " << shape.stages << " "
                                << shape.microBatches << " " << shape.chunks;
    EXPECT_EQ(time.busy, same.busy);
    // Messages that wait for nobody are never slower.
    EXPECT_GE(time.ns, timeOfTasks(shape, makeSchedule(shape), costs).ns);
  });
}

TEST(PipelineShapes, AreRefusedWithTheFix) {
  EXPECT_EQ(*checkShape({PipelineKind::Interleaved, 4, 6, 2}),
            "interleaved stages take micro-batches in groups of the 4 stages, which do not divide "
            "6; take 8 micro-batches, or 1f1b");
  EXPECT_TRUE(checkShape({PipelineKind::OneForwardOneBackward, 2, 4, 2}));
  EXPECT_TRUE(checkShape({PipelineKind::Interleaved, 2, 4, 1}));
  EXPECT_FALSE(parsePipelineKind("2f2b"));
}

/// Cuts blocks that all devices run alike and have the memory for.
std::vector<int64_t> cutEvenly(llvm::ArrayRef<BlockSize> blocks, int64_t parts) {
  return cutStages(std::vector<std::vector<BlockSize>>(parts, blocks.vec()),
                   std::vector<int64_t>(parts, INT64_MAX));
}

TEST(StageCuts, BalanceCostsThenBytes) {
  EXPECT_EQ(cutEvenly({{1, 0}, {1, 0}, {1, 0}, {1, 0}, {2, 0}}, 2), (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(cutEvenly({{1, 9}, {1, 1}, {1, 1}}, 2), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(cutEvenly({{1, 1}, {1, 1}, {1, 9}}, 2), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(cutEvenly({{5, 1}, {1, 1}, {1, 1}}, 3), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_TRUE(cutEvenly({{1, 1}}, 2).empty());
  // A device of twice the speed has twice the blocks; one whose memory two do not fit has one.
  const std::vector<BlockSize> slow(3, {2, 4}), fast(3, {1, 4});
  EXPECT_EQ(cutStages({slow, fast}, {INT64_MAX, INT64_MAX}), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(cutStages({fast, slow}, {INT64_MAX, INT64_MAX}), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(cutStages({fast, slow}, {4, INT64_MAX}), (std::vector<int64_t>{0, 1}));
}

} // namespace
