//===- DecisionsTest.cpp - What the forward leaves for the backward --------===//

#include "llmmem/Planning/Model/Decisions.h"
#include "ProblemBuilder.h"
#include "llmmem/Planning/Offload/OffloadProblem.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

using namespace llmmem::planning;

namespace {

/// x -> f0 -> a -> f1 -> b, then a backward op that writes c from a, and a last op that reads c and
/// b.
struct Saving {
  test::ProblemBuilder builder;
  ValueIndex x = builder.value(8, /*resident=*/true), a = builder.value(8), b = builder.value(8),
             c = builder.value(8), d = builder.value(8);

  explicit Saving(Phase lastReader) {
    builder.op({x}, {a}, 1);
    builder.op({a}, {b}, 1);
    builder.op({a, x}, {c}, 1);
    builder.op({c, b}, {d}, 1);
    Phase phases[] = {Phase::Forward, Phase::Forward, Phase::Backward, lastReader};
    for (auto [op, phase] : llvm::zip(builder.problem.ops, phases))
      op.phase = phase;
  }

  bool isSaved(ValueIndex value) const {
    return llmmem::planning::isSaved(Graph(builder.problem), value,
                                     [&](OpIndex op) { return builder.problem.ops[op].phase; });
  }
};

TEST(DecisionsTest, backwardReadsWhatTheForwardWrote) {
  Saving saving(Phase::Forward);
  EXPECT_TRUE(saving.isSaved(saving.a));
  EXPECT_FALSE(saving.isSaved(saving.b)); // read by the forward alone
  EXPECT_FALSE(saving.isSaved(saving.c)); // written by the backward
  EXPECT_FALSE(saving.isSaved(saving.x)); // written by nobody
}

TEST(DecisionsTest, updateReadsCountToo) {
  Saving saving(Phase::Update);
  EXPECT_TRUE(saving.isSaved(saving.b));
}

TEST(DecisionsTest, opsWithoutPhaseSaveNothing) {
  Saving saving(Phase::None);
  EXPECT_FALSE(saving.isSaved(saving.b));
}

TEST(DecisionsTest, aLaterRunThatIsReadMakesItRecomputed) {
  Saving saving(Phase::Update);
  Graph graph(saving.builder.problem);
  std::vector<Decision> once = findDecisions(graph, {0, 1, 2, 3});
  EXPECT_EQ(once[saving.a], Decision::Keep);
  EXPECT_EQ(once[saving.c], Decision::Unsaved);
  std::vector<Decision> again = findDecisions(graph, {0, 1, 0, 2, 3});
  EXPECT_EQ(again[saving.a], Decision::Recompute);
  EXPECT_EQ(again[saving.b], Decision::Keep);
  // A run after the last reader decides nothing.
  EXPECT_EQ(findDecisions(graph, {0, 1, 2, 3, 0})[saving.a], Decision::Keep);
}

TEST(DecisionsTest, whatACopyBroughtBackIsOffloaded) {
  Saving saving(Phase::Update);
  llmmem::Result<Problem> copied = withHostCopies(saving.builder.problem, 8, {1, 1});
  ASSERT_TRUE(copied) << copied.error();
  // Only b has another op between two uses: ops 4 and 5 are its copies.
  ASSERT_EQ(copied->ops.size(), 6u);
  ASSERT_EQ(copied->ops[4].reads, std::vector<ValueIndex>{saving.b});
  Graph graph(*copied);
  EXPECT_EQ(findDecisions(graph, {0, 1, 4, 2, 5, 3})[saving.b], Decision::Offload);
  // A copy of a later run is of a later run, and so is a run after the copy.
  EXPECT_EQ(findDecisions(graph, {0, 1, 1, 4, 2, 5, 3})[saving.b], Decision::Recompute);
  EXPECT_EQ(findDecisions(graph, {0, 1, 4, 2, 5, 1, 3})[saving.b], Decision::Recompute);
  // One that only leaves is kept.
  EXPECT_EQ(findDecisions(graph, {0, 1, 4, 2, 3})[saving.b], Decision::Keep);
}

} // namespace
