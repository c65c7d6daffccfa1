//===- ProofMutationTest.cpp - False proofs, well-formed, are refused -------------===//
//
// Twelve ways to make a proof of a cost false, and eight for one of bytes; ten proofs of each.
// Every one passes the reader of proofs.
//
//===----------------------------------------------------------------------===//

#include "Bounds/JointBound.h"
#include "Bounds/LastRunCut.h"
#include "Bounds/OpenCut.h"
#include "ProblemBuilder.h"
#include "ProofClaims.h"
#include "ScheduleOracle.h"
#include "TransformerProblem.h"
#include "llmmem/Planning/Bounds/Bounds.h"
#include "llmmem/Planning/Planner.h"
#include <random>

using namespace llmmem::planning;
using test::checkOf;
using test::claimCost;

namespace {

using Kind = BoundBasis::Kind;
using Random = std::mt19937;

struct Claim {
  Problem problem;
  Plan plan;
  Proof proof;
};

Problem trainingStep() {
  Problem problem = test::makeTransformer({.blocks = 3, .tokens = 512, .hidden = 256});
  PlanOptions options;
  options.policy.kind = PolicyKind::Full;
  const int64_t full = plan(problem, options).peak;
  options.policy.kind = PolicyKind::None;
  problem.budget = full + (plan(problem, options).peak - full) / 4;
  return problem;
}

Claim claim(const Problem &problem, BoundBasis basis, int64_t extra) {
  Claim it{problem, claimCost(problem, std::move(basis), extra), {}};
  it.proof = prove(it.problem, it.plan);
  return it;
}

/// The best cut of a training step, two program points of the step together, and two orders.
void addCuts(std::vector<Claim> &claims) {
  const Problem problem = trainingStep();
  const Graph graph(problem);
  const int64_t budget = *problem.budget;
  std::vector<std::tuple<int64_t, OpIndex, int64_t>> ranked; // minus what is proved, op, price
  for (OpIndex op = 0; op < graph.numOps(); ++op) {
    CutRelaxation cut(graph, op);
    if (std::optional<int64_t> proved = cut.costLowerBound(budget); proved && *proved > 0)
      ranked.push_back({-*proved, op, cut.bestPrice()});
  }
  ASSERT_GT(ranked.size(), 4U);
  llvm::sort(ranked);
  for (size_t index : {0, 2}) {
    auto [minus, op, price] = ranked[index];
    claims.push_back(claim(problem, {Kind::OneCut, {op}, {}}, -minus));
  }
  auto [minus, op, price] = ranked[0];
  int added = 0;
  for (auto [less, other, otherPrice] : ranked) {
    std::vector<bool> after(graph.numOps(), false);
    markDescendants(graph, op, after);
    llvm::SmallVector<int64_t, 4> prices{price / 2, otherPrice / 2};
    if (!after[other] || added == 2)
      continue;
    const int64_t proved = JointBound(graph, {op, other}, budget).at(prices);
    if (proved <= 0)
      continue;
    claims.push_back(
        claim(problem, {Kind::Together, {op, other}, {prices.begin(), prices.end()}}, proved));
    ++added;
  }
  ASSERT_GT(added, 0);
}

/// Two saved values of which one fits, with two ops that may come in either order.
void addOrders(std::vector<Claim> &claims) {
  for (int64_t bytes : {8, 12}) {
    test::ProblemBuilder builder;
    const ValueIndex a = builder.value(bytes), b = builder.value(bytes), x = builder.value(0),
                     y = builder.value(0), end = builder.value(0);
    builder.op({}, {a}, 20);
    builder.op({}, {b}, 30);
    builder.op({a, b}, {x}, 1);
    builder.op({x}, {y}, 1);
    builder.op({x}, {end}, 1);
    builder.op({y, end, a, b}, {}, 1);
    for (OpIndex programPoint : {3, 4})
      builder.problem.ops[programPoint].workspace = 20;
    builder.op({y, end, a}, {}, 1);
    builder.problem.budget = 20 + bytes;
    const Graph graph(builder.problem);
    const int64_t first = *CutRelaxation(graph, 3, 4).costLowerBound(20 + bytes),
                  second = *CutRelaxation(graph, 4, 3).costLowerBound(20 + bytes);
    ASSERT_GT(std::min(first, second), 0);
    claims.push_back(
        claim(builder.problem, {Kind::TwoOrders, {3, 4}, {}}, std::min(first, second)));
  }
}

void addOpenCuts(std::vector<Claim> &claims) {
  int added = 0;
  for (uint32_t seed = 0; added < 3; ++seed) {
    ASSERT_LT(seed, 1000U);
    Problem problem = test::makeRandom(seed, 12);
    const Graph graph(problem);
    const int64_t budget = profile(graph, givenOrder(graph)).peak * 3 / 4;
    problem.budget = budget;
    for (OpIndex op = 0; op < graph.numOps(); ++op)
      if (std::optional<int64_t> proved = OpenCut(graph, op).costLowerBound(budget);
          proved && *proved > 0) {
        claims.push_back(claim(problem, {Kind::OpenCut, {op}, {}}, *proved));
        ++added;
        break;
      }
  }
}

/// Takes any element of any list of flows that has some.
template <typename List>
auto *pick(std::initializer_list<List *> lists, Random &random) {
  std::vector<typename List::value_type *> all;
  for (List *list : lists)
    for (auto &flow : *list)
      all.push_back(&flow);
  return all.empty() ? nullptr : all[random() % all.size()];
}

ProgramPointFlow *anyMoment(Claim &it, Random &random) {
  if (it.proof.cost->cuts.empty())
    return nullptr;
  CutFlow &cut = it.proof.cost->cuts[random() % it.proof.cost->cuts.size()];
  return &cut.programPoints[random() % cut.programPoints.size()];
}

struct Falsehood {
  const char *name;
  const char *reason; // part of the refusal
  bool (*apply)(Claim &it, Random &random);
};

const Falsehood falsehoods[] = {
    {"more flows in than on", "does not flow on",
     [](Claim &it, Random &random) {
       if (ProgramPointFlow *programPoint = anyMoment(it, random)) {
         ValueFlow *flow = pick({&programPoint->needed}, random);
         return flow && ++flow->amount;
       }
       OpFlow *flow = pick({&it.proof.cost->openCut.descendants}, random);
       return flow && ++flow->amount;
     }},
    {"more flows through a value than its bytes cost", "than its bytes cost",
     [](Claim &it, Random &random) {
       ProgramPointFlow *programPoint = anyMoment(it, random);
       ValueFlow *flow =
           pick({programPoint ? &programPoint->held : &it.proof.cost->openCut.held}, random);
       return flow && (flow->amount = int64_t(1) << 62);
     }},
    {"more flows through a repeat than it costs", "than it costs",
     [](Claim &it, Random &random) {
       ProgramPointFlow *programPoint = anyMoment(it, random);
       OpFlow *flow = pick(
           {programPoint ? &programPoint->repeated : &it.proof.cost->openCut.repeated}, random);
       return flow && it.problem.ops[flow->op].recompute && (flow->amount = int64_t(1) << 62);
     }},
    {"a scale that makes repeats dearer", "",
     [](Claim &it, Random &) {
       for (CutFlow &cut : it.proof.cost->cuts)
         cut.scale /= 2;
       it.proof.cost->openCut.scale /= 2;
       return true;
     }},
    {"a price that nothing flows for", "stated is",
     [](Claim &it, Random &random) {
       ProgramPointFlow *programPoint = anyMoment(it, random);
       int64_t &price = programPoint ? programPoint->price : it.proof.cost->openCut.price;
       price += price / 2;
       return price > 0;
     }},
    {"a value that nothing needs", "",
     [](Claim &it, Random &random) {
       ProgramPointFlow *programPoint = anyMoment(it, random);
       if (!programPoint || programPoint->needed.empty())
         return false;
       ValueFlow &flow = *pick({&programPoint->needed}, random);
       const ValueIndex before = flow.value;
       flow.value = it.problem.ops[programPoint->op].reads.front();
       return flow.value != before;
     }},
    {"an operand that no op reads", "does not",
     [](Claim &it, Random &random) {
       ProgramPointFlow *programPoint = anyMoment(it, random);
       ReadFlow *flow =
           pick({programPoint ? &programPoint->reads : &it.proof.cost->openCut.reads}, random);
       if (!flow)
         return false;
       for (ValueIndex value = 0; value < ValueIndex(it.problem.values.size()); ++value)
         if (!llvm::is_contained(it.problem.ops[flow->op].reads, value)) {
           flow->value = value;
           return true;
         }
       return false;
     }},
    {"another program point", "",
     [](Claim &it, Random &random) {
       ProgramPointFlow *programPoint = anyMoment(it, random);
       OpIndex &op = programPoint ? programPoint->op : it.proof.cost->openCut.op;
       const OpIndex before = op;
       op = OpIndex(random() % 2); // the first ops: nothing is saved there yet
       return op != before;
     }},
    {"program points in an order that need not be, or one order of two", "",
     [](Claim &it, Random &random) {
       std::vector<CutFlow> &cuts = it.proof.cost->cuts;
       if (cuts.size() == 2) {
         random() % 2 ? cuts.pop_back() : void(cuts[1] = cuts[0]);
         return true;
       }
       if (cuts.empty() || cuts[0].programPoints.size() < 2)
         return false;
       std::swap(cuts[0].programPoints[0], cuts[0].programPoints[1]);
       return true;
     }},
    {"an op that the problem lacks", "",
     [](Claim &it, Random &random) {
       ProgramPointFlow *programPoint = anyMoment(it, random);
       OpFlow *flow = pick(
           {programPoint ? &programPoint->repeated : &it.proof.cost->openCut.repeated}, random);
       return flow && (flow->op = OpIndex(it.problem.ops.size()));
     }},
    {"the proof of another budget", "the proof is of a budget",
     [](Claim &it, Random &random) {
       *it.proof.budget += 1 + random() % 100;
       return true;
     }},
    {"a larger claim", "stated is",
     [](Claim &it, Random &random) {
       it.plan.costLowerBound += 1 + random() % 3;
       return true;
     }},
};

/// Ten proofs of each kind of falsehood, one claim after the other.
void expectEachRefused(const std::vector<Claim> &claims, llvm::ArrayRef<Falsehood> kinds,
                       std::string_view claim) {
  for (const Claim &it : claims) {
    const ClaimCheck check = checkOf(claim, it.problem, it.plan, it.proof);
    EXPECT_EQ(wordOf(check.verdict), "checked") << check.message;
  }
  constexpr int ofEachKind = 10;
  for (const Falsehood &falsehood : kinds) {
    int made = 0;
    for (uint32_t seed = 0; made < ofEachKind && seed < 1000; ++seed) {
      Random random(seed);
      Claim it = claims[seed % claims.size()];
      if (!falsehood.apply(it, random))
        continue;
      // What the problem lacks prints as null: here some id that it does not have.
      std::string text = toJson(it.problem, it.proof);
      for (size_t at = 0; (at = text.find("null", at)) != std::string::npos;)
        text.replace(at, 4, "999999");
      llmmem::Result<Proof> read = parseProof(it.problem, text);
      ASSERT_TRUE(read) << read.error();
      const ClaimCheck check = checkOf(claim, it.problem, it.plan, *read);
      EXPECT_EQ(wordOf(check.verdict), "refused")
          << falsehood.name << ", claim " << seed % claims.size() << ": " << check.message;
      EXPECT_NE(check.message.find(falsehood.reason), std::string::npos)
          << falsehood.name << ": " << check.message;
      ++made;
    }
    EXPECT_EQ(made, ofEachKind) << falsehood.name;
  }
}

TEST(ProofMutationTest, falseFlowsAreRefused) {
  std::vector<Claim> claims;
  addCuts(claims);
  addOrders(claims);
  addOpenCuts(claims);
  expectEachRefused(claims, falsehoods, "cost");
}

/// A small step whose least footprint is known: what is claimed beyond it is refused.
TEST(ProofMutationTest, falseFootprintsAreRefused) {
  int refusedFootprints = 0, refusedOps = 0;
  for (uint32_t seed = 0; seed < 80; ++seed) {
    Problem problem = test::makeRandom(seed, 4);
    PlanOptions options;
    options.policy.kind = PolicyKind::LeastPeak;
    const Plan least = plan(problem, options);
    const int64_t footprint = problem.residentBytes() + least.arena;
    if (least.arena < 2 || footprint <= problem.residentBytes() + 1)
      continue;
    problem.budget = footprint;
    Plan none;
    none.status = Status::Infeasible;
    none.witness = Witness{std::nullopt, {}, footprint + 1, true, ""};
    Proof proof = prove(problem, none);
    for (Argument::Kind kind : {Argument::Kind::EverySchedule, Argument::Kind::EveryPlacement,
                                Argument::Kind::Resident}) {
      proof.infeasible.emplace().kind = kind;
      const ClaimCheck check = checkOf("infeasible", problem, none, proof);
      EXPECT_EQ(wordOf(check.verdict), "refused") << check.message;
      ++refusedFootprints;
    }
    proof.infeasible.emplace().kind = Argument::Kind::OneOp;
    proof.infeasible->op = 0;
    const ClaimCheck check = checkOf("infeasible", problem, none, proof);
    EXPECT_EQ(wordOf(check.verdict), "refused") << check.message;
    ++refusedOps;
  }
  EXPECT_GT(refusedFootprints, 100);
  EXPECT_GT(refusedOps, 30);
}

/// Footprints at the last run of a set, of problems that keep what nobody reads.
std::vector<Claim> lastRunClaims() {
  std::vector<Claim> claims;
  for (uint32_t seed = 0; claims.size() < 12 && seed < 1000; ++seed) {
    Claim it{test::makeRandom(seed, 10), {}, {}};
    std::vector<bool> isRead(it.problem.values.size(), false);
    for (const Op &op : it.problem.ops)
      for (ValueIndex value : op.reads)
        isRead[value] = true;
    for (const Op &op : it.problem.ops)
      for (ValueIndex value : op.writes)
        if (!isRead[value] && !llvm::is_contained(it.problem.keep, value))
          it.problem.keep.push_back(value);
    std::vector<OpIndex> set;
    for (OpIndex op = 0; op < OpIndex(it.problem.ops.size()); op += 2)
      set.push_back(op);
    const Graph graph(it.problem);
    const int64_t proved = footprintAtLastRun(graph, set);
    if (proved <= peakLowerBound(graph).bytes)
      continue;
    it.problem.budget = proved - 1;
    it.plan.status = Status::Infeasible;
    it.plan.infeasibilityBasis = {Kind::LastRuns, set, {}};
    it.plan.witness = Witness{std::nullopt, {}, proved, true, ""};
    it.proof = prove(it.problem, it.plan);
    claims.push_back(std::move(it));
  }
  return claims;
}

LastRunFlow *anyFlow(Claim &it, Random &random) {
  std::vector<LastRunFlow> &flows = it.proof.infeasible->lastRuns.flows;
  return &flows[random() % flows.size()];
}

const Falsehood falseLastRuns[] = {
    {"more is kept than flows on", "does not flow on",
     [](Claim &it, Random &random) {
       ValueFlow *flow = pick({&anyFlow(it, random)->kept}, random);
       return flow && ++flow->amount;
     }},
    {"more flows through a value than it has bytes", "than it has bytes",
     [](Claim &it, Random &random) {
       ValueFlow *flow = pick({&anyFlow(it, random)->held}, random);
       return flow && (flow->amount = int64_t(1) << 62);
     }},
    {"a value that is not kept", "need not be held at the end",
     [](Claim &it, Random &random) {
       ValueFlow *flow = pick({&anyFlow(it, random)->kept}, random);
       for (ValueIndex value = 0; flow && value < ValueIndex(it.problem.values.size()); ++value)
         if (!llvm::is_contained(it.problem.keep, value)) {
           flow->value = value;
           return true;
         }
       return false;
     }},
    {"an op that may be the last is left out", "which may be the last",
     [](Claim &it, Random &random) {
       // One that may run again may always be the last.
       std::vector<OpIndex> &ops = anyFlow(it, random)->ops;
       const size_t before = ops.size();
       llvm::erase_if(ops, [&](OpIndex op) { return it.problem.ops[op].recompute; });
       return ops.size() < before;
     }},
    {"a flow of an op outside of the set", "outside of the set",
     [](Claim &it, Random &random) {
       anyFlow(it, random)->ops.push_back(1);
       return true;
     }},
    {"an op of the set runs after the program point", "does not need",
     [](Claim &it, Random &random) {
       for (OpIndex op : it.proof.infeasible->lastRuns.set)
         for (ValueIndex value : it.problem.ops[op].reads)
           if (!it.problem.values[value].resident) {
             anyFlow(it, random)->reads.push_back({op, value, 1});
             return true;
           }
       return false;
     }},
    {"an empty set", "the set is empty",
     [](Claim &it, Random &) {
       it.proof.infeasible->lastRuns = {};
       return true;
     }},
    {"a larger claim", "",
     [](Claim &it, Random &random) {
       it.plan.witness->bytes += 1 + random() % 3;
       return true;
     }},
};

TEST(ProofMutationTest, falseLastRunsAreRefused) {
  const std::vector<Claim> claims = lastRunClaims();
  ASSERT_EQ(claims.size(), 12U);
  expectEachRefused(claims, falseLastRuns, "infeasible");
}

} // namespace
