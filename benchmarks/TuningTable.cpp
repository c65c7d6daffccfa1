//===- TuningTable.cpp - What a setting of the planner's constants finds -------------===//

#include "TuningTable.h"
#include "Planning/LayeredProblem.h"
#include "Planning/ProblemBuilder.h"
#include "Planning/RandomProblem.h"
#include "Planning/ScheduleOracle.h"
#include "Planning/ShuffledProblem.h"
#include "Planning/StageProblem.h"
#include "llmmem/Planning/Model/Schedule.h"
#include "llmmem/Planning/Model/Verify.h"
#include "llmmem/Planning/Planner.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace llmmem::planning;
using llvm::format;
using llvm::outs;

namespace {

/// The plans of one group of problems.
struct Group {
  double workSeconds = 10;
  int plans = 0, found = 0, optimal = 0, infeasible = 0;
  double recomputed = 0;   // percent of the step, of plans under a budget
  double leastMemory = 0;  // percent of the program order's peak, of plans of the least memory
  int64_t searches = 0;    // that were begun
  int64_t placedSteps = 0; // whose offsets were looked for

  Plan add(const Problem &problem, PolicyKind kind) {
    PlanOptions options;
    options.policy.kind = kind;
    options.workSeconds = workSeconds;
    options.progress = [&](std::string_view activity) { count(activity); };
    Plan made = plan(problem, options);
    ++plans;
    infeasible += made.status == Status::Infeasible;
    if (made.status != Status::Feasible)
      return made;
    if (!verify(problem, made).empty()) {
      llvm::errs() << "error: a plan does not hold\n";
      std::exit(1);
    }
    ++found;
    optimal += made.cost == made.costLowerBound;
    return made;
  }

  void addUnder(Problem problem, int64_t budget) {
    problem.budget = budget;
    const Plan made = add(problem, PolicyKind::Budget);
    if (made.status == Status::Feasible)
      recomputed +=
          100.0 * double(made.cost - made.baseCost) / double(std::max<int64_t>(made.baseCost, 1));
  }

  void addOrder(const Problem &problem) {
    leastMemory +=
        100.0 * double(add(problem, PolicyKind::Budget).arena) /
        double(std::max<int64_t>(profile(Graph(problem), givenOrder(Graph(problem))).peak, 1));
  }

  void addLeast(Problem problem, int64_t peak) {
    problem.budget.reset();
    const Plan made = add(problem, PolicyKind::LeastPeak);
    leastMemory +=
        100.0 * double(problem.residentBytes() + made.arena) / double(std::max<int64_t>(peak, 1));
  }

  void print(const char *name) const {
    outs() << format("%-12s %6d %6d %8d %11d %12.4f %12.4f %9lld %12lld\n", name, plans, found,
                     optimal, infeasible, recomputed, leastMemory, (long long)searches,
                     (long long)placedSteps);
    outs().flush();
  }

private:
  void count(llvm::StringRef activity) {
    ++searches;
    int64_t steps = 0;
    if (activity.consume_front("offsets for ") && !activity.consumeInteger(10, steps))
      placedSteps += steps;
  }
};

int64_t peakOf(const Problem &problem) {
  const Graph graph(problem);
  return profile(graph, givenOrder(graph)).peak;
}

/// Under parts of the program order's peak, in thousandths, and the least memory.
void addAll(Group &group, const Problem &problem, llvm::ArrayRef<int64_t> thousandths) {
  const int64_t peak = peakOf(problem);
  for (int64_t part : thousandths)
    group.addUnder(problem, peak / 1000 * part + peak % 1000 * part / 1000);
  group.addLeast(problem, peak);
}

/// Steps of equal blocks: labelled, without labels, and shuffled.
Group planBlocks() {
  Group group;
  for (bool labels : {true, false}) {
    const test::TransformerShape shape = {.blocks = 4,
                                          .tokens = 1024,
                                          .hidden = 768,
                                          .feedForward = 2304,
                                          .heads = 12,
                                          .keyValueHeads = 4,
                                          .vocabulary = 8000,
                                          .fusedAttention = labels,
                                          .transientGradients = !labels,
                                          .labels = labels};
    addAll(group, test::makeTransformer(shape), {900, 750, 600});
  }
  addAll(group,
         test::shuffle(test::makeTransformer({.blocks = 3, .tokens = 2048}),
                       test::GivenOrder::BreadthFirst, 7),
         {850});
  return group;
}

/// Steps of odd sizes, in which the head, the blocks or the attention weigh most.
Group planOdd() {
  Group group;
  std::mt19937 random(5);
  auto uniform = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint32_t>(high - low + 1));
  };
  for (int number = 0; number < 8; ++number) {
    const int64_t heads = uniform(1, 8);
    const Problem problem = test::makeTransformer({.blocks = uniform(1, 3),
                                                   .tokens = uniform(50, 900),
                                                   .hidden = heads * uniform(17, 80),
                                                   .feedForward = uniform(100, 3000),
                                                   .heads = heads,
                                                   .keyValueHeads = 1,
                                                   .vocabulary = uniform(100, 20000),
                                                   .fusedAttention = uniform(0, 1) == 1,
                                                   .transientGradients = uniform(0, 1) == 1});
    addAll(group, problem, {900, 750});
  }
  return group;
}

/// Graphs that are no chains.
Group planLayered() {
  Group group;
  group.workSeconds = 0.5;
  for (uint32_t seed = 0; seed < 3; ++seed)
    addAll(group, test::makeLayered(40, seed), {700, 550});
  return group;
}

/// Of which every schedule is searched, and every placement.
Group planSmall() {
  Group group;
  group.workSeconds = 0.5;
  for (uint32_t seed = 0; seed < 40; ++seed)
    addAll(group, test::makeRandom(seed, 9), {850, 700});
  return group;
}

/// The same with sizes that an alignment pads, where packing decides.
Group planPadded() {
  Group group;
  group.workSeconds = 0.5;
  for (uint64_t seed = 0; seed < 40; ++seed)
    addAll(group, randomProblem(seed, 9), {850, 700});
  return group;
}

/// Trees of more ops than every order is searched of, without a budget: the least memory counts the
/// arena of their order.
Group planTrees() {
  Group group;
  std::mt19937 random(1);
  auto uniform = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint32_t>(high - low + 1));
  };
  for (int number = 0; number < 20; ++number) {
    test::ProblemBuilder build;
    auto addTree = [&](auto &self, int64_t ops) -> ValueIndex {
      std::vector<ValueIndex> reads;
      for (int64_t left = ops - 1; left > 0;) {
        const int64_t part = reads.empty() ? uniform(1, left) : left;
        reads.push_back(self(self, part));
        left -= part;
      }
      const ValueIndex result = build.value(uniform(1, 100));
      build.op(std::move(reads), {result}, 1);
      return result;
    };
    build.problem.keep = {addTree(addTree, uniform(26, 90))};
    group.addOrder(build.problem);
  }
  return group;
}

/// The orders of graphs that are no chains, counted in the same way.
Group planOrders() {
  Group group;
  group.workSeconds = 3;
  for (uint32_t seed = 0; seed < 5; ++seed)
    group.addOrder(test::makeLayered(60, seed));
  return group;
}

/// Stages of a pipeline: each micro-batch runs forward, and later backward.
Group planMicroBatches() {
  Group group;
  addAll(
      group,
      test::makeChainedStage(
          {.microBatches = 6, .inFlight = 3, .blocks = 3, .outer = 800, .inner = 1900, .cost = 10}),
      {800, 600});
  return group;
}

} // namespace

void printTuning() {
  outs() << "Sums over the plans of each group; recomputed in percent of the step, the least "
            "memory in percent of the program order's peak\n"
            "group         plans  found  optimal  infeasible   recomputed  least memory  searches "
            "placed steps\n";
  planBlocks().print("blocks");
  planOdd().print("odd");
  planLayered().print("layered");
  planSmall().print("small");
  planPadded().print("padded");
  planTrees().print("trees");
  planOrders().print("orders");
  planMicroBatches().print("micro-batches");
}
