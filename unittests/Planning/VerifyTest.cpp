//===- VerifyTest.cpp - Wrong plans, one for each rule ---------------------------===//
//
// Each test breaks a plan that holds in one place and expects the rule of that place by name.
//
//===----------------------------------------------------------------------===//

#include "BrokenPlan.h"
#include <limits>

using namespace llmmem::planning;

namespace {

/// x(8, input), p(16, resident) -> f [workspace 4] -> y(8); y -> g -> z(8) in place of y; x, z -> h
/// -> w(4), kept.
///
///   step 0: x at 0, y at 8, workspace at 16   20 + 16
///   step 1: x at 0, z at 8 over y             16 + 16
///   step 2: x at 0, z at 8, w at 16           20 + 16
class VerifyTest : public test::BrokenPlanTest {
protected:
  VerifyTest() {
    problem.alignment = 4;
    problem.budget = 36;
    problem.values = {{10, 8, false, "x"},
                      {11, 8, false, "y"},
                      {12, 8, false, "z"},
                      {13, 4, false, "w"},
                      {14, 16, true, "p"}};
    Op f, g, h;
    f.id = 100;
    f.cost = 5;
    f.workspace = 4;
    f.reads = {X, P};
    f.writes = {Y};
    g.id = 101;
    g.cost = 7;
    g.reads = {Y};
    g.writes = {Z};
    g.inPlace = {{Z, Y}};
    h.id = 102;
    h.cost = 1;
    h.reads = {X, Z};
    h.writes = {W};
    h.recompute = false;
    problem.ops = {f, g, h};
    problem.keep = {W};

    plan.status = Status::Feasible;
    plan.steps = {0, 1, 2};
    plan.offsets = {{-1, X, 0}, {0, Y, 8}, {1, Z, 8}, {2, W, 16}};
    plan.workspaces = {{0, 16}};
    plan.peak = 36;
    plan.arena = 20;
    plan.cost = plan.baseCost = 13;
  }

  enum : ValueIndex { X, Y, Z, W, P };
};

TEST_F(VerifyTest, TheRightPlanHolds) { EXPECT_TRUE(broken().empty()); }

TEST_F(VerifyTest, UnknownOp) {
  plan.steps[1] = 7;
  expectOnly(1, "unknown-op");
}

TEST_F(VerifyTest, MissingOp) {
  plan.steps = {0, 1};
  plan.offsets.pop_back();
  expectAmong(-1, "missing-op");
}

TEST_F(VerifyTest, Recomputed) {
  plan.steps = {0, 1, 2, 2};
  expectAmong(3, "recomputed");
}

TEST_F(VerifyTest, ReadBeforeWrite) {
  plan.steps = {1, 0, 2};
  expectAmong(0, "read-before-write");
}

TEST_F(VerifyTest, NoSuchInstance) {
  plan.offsets.push_back({2, Z, 8});
  expectOnly(2, "no-such-instance");
}

TEST_F(VerifyTest, NoSuchInstanceOfAnUnknownValue) {
  plan.offsets.push_back({2, -1, 8});
  expectOnly(2, "no-such-instance");
}

TEST_F(VerifyTest, NoSuchInstanceFarAway) {
  plan.offsets.push_back({INT32_MAX, W, 8});
  expectOnly(INT32_MAX, "no-such-instance");
}

TEST_F(VerifyTest, ResidentOffset) {
  plan.offsets.push_back({-1, P, 0});
  expectOnly(-1, "resident-offset");
}

TEST_F(VerifyTest, MissingOffset) {
  plan.offsets.erase(plan.offsets.begin() + 2);
  expectAmong(1, "missing-offset");
}

TEST_F(VerifyTest, DuplicateOffset) {
  plan.offsets.push_back({2, W, 16});
  expectOnly(2, "duplicate-offset");
}

TEST_F(VerifyTest, Workspaces) {
  plan.workspaces.push_back({0, 16});
  expectOnly(0, "duplicate-workspace");
  plan.workspaces = {{0, 16}, {1, 0}};
  expectOnly(1, "no-such-workspace");
  plan.workspaces = {};
  expectAmong(0, "missing-workspace");
}

TEST_F(VerifyTest, Misaligned) {
  plan.offsets[3].offset = 18;
  plan.arena = 22;
  problem.budget.reset();
  expectOnly(2, "misaligned");
}

TEST_F(VerifyTest, OutOfRange) {
  plan.offsets[3].offset = INT64_MAX - 3;
  expectAmong(2, "out-of-range");
  plan.offsets[3].offset = -4;
  expectAmong(2, "out-of-range");
}

TEST_F(VerifyTest, Overlap) {
  plan.offsets[3].offset = 8; // w over z, which h reads
  expectAmong(2, "overlap");
  plan.offsets[3].offset = 0; // w over x, which h reads too
  expectAmong(2, "overlap");
}

TEST_F(VerifyTest, OverlapWithAWorkspace) {
  plan.workspaces[0].offset = 12;
  expectAmong(0, "overlap");
}

/// Bytes inside, not at the start of, what is held.
TEST_F(VerifyTest, OverlapInTheMiddle) {
  problem.values[X].bytes = 16;
  plan.offsets = {{-1, X, 0}, {0, Y, 16}, {1, Z, 16}, {2, W, 4}};
  plan.workspaces = {{0, 24}};
  expectAmong(2, "overlap");
}

TEST_F(VerifyTest, InPlaceNeedsThePair) {
  problem.ops[1].inPlace.clear();
  expectAmong(1, "overlap");
}

/// Two results of one op, each of which may take the operand's bytes.
TEST_F(VerifyTest, InPlaceTakesAnOperandOnce) {
  problem.values.push_back({15, 8, false, "v"});
  const ValueIndex v = P + 1;
  problem.ops[1].writes.push_back(v);
  problem.ops[1].inPlace.push_back({v, Y});
  plan.offsets = {{-1, X, 0}, {0, Y, 8}, {1, Z, 8}, {1, v, 8}, {2, W, 16}};
  expectAmong(1, "overlap");
}

TEST_F(VerifyTest, InPlaceNeedsTheLastRead) {
  problem.ops[2].reads.push_back(Y);
  expectAmong(1, "overlap");
}

TEST_F(VerifyTest, InPlaceNeedsAnOperandThatIsNotKept) {
  problem.keep.push_back(Y);
  expectAmong(1, "overlap");
}

TEST_F(VerifyTest, InPlaceNeedsAResultNoLarger) {
  problem.values[Y].bytes = 4;
  expectAmong(1, "overlap");
}

TEST_F(VerifyTest, InPlaceNeedsTheSameOffset) {
  plan.offsets[2].offset = 12;
  expectAmong(1, "overlap");
}

/// z takes half of y's 16 bytes; the other half stays held while g runs and is free afterwards.
TEST_F(VerifyTest, ASmallerResultFreesTheRemainderAfterItsStep) {
  problem.values[Y].bytes = 16;
  problem.budget = 44;
  plan.offsets = {{-1, X, 0}, {0, Y, 8}, {1, Z, 8}, {2, W, 16}};
  plan.workspaces = {{0, 24}};
  plan.arena = 28;
  plan.peak = 16 + 28;
  EXPECT_TRUE(broken().empty()) << testing::PrintToString(broken());
  problem.ops[1].workspace = 4;
  plan.workspaces = {{0, 24}, {1, 16}}; // in the half that is not yet free
  expectAmong(1, "overlap");
}

TEST_F(VerifyTest, StatedNumbers) {
  plan.peak = 35;
  expectOnly(-1, "peak");
  plan.peak = 36;
  plan.arena = 24;
  expectOnly(-1, "arena");
  plan.arena = 20;
  plan.cost = 12;
  expectOnly(-1, "cost");
  plan.cost = 13;
  plan.baseCost = 14;
  expectOnly(-1, "base-cost");
}

TEST_F(VerifyTest, BoundsAbovePlan) {
  plan.costLowerBound = 14;
  expectOnly(-1, "bound");
  plan.costLowerBound = 13;
  plan.peakLowerBound = 37;
  expectOnly(-1, "bound");
}

TEST_F(VerifyTest, OverBudget) {
  problem.budget = 35;
  expectOnly(-1, "over-budget");
  plan.status = Status::Unknown; // claims nothing about the budget
  EXPECT_TRUE(broken().empty());
}

TEST_F(VerifyTest, Statuses) {
  plan.status = Status::Infeasible;
  expectOnly(-1, "status");
  Plan none;
  none.status = Status::Feasible;
  EXPECT_EQ(verify(problem, none).front().rule, "status");
  none.status = Status::Infeasible;
  EXPECT_TRUE(verify(problem, none).empty());
  problem.budget.reset();
  EXPECT_EQ(verify(problem, none).front().rule, "status");
}

/// A fixed policy's plan may be given together with the proof that nothing fits.
TEST_F(VerifyTest, APlanOverAnInfeasibleBudget) {
  problem.budget = 35;
  plan.status = Status::Infeasible;
  EXPECT_TRUE(broken().empty());
}

TEST_F(VerifyTest, UnknownAndYetItFits) {
  plan.status = Status::Unknown;
  expectOnly(-1, "status");
}

TEST_F(VerifyTest, NegativeBounds) {
  plan.costLowerBound = -1;
  expectOnly(-1, "bound");
  plan.costLowerBound = 0;
  plan.peakLowerBound = -1;
  expectOnly(-1, "bound");
}

TEST_F(VerifyTest, Seconds) {
  plan.seconds = -0.5;
  expectOnly(-1, "seconds");
  plan.seconds = std::numeric_limits<double>::quiet_NaN();
  expectOnly(-1, "seconds");
  plan.seconds = std::numeric_limits<double>::infinity();
  expectOnly(-1, "seconds");
}

TEST_F(VerifyTest, AWitnessBesideAPlanThatFits) {
  plan.witness.emplace();
  expectOnly(-1, "witness");
}

/// No steps, a budget of 35, and a witness that proves 36: f holds x, y, its workspace and p.
class NoPlanTest : public VerifyTest {
protected:
  NoPlanTest() {
    problem.budget = 35;
    plan = Plan();
    plan.status = Status::Infeasible;
    plan.baseCost = plan.costLowerBound = 13;
    plan.peakLowerBound = 36;
    plan.witness = Witness{0, {P, X, Y}, 36, true, "f cannot run in less"};
  }
};

TEST_F(NoPlanTest, TheRightOneHolds) { EXPECT_TRUE(broken().empty()); }

/// 8 + 8 + 8 + 4 + 16 for the values and 4 for the workspace.
TEST_F(NoPlanTest, InfeasibleWhereAllFitsSideBySide) {
  plan.witness.reset();
  problem.budget = 47;
  EXPECT_TRUE(broken().empty());
  problem.budget = 48;
  expectOnly(-1, "status");
}

/// In program order g needs the most, as nothing counts as in place: x, y, z and p are 40 bytes.
TEST_F(NoPlanTest, PeakBoundAboveTheProgramOrder) {
  plan.peakLowerBound = 40;
  EXPECT_TRUE(broken().empty());
  plan.peakLowerBound = 41;
  expectOnly(-1, "bound");
}

/// What is kept is held to the end: y with x, z, w and p needs 44.
TEST_F(NoPlanTest, PeakBoundCountsWhatIsKept) {
  problem.keep.push_back(Y);
  plan.peakLowerBound = 44;
  EXPECT_TRUE(broken().empty());
  plan.peakLowerBound = 45;
  expectOnly(-1, "bound");
}

TEST_F(NoPlanTest, NumbersOfAPlanThatIsNotThere) {
  plan.peak = 1;
  expectOnly(-1, "peak");
  plan.peak = 0;
  plan.arena = 1;
  expectOnly(-1, "arena");
  plan.arena = 0;
  plan.cost = 1;
  expectOnly(-1, "cost");
  plan.cost = 0;
  plan.baseCost = 12;
  expectOnly(-1, "base-cost");
  plan.baseCost = 13;
  plan.costLowerBound = -1;
  expectOnly(-1, "bound");
}

TEST_F(NoPlanTest, PlacesOfAPlanThatIsNotThere) {
  plan.offsets = {{0, Y, 8}};
  expectOnly(-1, "no-such-instance");
  plan.offsets.clear();
  plan.workspaces = {{0, 16}};
  expectOnly(-1, "no-such-workspace");
}

TEST_F(NoPlanTest, WitnessOfAnUnknownOp) {
  plan.witness->op = 3;
  expectOnly(-1, "witness");
  plan.witness->op = -1;
  expectOnly(-1, "witness");
}

TEST_F(NoPlanTest, WitnessOfAnUnknownValue) {
  plan.witness->values = {5};
  expectOnly(-1, "witness");
}

TEST_F(NoPlanTest, WitnessNamesAValueTwice) {
  plan.witness->values = {P, X, X};
  expectOnly(-1, "witness");
}

TEST_F(NoPlanTest, WitnessNamesASmallerValueFirst) {
  plan.witness->values = {X, P};
  expectOnly(-1, "witness");
}

TEST_F(NoPlanTest, WitnessOfMoreBytesThanThereAre) {
  plan.witness->bytes = 48;
  EXPECT_TRUE(broken().empty());
  plan.witness->bytes = 49;
  expectOnly(-1, "witness");
  plan.witness->bytes = -1;
  expectAmong(-1, "witness");
}

TEST_F(NoPlanTest, InfeasibleWithoutAProof) {
  plan.witness->proved = false;
  expectOnly(-1, "witness");
  plan.status = Status::Unknown;
  EXPECT_TRUE(broken().empty());
}

TEST_F(NoPlanTest, AProofThatLeavesRoomForTheBudget) {
  plan.witness->bytes = 35;
  expectOnly(-1, "witness");
}

/// A repeat makes a new instance with an offset of its own, and frees the first before it.
TEST_F(VerifyTest, RepeatsMakeInstances) {
  plan.steps = {0, 0, 1, 2};
  plan.cost = 18;
  plan.offsets = {{-1, X, 0}, {0, Y, 8}, {1, Y, 8}, {2, Z, 8}, {3, W, 16}};
  plan.workspaces = {{0, 16}, {1, 16}};
  EXPECT_TRUE(broken().empty()) << testing::PrintToString(broken());
  plan.offsets.erase(plan.offsets.begin() + 2);
  expectAmong(1, "missing-offset");
}

/// An input without readers holds nothing, so it needs no offset.
TEST_F(VerifyTest, UnreadInputs) {
  problem.values.push_back({15, 1000, false, "unread"});
  EXPECT_TRUE(broken().empty());
}

TEST_F(VerifyTest, AProblemThatIsNoneIsSaidSo) {
  problem.ops[0].reads = {99};
  EXPECT_EQ(broken().front().second, "problem");
}

} // namespace
