//===- StructureTables.cpp - Plans without labels against plans with them -------------===//
//
//   structure-tables [BLOCKS|PROBLEM]...        12 32 80 126 without an argument
//
// Random training steps of so many blocks, or the labelled problem of a file (llmmem-opt
// --emit-problem writes them), planned with labels in the order of the model, and without labels in
// the orders that strangers write (Planning/ShuffledProblem.h). Both at six
// budgets between the least footprint and what nothing recomputed needs, `f` of the way, both of
// the labelled problem. Prints what the unlabelled plan costs more, in percent of the step: 0.1 is
// the promise, and that a plan takes less than 10 seconds, of the processor as all seconds here.
// Ends with exit code 1 where a promise is broken or a plan does not verify. The last line has the
// largest gap to the proved bound of all plans at f > 0, labelled or not; at the least footprint
// bounds are weak.
//
//===----------------------------------------------------------------------===//

#include "Planning/ShuffledProblem.h"
#include "llmmem/Planning/Model/Verify.h"
#include "llmmem/Planning/Planner.h"
#include "llmmem/Support/LlvmResult.h"
#include "llmmem/Support/TextFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <ctime>
#include <random>

using namespace llmmem::planning;
using llvm::format;
using llvm::outs;

static Plan planFor(Problem &problem, PolicyKind kind, std::optional<int64_t> budget) {
  problem.budget = budget;
  PlanOptions options;
  options.policy.kind = kind;
  const std::clock_t start = std::clock();
  Plan made = plan(problem, options);
  made.seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
  if (made.status == Status::Feasible)
    for (const Violation &violation : verify(problem, made)) {
      llvm::errs() << "error: a plan does not hold: " << violation.message << "\n";
      std::exit(1);
    }
  return made;
}

static test::TransformerShape randomShape(int64_t blocks, uint32_t seed) {
  std::mt19937 engine(seed);
  auto oneOf = [&](std::initializer_list<int64_t> choices) {
    return choices.begin()[engine() % choices.size()];
  };
  test::TransformerShape shape;
  shape.blocks = blocks;
  shape.fusedAttention = engine() % 3 != 0;
  shape.tokens = shape.fusedAttention ? oneOf({2048, 4096, 8192}) : oneOf({512, 1024, 2048});
  shape.heads = oneOf({16, 32, 64});
  shape.hidden = shape.heads * oneOf({64, 128});
  shape.feedForward = shape.hidden * oneOf({11, 14, 16}) / 4;
  shape.keyValueHeads = shape.heads / oneOf({1, 4, 8});
  shape.vocabulary = oneOf({32000, 50257, 128256});
  shape.alignment = oneOf({1, 256});
  shape.transientGradients = engine() % 2 == 0;
  return shape;
}

static double percent(int64_t cost, const Plan &plan) {
  return 100.0 * double(cost) / double(std::max<int64_t>(plan.baseCost, 1));
}

namespace {
/// The worst of all comparisons.
struct Worst {
  double excess = -100, seconds = 0, gap = 0;
  int plans = 0, broken = 0, slow = 0;

  /// Of every plan, labelled ones included.
  void addSeconds(const Plan &plan) {
    constexpr double promised = 10;
    seconds = std::max(seconds, plan.seconds);
    slow += plan.seconds >= promised;
  }

  void addGap(const Plan &plan, size_t budgetIndex) {
    if (budgetIndex > 0 && plan.status == Status::Feasible)
      gap = std::max(gap, percent(plan.cost - plan.costLowerBound, plan));
  }
};
} // namespace

static void compare(Problem &problem, llvm::ArrayRef<int64_t> budgets,
                    llvm::ArrayRef<Plan> labelled, Worst &worst) {
  for (size_t index = 0; index < budgets.size(); ++index) {
    Plan made = planFor(problem, PolicyKind::Budget, budgets[index]);
    ++worst.plans;
    worst.addSeconds(made);
    worst.addGap(made, index);
    if (made.status != Status::Feasible) {
      ++worst.broken;
      outs() << format("       none %5.1f", made.seconds);
      continue;
    }
    const double excess = percent(made.cost - labelled[index].cost, made);
    constexpr double promised = 0.1;
    worst.excess = std::max(worst.excess, excess);
    worst.broken += excess > promised;
    outs() << format("   %8.3f %5.1f", excess, made.seconds);
    outs().flush();
  }
  outs() << "\n";
}

static void compareOrders(Problem problem, uint32_t seed, Worst &worst) {
  auto footprint = [&](const Plan &plan) { return problem.residentBytes() + plan.arena; };
  Plan least = planFor(problem, PolicyKind::LeastPeak, std::nullopt);
  Plan free = planFor(problem, PolicyKind::Budget, std::nullopt);
  worst.addSeconds(least);
  worst.addSeconds(free);
  const int64_t low = footprint(least);
  const int64_t high = footprint(free);
  outs() << format("; least %.3f of free, %.1f s\n    labelled: percent recomputed",
                   double(low) / double(high), least.seconds);
  std::vector<int64_t> budgets;
  std::vector<Plan> plans;
  for (double f : {0.0, 0.05, 0.25, 0.5, 0.75, 1.0}) {
    budgets.push_back(low + int64_t(f * double(high - low)));
    plans.push_back(planFor(problem, PolicyKind::Budget, budgets.back()));
    worst.addSeconds(plans.back());
    worst.addGap(plans.back(), plans.size() - 1);
    outs() << format("   %8.3f %5.1f", percent(plans.back().cost - plans.back().baseCost, least),
                     plans.back().seconds);
    outs().flush();
  }
  outs() << "\n";
  for (test::GivenOrder order : test::allGivenOrders) {
    outs() << format("%32s", test::nameOf(order));
    Problem other = test::shuffle(problem, order, seed);
    compare(other, budgets, plans, worst);
  }
}

static void compareRandomStep(int64_t blocks, uint32_t seed, Worst &worst) {
  test::TransformerShape shape = randomShape(blocks, seed);
  shape.labels = true;
  outs() << format("%4d blocks, %s attention, %s gradients, %d tokens, hidden %d, seed %u",
                   int(blocks), shape.fusedAttention ? "fused" : "written",
                   shape.transientGradients ? "transient" : "resident", int(shape.tokens),
                   int(shape.hidden), seed);
  compareOrders(test::makeTransformer(shape), seed, worst);
}

static bool compareFile(const char *file, Worst &worst) {
  auto text = llmmem::readTextFile(file);
  if (!text) {
    llvm::errs() << "error: " << llvm::toString(text.takeError()) << "\n";
    return false;
  }
  llmmem::Result<Problem> problem = parseProblem((*text)->getBuffer());
  if (!problem) {
    llvm::errs() << "error: " << file << ": " << problem.error() << "\n";
    return false;
  }
  outs() << file << ", " << problem->ops.size() << " ops";
  compareOrders(std::move(*problem), 0, worst);
  return true;
}

int main(int count, char **arguments) {
  std::vector<std::string> wanted(arguments + 1, arguments + count);
  if (wanted.empty())
    wanted = {"12", "32", "80", "126"};
  outs() << "Training steps without labels: percent of the step above the labelled plan, and "
            "seconds, at f = 0, .05, .25, .5, .75, 1\n";
  Worst worst;
  constexpr uint32_t seeds = 4;
  for (const std::string &argument : wanted) {
    int64_t blocks = 0;
    if (!llvm::to_integer(argument, blocks) || blocks <= 0) {
      if (!compareFile(argument.c_str(), worst))
        return 1;
      continue;
    }
    for (uint32_t seed = 0; seed < seeds; ++seed)
      compareRandomStep(blocks, seed + static_cast<uint32_t>(blocks), worst);
  }
  outs() << worst.plans << " plans, " << worst.broken << " not within 0.1 percent, the worst "
         << format("%.3f percent above; largest gap at f > 0 %.3f percent; %d not within 10 s, the "
                   "slowest %.1f s\n",
                   worst.excess, worst.gap, worst.slow, worst.seconds);
  return worst.broken == 0 && worst.slow == 0 ? 0 : 1;
}
