//===- RoundTest.cpp - What runs again between certain first runs, by every play ---===//
//
// RoundProgram is compared with every way to play the rounds, and what CheckRounds proves with
// every schedule of small steps. Arguments that do not hold are refused.
// LLMMEM_ROUND_PROBLEMS=20000 compares as many.
//
//===----------------------------------------------------------------------===//

#include "Bounds/RoundBound.h"
#include "FromEnvironment.h"
#include "ProblemBuilder.h"
#include "ProofClaims.h"
#include "Proofs/RoundProgram.h"
#include "ScheduleOracle.h"
#include "TransformerProblem.h"
#include "llmmem/Planning/Planner.h"
#include <map>

using namespace llmmem::planning;
using proofs::Round;
using proofs::RoundProgram;

namespace {

/// Plays all rounds in every way: at the beginning of each, any of what ran or was held may be
/// held, and in it any steps run whose operands are there.
class EveryPlay {
public:
  EveryPlay(std::vector<int64_t> costs, std::vector<Round> rounds)
      : costs(std::move(costs)), rounds(std::move(rounds)) {}
  int64_t leastCost() { return from(0, fullMask(), targetMask()); }

private:
  int numSteps() const { return static_cast<int>(costs.size()); }
  unsigned fullMask() const { return (1u << costs.size()) - 1; }
  unsigned targetMask() const {
    unsigned mask = 0;
    for (const Round &round : rounds)
      mask |= 1u << (round.target - 1);
    return mask;
  }

  /// `steps` and `targets` may be held for the step after them, and as targets.
  int64_t from(size_t number, unsigned steps, unsigned targets) {
    if (number == rounds.size())
      return 0;
    auto [it, isNew] = known.try_emplace({number, steps, targets}, RoundProgram::impossible);
    if (!isNew)
      return it->second;
    int64_t least = RoundProgram::impossible;
    for (unsigned held = steps;; held = (held - 1) & steps) {
      for (unsigned kept = targets;; kept = (kept - 1) & targets) {
        least = std::min(least, holding(number, held, kept));
        if (kept == 0)
          break;
      }
      if (held == 0)
        break;
    }
    return known[{number, steps, targets}] = least;
  }

  int64_t holding(size_t number, unsigned held, unsigned kept) {
    const Round &round = rounds[number];
    int64_t units = __builtin_popcount(held);
    for (const Round &other : rounds)
      units += kept >> (other.target - 1) & 1 ? other.weight : 0;
    if (units > round.fitsAlone)
      return RoundProgram::impossible;
    const bool runsLast = units > round.fits && units == round.fitsAlone;
    const int64_t more = units > round.fits && !runsLast ? costs.back() : 0;
    int64_t least = RoundProgram::impossible;
    for (unsigned ran = 0; ran <= fullMask(); ++ran) {
      bool isPlay =
          ((ran | kept) >> (round.target - 1) & 1) && (!runsLast || (ran >> (numSteps() - 1) & 1));
      int64_t cost = more;
      for (int step = 0; step < numSteps() && isPlay; ++step)
        if (ran >> step & 1) {
          cost += costs[step];
          isPlay = step == 0 || ((ran | held | kept) >> (step - 1) & 1) ||
                   (runsLast && step == round.given);
        }
      if (isPlay)
        least = std::min(least, cost + from(number + 1, held | ran, (kept | ran) & targetMask()));
    }
    return least;
  }

  const std::vector<int64_t> costs;
  const std::vector<Round> rounds;
  std::map<std::tuple<size_t, unsigned, unsigned>, int64_t> known;
};

TEST(RoundTest, theProgramIsTheBestPlay) {
  const int32_t games = test::fromEnvironment("LLMMEM_ROUND_GAMES", 400);
  int64_t above = 0, possible = 0;
  for (int32_t seed = 0; seed < games; ++seed) {
    std::mt19937 random(seed);
    auto uniform = [&](int low, int high) {
      return low + static_cast<int>(random() % unsigned(high - low + 1));
    };
    const int numSteps = uniform(2, 4);
    std::vector<int64_t> costs;
    costs.reserve(numSteps);
    for (int step = 0; step < numSteps; ++step)
      costs.push_back(uniform(1, 6));
    std::vector<Round> rounds;
    for (int target = numSteps; target > 0; --target)
      if (uniform(0, 4)) {
        Round round{target, uniform(1, 3)};
        if (uniform(0, 3)) {
          round.fitsAlone = uniform(0, 3);
          round.fits = rounds.empty() || target == numSteps ? round.fitsAlone
                                                            : round.fitsAlone - uniform(0, 2);
          round.given = uniform(0, 2) ? 0 : std::min(numSteps - 1, target + uniform(0, 1));
        }
        rounds.push_back(round);
      }
    const int64_t truth = EveryPlay(costs, rounds).leastCost();
    const int64_t found = RoundProgram(costs, rounds).leastCost();
    ASSERT_LE(found, truth) << "seed " << seed;
    above += found < truth;
    possible += truth < RoundProgram::impossible;
  }
  EXPECT_GT(possible, games / 3);
  // The program may hold a target for the step after it at no unit more, and so may the play: both
  // are one game. So it is exact.
  EXPECT_EQ(above, 0);
}

/// A small step: a chain, half of the time with values that skip stages, tapes and unequal sizes,
/// and a backward that reads some of its values.
struct SmallStep {
  Problem problem;
  std::vector<OpIndex> forward, backward;
};

SmallStep makeSmallStep(uint32_t seed) {
  std::mt19937 random(seed);
  auto uniform = [&](int low, int high) {
    return low + static_cast<int>(random() % unsigned(high - low + 1));
  };
  test::ProblemBuilder build;
  SmallStep step;
  const bool isEven = uniform(0, 1), hasResidual = uniform(0, 1);
  auto makeValue = [&] { return build.value(isEven ? 2 : uniform(1, 3)); };
  std::vector<ValueIndex> states{isEven ? build.value(2, /*resident=*/true) : makeValue()};
  std::vector<ValueIndex> tapes{-1};
  auto add = [&](std::vector<ValueIndex> reads, std::vector<ValueIndex> writes) {
    build.op(std::move(reads), std::move(writes), uniform(0, 5));
    Op &op = build.problem.ops.back();
    op.workspace = isEven || uniform(0, 3) ? 0 : uniform(1, 3);
    for (ValueIndex write : op.writes)
      for (ValueIndex read : op.reads)
        if (uniform(0, 3) == 0)
          op.inPlace.push_back({write, read});
    return static_cast<OpIndex>(build.problem.ops.size()) - 1;
  };
  const int count = isEven ? uniform(3, 5) : uniform(2, 4);
  for (int stage = 1; stage <= count; ++stage) {
    std::vector<ValueIndex> reads{states.back()};
    if (!isEven && stage > 1 && uniform(0, 2) == 0)
      reads.push_back(states[stage - 2]);
    states.push_back(makeValue());
    tapes.push_back(isEven || uniform(0, 2) ? -1 : makeValue());
    std::vector<ValueIndex> writes{states.back()};
    if (tapes.back() >= 0)
      writes.push_back(tapes.back());
    step.forward.push_back(add(reads, writes));
  }
  ValueIndex gradient = makeValue(), skipped = -1;
  step.backward.push_back(add({states.back()}, {gradient}));
  for (int stage = count; stage > 0; --stage) {
    std::vector<ValueIndex> reads{gradient};
    if (tapes[stage] >= 0)
      reads.push_back(tapes[stage]);
    if (isEven || uniform(0, 1))
      reads.push_back(states[stage]);
    if (!isEven && uniform(0, 1))
      reads.push_back(states[stage - 1]);
    if (skipped >= 0 && (isEven ? hasResidual : uniform(0, 1)))
      reads.push_back(skipped);
    skipped = gradient;
    gradient = makeValue();
    step.backward.push_back(add(reads, {gradient}));
    if (uniform(0, 4) == 0)
      build.problem.ops.back().recompute = false;
  }
  build.problem.keep.push_back(gradient);
  build.problem.alignment = uniform(0, 3) ? 1 : 2;
  step.problem = std::move(build.problem);
  return step;
}

template <typename T>
std::vector<T> someOf(const std::vector<T> &all, uint32_t chosen) {
  std::vector<T> result;
  for (size_t index = 0; index < all.size(); ++index)
    if (chosen >> index & 1)
      result.push_back(all[index]);
  return result;
}

/// Returns a random argument of points and one or two chains of the step.
BoundBasis someRounds(const SmallStep &step, std::mt19937 &random) {
  BoundBasis basis{BoundBasis::Kind::Rounds, {}, {}, {}};
  while (basis.ops.empty())
    basis.ops = someOf(step.backward, random() | (random() & 1 ? ~0u : 0u));
  for (uint32_t chains = 1 + random() % 2; chains > 0; --chains) {
    std::vector<OpIndex> chain = someOf(step.forward, random() | random());
    if (chain.size() >= 2)
      basis.chains.push_back(std::move(chain));
  }
  return basis;
}

/// Returns the least cost by every schedule, of sizes as an arena counts them.
std::optional<int64_t> leastOfAllSchedules(Problem problem, int64_t budget) {
  // Rounded sizes must not let a result take the place of an operand that is smaller.
  for (Op &op : problem.ops)
    llvm::erase_if(op.inPlace, [&](const InPlace &pair) {
      return problem.values[pair.write].bytes > problem.values[pair.read].bytes;
    });
  int64_t padding = 0; // of the topmost buffer, which an arena need not hold
  auto roundUp = [&](int64_t &bytes) {
    const auto up = static_cast<int64_t>(llvm::alignTo(bytes, problem.alignment));
    padding = std::max(padding, up - bytes);
    bytes = up;
  };
  for (Value &value : problem.values)
    roundUp(value.bytes);
  for (Op &op : problem.ops)
    roundUp(op.workspace);
  int64_t refused = 0;
  return test::leastCost(problem, budget + padding, refused);
}

TEST(RoundTest, noScheduleOfASmallStepCostsLess) {
  const int32_t problems = test::fromEnvironment("LLMMEM_ROUND_PROBLEMS", 150);
  int64_t budgets = 0, proving = 0, several = 0, exact = 0;
  for (int32_t seed = 0; seed < problems; ++seed) {
    const SmallStep step = makeSmallStep(seed);
    ASSERT_FALSE(validateProblem(step.problem));
    const Graph graph(step.problem);
    std::mt19937 random(seed);
    for (int64_t budget = profile(graph, givenOrder(graph)).peak - 1;; --budget) {
      const std::optional<int64_t> truth = leastOfAllSchedules(step.problem, budget);
      if (!truth)
        break;
      int64_t best = 0;
      for (int number = 0; number < 12; ++number) {
        const BoundBasis basis = someRounds(step, random);
        const std::optional<int64_t> proved =
            costOfRounds(step.problem, roundArgument(graph, basis), budget);
        ASSERT_TRUE(proved);
        ASSERT_LE(graph.baseCost() + *proved, *truth) << "seed " << seed << " budget " << budget;
        int64_t once = 0;
        for (OpIndex op : step.forward)
          once += graph.cost(op);
        several += *proved > once;
        best = std::max(best, *proved);
      }
      ++budgets;
      proving += best > 0;
      exact += best > 0 && graph.baseCost() + best == *truth;
    }
  }
  EXPECT_GT(proving, budgets / 10);
  EXPECT_GT(several, 0) << "no bound has an op run again twice";
  EXPECT_GT(exact, 0);
}

/// Returns a random argument of any problem: a way of ops, each an ancestor of the next, of which
/// the first ones are the chain. No chain where there is none.
RoundArgument someWay(const Problem &problem, const Graph &graph, std::mt19937 &random) {
  std::vector<OpIndex> way;
  std::vector<bool> after(graph.numOps(), true);
  const uint32_t density = 1 + random() % 4;
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    if (after[op] && random() % density != 1) {
      way.push_back(op);
      after.assign(graph.numOps(), false);
      markDescendants(graph, op, after);
    }
  RoundArgument argument;
  if (way.size() < 3)
    return argument;
  const size_t split = 2 + random() % (way.size() - 2);
  RoundChain chain;
  for (OpIndex op : llvm::ArrayRef(way).take_front(split))
    if (problem.ops[op].recompute)
      chain.ops.push_back({op, problem.ops[op].cost});
  if (chain.ops.size() == split) {
    argument.programPoints.assign(way.begin() + static_cast<ptrdiff_t>(split), way.end());
    argument.chains.push_back(std::move(chain));
  }
  return argument;
}

/// Any problem has rounds: with ops that hold what a chain needs while they run, in place, with
/// workspaces, values of no bytes, resident ones, several results, and ops that run once.
TEST(RoundTest, noScheduleOfARandomProblemCostsLess) {
  const int32_t problems = test::fromEnvironment("LLMMEM_ROUND_PROBLEMS", 300);
  int64_t proving = 0, exact = 0;
  for (int32_t seed = 1000; seed < 1000 + problems; ++seed) {
    Problem problem = test::makeRandom(seed, 9);
    problem.alignment = seed % 4 ? 1 : 2;
    ASSERT_FALSE(validateProblem(problem));
    const Graph graph(problem);
    std::mt19937 random(seed);
    std::vector<RoundArgument> arguments;
    for (int number = 0; number < 40; ++number)
      if (RoundArgument it = someWay(problem, graph, random); !it.chains.empty())
        arguments.push_back(std::move(it));
    const int64_t most = profile(graph, givenOrder(graph)).peak;
    for (int64_t budget = std::max<int64_t>(0, most - 40); budget < most; ++budget) {
      int64_t best = 0;
      for (const RoundArgument &it : arguments)
        best = std::max(best, costOfRounds(problem, it, budget).value_or(0));
      if (best == 0)
        continue;
      const std::optional<int64_t> truth = leastOfAllSchedules(problem, budget);
      if (!truth)
        continue;
      ASSERT_LE(graph.baseCost() + best, *truth) << "seed " << seed << " budget " << budget;
      ++proving;
      exact += graph.baseCost() + best == *truth;
    }
  }
  EXPECT_GT(proving, problems / 20);
  EXPECT_GT(exact, proving / 2);
}

/// Three ops of a chain cost 1, 5 and 1. The op of the second point holds the result of the middle
/// one, and one byte more fits: that of the first op, which is needed later. The gradient does not
/// fit, nor does what it is computed from. So the last op runs again, but not the one in the
/// middle.
TEST(RoundTest, chargesNoRunOfWhatAProgramPointHolds) {
  test::ProblemBuilder build;
  const ValueIndex input = build.value(1, /*resident=*/true), low = build.value(1),
                   middle = build.value(1), high = build.value(2), gradient = build.value(2),
                   begun = build.value(0), seen = build.value(0), result = build.value(1);
  build.op({input}, {low}, 1);
  build.op({low}, {middle}, 5);
  build.op({middle}, {high}, 1);
  build.op({high}, {gradient, begun}, 0);
  build.op({begun, middle}, {seen}, 0);
  build.problem.ops.back().workspace = 4;
  build.op({gradient, low, seen}, {result}, 0);
  build.problem.keep.push_back(result);
  const Graph graph(build.problem);
  const BoundBasis basis{BoundBasis::Kind::Rounds, {3, 4, 5}, {}, {{0, 1, 2}}};
  const int64_t budget = 7; // the workspace, the input, and two results of the chain
  EXPECT_EQ(leastOfAllSchedules(build.problem, budget), graph.baseCost() + 1);
  EXPECT_EQ(costOfRounds(build.problem, roundArgument(graph, basis), budget), 1);
}

/// Six equal stages of one byte, of which none may be held in addition to what a segment needs.
TEST(RoundTest, refusesWhatDoesNotHold) {
  test::ProblemBuilder build;
  std::vector<ValueIndex> states{build.value(1)};
  std::vector<OpIndex> forward, backward;
  auto last = [&] { return static_cast<OpIndex>(build.problem.ops.size()) - 1; };
  for (int stage = 0; stage < 6; ++stage) {
    states.push_back(build.value(1));
    build.op({states[stage]}, {states.back()}, 1);
    forward.push_back(last());
  }
  ValueIndex gradient = build.value(1);
  build.op({states.back()}, {gradient}, 1);
  backward.push_back(last());
  for (int stage = 6; stage > 0; --stage) {
    const ValueIndex next = build.value(1);
    build.op({gradient, states[stage]}, {next}, 1);
    gradient = next;
    backward.push_back(last());
  }
  build.problem.keep.push_back(gradient);
  build.problem.budget = 3;
  const Problem &problem = build.problem;
  const Graph graph(problem);
  const BoundBasis good{BoundBasis::Kind::Rounds, backward, {}, {forward}};
  const int64_t proved = *costOfRounds(problem, roundArgument(graph, good), 3);
  EXPECT_EQ(proved, 5 + 4 + 3 + 2 + 1); // nothing fits next to a segment
  auto verdict = [&](int64_t extra, const RoundArgument &argument) {
    const Plan plan = test::claimCost(problem, good, extra);
    Proof proof = prove(problem, plan);
    proof.cost->rounds = argument;
    return std::string(wordOf(test::checkOf("cost", problem, plan, proof).verdict));
  };
  const RoundArgument argument = roundArgument(graph, good);
  EXPECT_EQ(verdict(proved, argument), "checked");
  EXPECT_EQ(verdict(proved + 1, argument), "refused");
  Proof proof;
  proof.cost.emplace().kind = Argument::Kind::Rounds;
  proof.cost->rounds = argument;
  const llmmem::Result<Proof> read = parseProof(problem, toJson(problem, proof));
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(verdict(proved, read->cost->rounds), "checked");
  auto refusedAfter = [&](auto change) {
    RoundArgument wrong = argument;
    change(wrong);
    EXPECT_EQ(verdict(1, wrong), "refused");
  };
  refusedAfter([](RoundArgument &it) { it.chains[0].ops[2].amount += 1; });
  refusedAfter([](RoundArgument &it) { it.chains[0].ops[2].amount = -1; });
  refusedAfter([](RoundArgument &it) { it.chains.push_back(it.chains[0]); });
  refusedAfter([](RoundArgument &it) { std::swap(it.chains[0].ops[1], it.chains[0].ops[2]); });
  refusedAfter([](RoundArgument &it) { it.chains[0].ops[1] = it.chains[0].ops[2]; });
  refusedAfter([](RoundArgument &it) { it.chains[0].ops.resize(1); });
  refusedAfter([](RoundArgument &it) { it.chains[0].ops.back().op = it.programPoints[2]; });
  refusedAfter([](RoundArgument &it) { it.chains[0].ops[0].op = 1000; });
  refusedAfter([](RoundArgument &it) { std::swap(it.programPoints[1], it.programPoints[2]); });
  refusedAfter([](RoundArgument &it) { it.programPoints[1] = it.programPoints[0]; });
  refusedAfter([](RoundArgument &it) { it.programPoints.clear(); });
  refusedAfter([&](RoundArgument &it) { it.programPoints[0] = it.chains[0].ops[3].op; });
  Problem once = problem;
  once.ops[forward[2]].recompute = false;
  EXPECT_FALSE(costOfRounds(once, argument, 3));
}

/// Sums that may not fit in 64 bits, and tables that are too large, are not followed.
TEST(RoundTest, followsNoRoundsThatAreTooLarge) {
  auto provedOf = [](int64_t cost, int stages) {
    test::ProblemBuilder build;
    std::vector<ValueIndex> states{build.value(1)};
    RoundArgument argument{{stages, stages + 1}, {{}}};
    for (int stage = 0; stage < stages; ++stage) {
      states.push_back(build.value(1));
      build.op({states[stage]}, {states.back()}, cost);
      argument.chains[0].ops.push_back({stage, cost});
    }
    const ValueIndex begun = build.value(1), result = build.value(1);
    build.op({states.back()}, {begun}, 0);
    build.op({begun, states[1]}, {result}, 0);
    build.problem.keep.push_back(result);
    return costOfRounds(build.problem, argument, /*budget=*/10000);
  };
  EXPECT_EQ(provedOf(1, 3), 0);
  EXPECT_EQ(provedOf(INT64_MAX / 8, 3), std::nullopt);
  EXPECT_EQ(provedOf(1, 6000), std::nullopt);
}

/// Below the inputs of its blocks a step of transformers runs them again several times, and that is
/// proved.
TEST(RoundTest, provesSeveralRoundsOfATransformer) {
  Problem problem = test::makeTransformer(
      {.blocks = 12, .tokens = 2048, .fusedAttention = false, .transientGradients = true});
  auto planWith = [&](PolicyKind kind) {
    PlanOptions options;
    options.policy.kind = kind;
    return plan(problem, options);
  };
  const int64_t full = planWith(PolicyKind::Full).peak, none = planWith(PolicyKind::None).peak;
  problem.budget = full - (none - full) / 20;
  const Plan made = planWith(PolicyKind::Budget);
  EXPECT_EQ(made.costBasis.kind, BoundBasis::Kind::Rounds) << made.bound;
  EXPECT_EQ(wordOf(test::checkOf("cost", problem, made).verdict), "checked");
}

} // namespace
