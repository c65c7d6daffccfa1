//===- VerifyMemoriesTest.cpp - Wrong plans of several memories and resources -----===//
//
// The worked example of docs/Design/Planning.md, "Version 2", and one wrong plan for each number
// and rule that it has in addition to those of VerifyTest.cpp.
//
//===----------------------------------------------------------------------===//

#include "BrokenPlan.h"
#include "RandomProblem.h"
#include "llmmem/Planning/Allocation/Placement.h"
#include "llmmem/Planning/Planner.h"
#include "llvm/ADT/STLExtras.h"

using namespace llmmem::planning;

namespace {

/// a(100, resident) -> one -> x(100) -> two -> y(100); back reads y and x and writes g(100), kept.
/// `up` may bring x to the host as h, `down` may bring it back.
class VerifyMemoriesTest : public test::BrokenPlanTest {
protected:
  VerifyMemoriesTest() {
    problem.budget = 400;
    problem.moreMemories = {{"host", 128, 64}};
    problem.values = {{0, 100, true, "a"},
                      {1, 100, false, "x"},
                      {2, 100, false, "h", 1},
                      {3, 100, false, "y"},
                      {4, 100, false, "g"}};
    problem.ops.resize(5);
    for (OpIndex op = 0; op < 5; ++op)
      problem.ops[op].id = op;
    fill(One, 10, {A}, {X}, Resource::Compute);
    fill(Up, 8, {X}, {H}, Resource::DeviceToHost);
    fill(Two, 10, {X}, {Y}, Resource::Compute);
    fill(Down, 8, {H}, {X}, Resource::HostToDevice);
    fill(Back, 20, {X, Y}, {G}, Resource::Compute);
    problem.ops[Up].optional = problem.ops[Down].optional = true;
    problem.ops[Two].alternatives = {{15, 0}, {12, 64}};
    problem.keep = {G};

    plan.status = Status::Feasible;
    plan.steps = {One, Up, Two, Down, Back};
    plan.offsets = {{0, X, 0}, {1, H, 0}, {2, Y, 100}, {3, X, 0}, {4, G, 200}};
    plan.peak = 400; // a, x, y, g
    plan.arena = 300;
    plan.moreMemories = {{100, 100, 0}};
    plan.cost = 56;
    plan.baseCost = 40;
    plan.time = {48, 40, 40};
  }

  enum : ValueIndex { A, X, H, Y, G };
  enum : OpIndex { One, Up, Two, Down, Back };

  void fill(OpIndex op, int64_t cost, std::vector<ValueIndex> reads, std::vector<ValueIndex> writes,
            Resource resource) {
    problem.ops[op].cost = cost;
    problem.ops[op].reads = std::move(reads);
    problem.ops[op].writes = std::move(writes);
    problem.ops[op].resource = resource;
  }
};

/// one 0-10, up 10-18, two 10-20; down has x's bytes when two has read them: 20-28; back 28-48.
TEST_F(VerifyMemoriesTest, TheWorkedExampleHolds) {
  EXPECT_FALSE(static_cast<bool>(validateProblem(problem)));
  expectHolds();
}

/// In bytes of its own x is back as soon as h is there: down 18-26, back 26-46.
TEST_F(VerifyMemoriesTest, BytesOfItsOwnAreFreeAtOnce) {
  problem.budget = 500;
  plan.offsets[3].offset = 300;
  plan.arena = 400;
  plan.time->time = 46;
  expectHolds();
  plan.time->time = 48;
  expectOnly(-1, "time");
}

/// `back` before `down` reads the first x, whose bytes y has taken once x had left.
TEST_F(VerifyMemoriesTest, ReadBeforeTheCopyIsBack) {
  plan.steps = {One, Up, Two, Back, Down};
  plan.offsets = {{0, X, 0}, {1, H, 0}, {2, Y, 0}, {3, G, 200}, {4, X, 100}};
  expectAmong(2, "overlap");
}

/// Two works in x's bytes before they have left.
TEST_F(VerifyMemoriesTest, ReuseBeforeItHasLeft) {
  problem.ops[Two].reads = {A};
  plan.steps = {One, Two, Up, Down, Back};
  plan.offsets = {{0, X, 0}, {1, Y, 0}, {2, H, 0}, {3, X, 100}, {4, G, 200}};
  expectAmong(1, "overlap");
}

/// After the copy in the order y may have x's bytes, and waits for the end of the copy: two 18-28,
/// down 18-26, back 28-48. A plan that does not wait is refused.
TEST_F(VerifyMemoriesTest, ReuseWaitsForTheCopy) {
  problem.ops[Two].reads = {A};
  plan.offsets = {{0, X, 0}, {1, H, 0}, {2, Y, 0}, {3, X, 100}, {4, G, 200}};
  expectHolds();
  plan.time->time = 46; // two 10-20
  expectOnly(-1, "time");
}

/// A value cannot be back before it has been copied to the host, nor two copies run at once on one
/// side of the link.
TEST_F(VerifyMemoriesTest, CopiesTakeTheirTime) {
  problem.ops[Up].cost = 30;
  plan.cost = 78;
  plan.time->time = 68; // up 10-40, down 40-48, back 48-68
  expectHolds();
  plan.time->time = 48;
  expectOnly(-1, "time");
}

TEST_F(VerifyMemoriesTest, ListOfCopies) {
  plan.copies = {{X, 1, 3, 0}};
  expectHolds();
  plan.copies[0].hostOffset = 64;
  EXPECT_EQ(broken(), (std::vector<std::pair<int32_t, std::string>>{{3, "copies"}, {3, "copies"}}));
  plan.copies = {{X, 1, 3, 0}, {X, 1, 4, 0}}; // once more, without a host-to-device copy
  expectOnly(4, "copies");
  plan.copies = {{Y, 1, 3, 0}}; // y never left and is said to be back
  expectAmong(3, "copies");
  plan.copies = {{9, 1, 3, 0}};
  expectAmong(3, "copies");
}

/// One of two round trips left out.
TEST_F(VerifyMemoriesTest, ListOfCopiesThatLeavesOneOut) {
  plan.steps = {One, Up, Two, Down, Down, Back};
  plan.offsets = {{0, X, 0}, {1, H, 0}, {2, Y, 100}, {3, X, 0}, {4, X, 0}, {5, G, 200}};
  plan.cost = 64;
  plan.time->time = 56;
  plan.copies = {{X, 1, 3, 0}, {X, 1, 4, 0}};
  expectHolds();
  plan.copies.pop_back();
  expectOnly(4, "copies");
}

/// Two values may not lie at the same bytes of the host at once.
TEST_F(VerifyMemoriesTest, TwoValuesInTheSameBytesOfTheHost) {
  problem.moreMemories[0].budget = 256;
  problem.values.push_back({5, 100, false, "i", 1});
  Op more = problem.ops[Up];
  more.id = 5;
  more.writes = {5};
  problem.ops.push_back(more);
  plan.steps = {One, Up, 5, Two, Down, Back};
  plan.offsets = {{0, X, 0}, {1, H, 0}, {2, 5, 128}, {3, Y, 100}, {4, X, 0}, {5, G, 200}};
  plan.moreMemories[0] = {200, 228, 0};
  plan.cost = 64;
  plan.time->time =
      54; // the second device-to-host copy reads x until 26, and the way back is 26-34
  expectHolds();
  plan.offsets[2].offset = 0;
  plan.moreMemories[0].arena = 100;
  expectAmong(2, "overlap");
}

/// The copies need not run: one, two and back follow one another.
TEST_F(VerifyMemoriesTest, OptionalOpsNeedNotRun) {
  plan.steps = {One, Two, Back};
  plan.offsets = {{0, X, 0}, {1, Y, 100}, {2, G, 200}};
  plan.moreMemories = {{0, 0, 0}};
  plan.cost = plan.time->time = 40;
  expectHolds();
}

TEST_F(VerifyMemoriesTest, OpsThatAreNotOptionalMustRun) {
  problem.ops[Up].optional = false;
  plan.steps = {One, Two, Back};
  plan.offsets = {{0, X, 0}, {1, Y, 100}, {2, G, 200}};
  plan.moreMemories = {{0, 0, 0}};
  plan.cost = plan.time->time = 40;
  plan.baseCost = 48;
  expectOnly(-1, "missing-op");
}

TEST_F(VerifyMemoriesTest, ACopyThatNeverRanIsNotThere) {
  plan.steps = {One, Two, Down, Back};
  plan.offsets = {{0, X, 0}, {1, Y, 100}, {2, X, 0}, {3, G, 200}};
  plan.moreMemories = {{0, 0, 0}};
  plan.cost = 48;
  plan.time->time = 48;
  expectOnly(2, "read-before-write");
}

TEST_F(VerifyMemoriesTest, Time) {
  plan.time->time = 47;
  expectOnly(-1, "time");
  plan.time.reset();
  expectOnly(-1, "time");
}

TEST_F(VerifyMemoriesTest, BaseTime) {
  plan.time->base = 39;
  expectOnly(-1, "base-time");
}

TEST_F(VerifyMemoriesTest, TimeBound) {
  plan.time->lowerBound = 48;
  expectHolds();
  plan.time->lowerBound = 49;
  expectOnly(-1, "bound");
  plan.time->lowerBound = -1;
  expectOnly(-1, "bound");
}

/// A time that the problem does not need is checked where it is stated.
TEST_F(VerifyMemoriesTest, TimeOfOneResourceIsTheCost) {
  problem.moreMemories.clear();
  problem.values[H].memory = 0;
  problem.ops[Two].alternatives.clear();
  for (Op &op : problem.ops) {
    op.resource = Resource::Compute;
    op.optional = false;
  }
  problem.ops[Down].writes = {};
  problem.budget = 500;
  plan.moreMemories.clear();
  plan.offsets = {{0, X, 0}, {1, H, 100}, {2, Y, 200}, {4, G, 300}};
  plan.arena = 400; // h and g could share, and do not
  plan.baseCost = plan.time->base = plan.time->time = 56;
  expectHolds();
  plan.time->time = 48;
  expectOnly(-1, "time");
  plan.time.reset();
  expectHolds();
}

/// Each resource runs in the order of the plan: a second device-to-host copy waits for the first,
/// though its operand is there.
TEST_F(VerifyMemoriesTest, AResourceRunsInOrder) {
  plan.steps = {One, Up, Up, Two, Down, Back};
  plan.offsets = {{0, X, 0}, {1, H, 0}, {2, H, 0}, {3, Y, 100}, {4, X, 0}, {5, G, 200}};
  plan.cost = 64;
  plan.time->time = 54; // up 10-18, 18-26; down 26-34; back 34-54
  expectHolds();
}

TEST_F(VerifyMemoriesTest, PeakOfTheHost) {
  plan.moreMemories[0].peak = 99;
  expectOnly(-1, "peak");
}

TEST_F(VerifyMemoriesTest, ArenaOfTheHost) {
  plan.moreMemories[0].arena = 128;
  expectOnly(-1, "arena");
}

TEST_F(VerifyMemoriesTest, PeakBoundOfTheHost) {
  plan.moreMemories[0].peakLowerBound = 101;
  expectOnly(-1, "bound");
  plan.moreMemories[0].peakLowerBound = -1;
  expectOnly(-1, "bound");
}

TEST_F(VerifyMemoriesTest, BudgetOfTheHost) {
  problem.moreMemories[0].budget = 99;
  expectOnly(-1, "over-budget");
}

TEST_F(VerifyMemoriesTest, ResidentBytesOfTheHost) {
  problem.values.push_back({5, 30, true, "state", 1});
  plan.moreMemories[0].peak = 130;
  expectOnly(-1, "over-budget"); // 30 + 100 of 128
  problem.moreMemories[0].budget = 130;
  expectHolds();
}

TEST_F(VerifyMemoriesTest, AlignmentOfTheHost) {
  problem.moreMemories[0].budget = 200;
  plan.offsets[1].offset = 32;
  plan.moreMemories[0].arena = 132;
  expectOnly(1, "misaligned");
}

/// Equal offsets in two memories do not meet.
TEST_F(VerifyMemoriesTest, OverlapInTheHost) {
  problem.moreMemories[0].budget.reset();
  problem.values.push_back({5, 64, false, "i", 1});
  problem.ops[Up].writes.push_back(5);
  plan.offsets.insert(plan.offsets.begin() + 2, {1, 5, 128});
  plan.moreMemories[0] = {164, 192, 0};
  expectHolds();
  plan.offsets[2].offset = 64;
  plan.moreMemories[0].arena = 128;
  expectOnly(1, "overlap");
}

TEST_F(VerifyMemoriesTest, NumberOfMemories) {
  plan.moreMemories.clear();
  expectOnly(-1, "memories");
  plan.moreMemories.resize(2);
  expectOnly(-1, "memories");
}

/// two as its first alternative takes 15: up to 25, down 25-33, back 33-53.
TEST_F(VerifyMemoriesTest, Alternatives) {
  plan.alternatives = {{Two, 1}};
  plan.cost = 61;
  plan.baseCost = 45;
  plan.time->time = 53;
  expectHolds();
  plan.cost = 56;
  expectOnly(-1, "cost");
}

TEST_F(VerifyMemoriesTest, WorkspaceOfAnAlternative) {
  plan.alternatives = {{Two, 2}};
  plan.cost = 58;
  plan.baseCost = 42;
  plan.time->time = 50;
  expectAmong(2, "missing-workspace");
  plan.workspaces = {{2, 200}}; // where g stands later
  expectHolds();
}

TEST_F(VerifyMemoriesTest, AlternativesThatAreNotThere) {
  plan.alternatives = {{Two, 3}};
  expectOnly(-1, "alternative");
  plan.alternatives = {{Two, 0}};
  expectOnly(-1, "alternative");
  plan.alternatives = {{One, 1}};
  expectOnly(-1, "alternative");
  plan.alternatives = {{7, 1}};
  expectOnly(-1, "alternative");
}

TEST_F(VerifyMemoriesTest, TwoAlternativesForOneOp) {
  plan.alternatives = {{Two, 1}, {Two, 1}};
  plan.cost = 61;
  plan.baseCost = 45;
  plan.time->time = 53;
  expectOnly(-1, "alternative");
}

/// In program order the device holds a, x, y and g, 400 bytes, and the host nothing.
class NoPlanOfMemoriesTest : public VerifyMemoriesTest {
protected:
  NoPlanOfMemoriesTest() {
    problem.budget = 350;
    plan = Plan();
    plan.status = Status::Infeasible;
    plan.moreMemories.resize(1);
    plan.baseCost = plan.costLowerBound = 40;
    plan.peakLowerBound = 400;
    plan.time = {0, 40, 40};
  }
};

TEST_F(NoPlanOfMemoriesTest, TheRightOneHolds) { expectHolds(); }

TEST_F(NoPlanOfMemoriesTest, InfeasibleWhereAllMemoriesHoldEverything) {
  problem.budget = 400; // a, x, y and g; and the host holds h
  expectOnly(-1, "status");
  problem.moreMemories[0].budget = 127; // 100 bytes are 128 on multiples of 64
  expectHolds();
}

TEST_F(NoPlanOfMemoriesTest, BoundsOfEachMemory) {
  plan.moreMemories[0].peakLowerBound = 1;
  expectOnly(-1, "bound");
}

TEST_F(NoPlanOfMemoriesTest, NumbersOfAPlanThatIsNotThere) {
  plan.moreMemories[0].peak = 1;
  expectOnly(-1, "peak");
  plan.moreMemories[0].peak = 0;
  plan.moreMemories[0].arena = 1;
  expectOnly(-1, "arena");
  plan.moreMemories[0].arena = 0;
  plan.time->time = 1;
  expectOnly(-1, "time");
  plan.time->time = 0;
  plan.time->base = 41;
  expectOnly(-1, "base-time");
  plan.time->base = 40;
  plan.alternatives = {{Two, 1}};
  expectOnly(-1, "alternative");
}

TEST_F(NoPlanOfMemoriesTest, WitnessOfAMemory) {
  plan.witness = Witness{std::nullopt, {H}, 128, true, "why", 1};
  expectOnly(-1, "witness"); // 128 are what the host has
  problem.moreMemories[0].budget = 127;
  expectHolds();
  plan.witness->bytes = 129;
  expectOnly(-1, "witness"); // more than there is
  plan.witness->bytes = 128;
  plan.witness->memory = 2;
  expectOnly(-1, "witness");
  plan.witness->memory = 1;
  problem.moreMemories[0].budget.reset();
  expectOnly(-1, "witness"); // nothing is needed of it
}

/// Returns the time by its definition, each step against each earlier one.
int64_t slowMakespan(const Problem &problem, const Plan &plan) {
  struct Piece {
    int64_t begin, end;
    bool writes;
  };
  std::vector<std::vector<Piece>> pieces(plan.steps.size());
  std::vector<std::vector<size_t>> after(plan.steps.size());
  auto offsetOf = [&](int32_t step, ValueIndex value) -> int64_t {
    for (const InstanceOffset &it : plan.offsets)
      if (it.step == step && it.value == value)
        return it.offset;
    return -1;
  };
  auto use = [&](size_t at, int32_t step, ValueIndex value, bool writes) {
    if (int64_t offset = offsetOf(step, value); offset >= 0)
      pieces[at].push_back({offset, offset + problem.values[value].bytes, writes});
  };
  std::vector<int32_t> latest(problem.values.size(), -1);
  for (size_t at = 0; at < plan.steps.size(); ++at) {
    const Op &op = problem.ops[plan.steps[at]];
    for (ValueIndex value : op.reads) {
      use(at, latest[value], value, false);
      if (latest[value] >= 0)
        after[at].push_back(latest[value]);
    }
    for (ValueIndex value : op.writes) {
      latest[value] = static_cast<int32_t>(at);
      use(at, latest[value], value, true);
    }
    for (const WorkspaceOffset &it : plan.workspaces)
      if (it.step == static_cast<int32_t>(at))
        pieces[at].push_back({it.offset, it.offset + op.workspace, true});
  }
  std::vector<int64_t> ends;
  for (size_t at = 0; at < plan.steps.size(); ++at) {
    const Op &op = problem.ops[plan.steps[at]];
    int64_t start = 0;
    for (size_t before = 0; before < at; ++before) {
      bool waits = problem.ops[plan.steps[before]].resource == op.resource ||
                   llvm::is_contained(after[at], before);
      for (const Piece &mine : pieces[at])
        for (const Piece &its : pieces[before])
          waits |= mine.writes && mine.begin < its.end && its.begin < mine.end;
      if (waits)
        start = std::max(start, ends[before]);
    }
    ends.push_back(start + op.cost);
  }
  return ends.empty() ? 0 : *std::max_element(ends.begin(), ends.end());
}

TEST(VerifyTimeTest, AgreesWithTheDefinition) {
  int64_t shorter = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Problem problem = randomProblem(seed, 12);
    problem.budget.reset();
    for (size_t op = 0; op < problem.ops.size(); ++op)
      problem.ops[op].resource = allResources[(seed + op * op) % 3];
    Plan plan;
    plan.status = Status::Feasible;
    for (OpIndex op = 0; op < static_cast<OpIndex>(problem.ops.size()); ++op)
      plan.steps.push_back(op);
    for (OpIndex op = 0; op < static_cast<OpIndex>(problem.ops.size()); ++op)
      if (problem.ops[op].recompute && op % 3 == 0)
        plan.steps.push_back(op);
    PackOptions options;
    options.alignment = problem.alignment;
    placeSteps(problem, plan, options);
    plan.time = {slowMakespan(problem, plan), 0, 0};
    shorter += plan.time->time < plan.cost;
    for (const Violation &violation : verify(problem, plan))
      EXPECT_NE(violation.rule, "time") << seed << ": " << violation.message;
  }
  EXPECT_GT(shorter, 200); // where nothing overlapped, nothing would be compared
}

/// Solvers know one memory with compute and link, and two with plain copies between, and say so.
TEST_F(VerifyMemoriesTest, PlanningIsRefused) {
  auto expectRefused = [&](const std::string &what) {
    EXPECT_EQ(checkPlannable(problem),
              "planning " + what + " is not offered; --check verifies such plans");
    Plan none = llmmem::planning::plan(problem, {});
    EXPECT_EQ(none.status, Status::Unknown);
    EXPECT_TRUE(none.steps.empty());
    EXPECT_EQ(none.witness->why,
              "planning " + what + " is not offered; --check verifies such plans");
  };
  expectRefused("alternatives of ops together with copies");
  problem.ops[Two].alternatives.clear();
  EXPECT_FALSE(static_cast<bool>(checkPlannable(problem)));
  problem.ops[Up].recompute = false;
  expectRefused("copies that must run, or of several values");
  problem.ops[Up].recompute = true;
  problem.ops[Two].optional = true;
  expectRefused("optional ops other than copies");
  problem.ops[Two].optional = false;
  problem.ops[Two].resource = Resource::Link;
  expectRefused("resources other than compute together with copies");
  problem.ops[Two].resource = Resource::Compute;
  problem.moreMemories.push_back({"disk", 100, 1});
  expectRefused("copies between other memories than the device and one more");
  for (Op &op : problem.ops)
    op.resource = Resource::Compute;
  problem.moreMemories.clear();
  expectRefused("optional ops");
  for (Op &op : problem.ops)
    op.optional = false;
  problem.ops[Two].alternatives = {{15, 0}};
  expectRefused("alternatives of ops");
  problem.ops[Two].alternatives.clear();
  EXPECT_FALSE(static_cast<bool>(checkPlannable(problem)));
}

} // namespace
