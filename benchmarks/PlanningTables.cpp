//===- PlanningTables.cpp - How good and how fast the planner is -----------------===//
//
//   planning-tables
//   [transformers|chains|pytorch|scale|small|layered|monotone|fragmentation|minimalloc|
//                    live-ranges|order]...
//   all without an argument
//   planning-tables tuning
//   what benchmarks/tuning.py compares between settings (lib/Planning/Tuning/Constants.h)
//
// Prints one table each. `pytorch`, `minimalloc` and `live-ranges` read files in the directory that
// LLMMEM_DATA names, and are skipped, visibly, without it. Every plan is verified and what it
// claims is checked with its proof; a broken one ends the program with exit code 1, and the last
// line counts the claims. Seconds are the processor's, so that other work on the machine counts
// little.
//
//===----------------------------------------------------------------------===//

#include "PackingTables.h"
#include "Planning/ChainProblem.h"
#include "Planning/LayeredProblem.h"
#include "Planning/RandomProblem.h"
#include "Planning/RotorChain.h"
#include "Planning/TransformerProblem.h"
#include "TuningTable.h"
#include "llmmem/Planning/Bounds/Prove.h"
#include "llmmem/Planning/Model/Schedule.h"
#include "llmmem/Planning/Model/Verify.h"
#include "llmmem/Planning/Planner.h"
#include "llmmem/Planning/Proofs/Check.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>

using namespace llmmem::planning;
using llvm::format;
using llvm::outs;

static double secondsSince(std::clock_t start) {
  return double(std::clock() - start) / CLOCKS_PER_SEC;
}

namespace {
/// The claims of all plans, checked with proofs that were written and read back.
struct Proofs {
  int plans = 0, checked = 0, notChecked = 0, slower = 0;
  size_t bytes = 0, mostBytes = 0;
  double planning = 0, proving = 0, checking = 0, worst = 0;
  double longest = 0; // planning whose check took longer

  void add(const Problem &problem, const Plan &made) {
    std::clock_t start = std::clock();
    const std::string text = toJson(problem, prove(problem, made));
    proving += secondsSince(start);
    start = std::clock();
    llmmem::Result<Proof> proof = parseProof(problem, text);
    const std::vector<ClaimCheck> checks = checkProof(problem, made, *proof);
    const double seconds = secondsSince(start);
    for (const ClaimCheck &it : checks) {
      if (it.verdict == Verdict::Refused) {
        llvm::errs() << "error: a proof does not hold: " << it.claim << ": " << it.message << "\n";
        std::exit(1);
      }
      (it.verdict == Verdict::Checked ? checked : notChecked) += it.claim != "plan";
    }
    ++plans;
    bytes += text.size();
    mostBytes = std::max(mostBytes, text.size());
    planning += made.seconds;
    checking += seconds;
    if (seconds > made.seconds) {
      ++slower;
      longest = std::max(longest, made.seconds);
    }
    worst = std::max(worst, seconds);
  }
  void print() const {
    if (plans == 0)
      return;
    outs() << format("Proofs of %d plans: %d claims checked, %d not; ", plans, checked, notChecked)
           << format("%.2f s planning, %.2f s proving, %.2f s checking, %.3f s at most; ", planning,
                     proving, checking, worst)
           << format("longer than planning for %d, which took %.3f s at most to plan; ", slower,
                     longest)
           << format("%.1f kB of JSON each, %.1f at most\n", double(bytes) / plans / 1e3,
                     double(mostBytes) / 1e3);
  }
};
} // namespace

static Proofs proofs;

static Plan planFor(Problem &problem, PolicyKind kind,
                    std::optional<int64_t> budget = std::nullopt) {
  problem.budget = budget;
  PlanOptions options;
  options.policy.kind = kind;
  std::clock_t start = std::clock();
  Plan made = plan(problem, options);
  made.seconds = secondsSince(start);
  proofs.add(problem, made);
  if (made.status == Status::Feasible) {
    std::vector<Violation> violations = verify(problem, made);
    if (!violations.empty()) {
      llvm::errs() << "error: a plan does not hold: " << violations[0].message << "\n";
      std::exit(1);
    }
  }
  return made;
}

static double percent(const Plan &plan, int64_t cost) {
  return 100.0 * double(cost) / double(std::max<int64_t>(plan.baseCost, 1));
}

static test::TransformerShape shapeFor(int64_t blocks, bool fused, bool transient) {
  test::TransformerShape shape;
  shape.blocks = blocks;
  shape.fusedAttention = fused;
  shape.transientGradients = transient;
  if (blocks >= 80) { // Llama-3-70B and 405B in depth
    shape.hidden = 8192, shape.feedForward = 28672, shape.heads = 64, shape.vocabulary = 128256;
  }
  if (!fused)
    shape.tokens = 2048;
  return shape;
}

static void printTransformers() {
  outs() << "Training steps without labels; f: 0 each block recomputed, 1 nothing; percent of the "
            "step\n"
            "blocks attention gradients     f  status     cost    bound      gap  arena/live  "
            "seconds  bound's name\n";
  for (int64_t blocks : {12, 32, 80, 126})
    for (bool fused : {true, false})
      for (bool transient : {false, true}) {
        Problem problem = test::makeTransformer(shapeFor(blocks, fused, transient));
        int64_t full = planFor(problem, PolicyKind::Full).peak;
        int64_t none = planFor(problem, PolicyKind::None).peak;
        for (double f : {-0.05, -0.02, 0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.95}) {
          Plan made = planFor(problem, PolicyKind::Budget, full + int64_t(f * double(none - full)));
          outs() << format("%6d %9s %9s %5.2f", int(blocks), fused ? "fused" : "written",
                           transient ? "transient" : "resident", f);
          if (made.status != Status::Feasible) {
            outs() << (made.status == Status::Infeasible ? "  none, proved\n" : "  none found\n");
            continue;
          }
          int64_t live = std::max<int64_t>(made.peak - problem.residentBytes(), 1);
          outs() << format("  found  %8.3f %8.3f %8.3f  %10.6f %8.2f  ",
                           percent(made, made.cost - made.baseCost),
                           percent(made, made.costLowerBound - made.baseCost),
                           percent(made, made.cost - made.costLowerBound),
                           double(made.arena) / double(live), made.seconds)
                 << made.bound << "\n";
        }
      }
}

static void printChains() {
  outs() << "Unit chains: forward steps, ours / revolve's optimum, for 2 to 10 snapshots\n";
  for (int64_t steps : {10, 20, 50, 100, 1000}) {
    outs() << format("%5d", int(steps));
    for (int64_t snapshots = 2; snapshots <= std::min<int64_t>(10, steps - 1); ++snapshots) {
      Problem problem = test::makeUnitChain(steps);
      Plan made = planFor(problem, PolicyKind::Budget, snapshots + 1);
      outs() << format("  %d/%d", int(made.cost), int(test::revolveSteps(steps, snapshots)));
    }
    outs() << "\n";
  }
  outs() << "Twelve layers of GPT-3 at 428 units: ours / the recurrence's optimum\n";
  for (bool canDrop : {false, true}) {
    test::RotorChain chain = test::gpt3Chain(canDrop);
    Problem problem = test::makeRotorProblem(chain);
    int64_t capacity = 428 * test::rotorUnit;
    Plan made = planFor(problem, PolicyKind::Budget, problem.residentBytes() + capacity);
    outs() << (canDrop ? "  attention may be dropped  " : "  all of a layer or nothing ")
           << format("%d/%d\n", int(made.cost), int(test::rotorCost(chain, capacity).value_or(-1)));
  }
  int plans = 0, above = 0, below = 0;
  for (uint32_t seed = 0; seed < 12; ++seed) {
    test::RotorChain chain = test::randomChain(seed);
    Problem problem = test::makeRotorProblem(chain);
    for (int64_t capacity : test::rotorCapacities(chain, 4))
      if (std::optional<int64_t> theirs = test::rotorCost(chain, capacity)) {
        Plan made = planFor(problem, PolicyKind::Budget, problem.residentBytes() + capacity);
        bool isFound = made.status == Status::Feasible;
        ++plans;
        above += !isFound || made.cost > *theirs;
        below += isFound && made.cost < *theirs;
      }
  }
  outs() << format("Random unequal chains: %d of %d plans above the recurrence, %d below\n", above,
                   plans, below);
}

static std::string readCompressed(const std::string &path) {
  std::string text;
  std::FILE *pipe = popen(("gzip -dc '" + path + "'").c_str(), "r");
  if (!pipe)
    return text;
  char buffer[1 << 16];
  for (size_t count; (count = fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    text.append(buffer, count);
  pclose(pipe);
  return text;
}

static void printPyTorch() {
  const char *directory = std::getenv("LLMMEM_DATA");
  if (!directory) {
    outs() << "PyTorch's graph: skipped, LLMMEM_DATA is not set\n";
    return;
  }
  llvm::Expected<llvm::json::Value> data =
      llvm::json::parse(readCompressed(std::string(directory) + "/pytorch/llama8.json.gz"));
  if (!data) {
    outs() << "PyTorch's graph: skipped, " << llvm::toString(data.takeError()) << "\n";
    return;
  }
  std::string text;
  llvm::raw_string_ostream(text) << *data->getAsObject()->get("problem");
  Problem problem = *parseProblem(text);
  outs() << "PyTorch's graph at the true peak of its own settings; recompute in percent\n"
            "setting                     peak  PyTorch     ours    bound  rounding  seconds  "
            "PyTorch's\n";
  for (const llvm::json::Value &entry : *data->getAsObject()->getArray("plans")) {
    const llvm::json::Object &theirs = *entry.getAsObject();
    Plan made = planFor(problem, PolicyKind::Budget, *theirs.getInteger("peak"));
    double cost = double(*theirs.getInteger("cost")), base = double(*theirs.getInteger("base"));
    outs() << format("%-22s %9.4f %8.2f %8.2f %8.2f %9.2f %8.2f %10.2f\n",
                     theirs.getString("label")->str().c_str(),
                     double(*theirs.getInteger("peak")) / 1e9, 100 * (cost - base) / base,
                     percent(made, made.cost - made.baseCost),
                     percent(made, made.costLowerBound - made.baseCost),
                     theirs.getNumber("simple_percent").value_or(NAN), made.seconds,
                     theirs.getNumber("seconds").value_or(NAN));
  }
  for (double budget : {2.65e9, 2.6e9, 2.55e9, 2.5263e9}) {
    Plan made = planFor(problem, PolicyKind::Budget, int64_t(budget));
    outs() << format("below %14.4f", budget / 1e9);
    if (made.status == Status::Feasible)
      outs() << format("%33.2f %8.2f\n", percent(made, made.cost - made.baseCost),
                       percent(made, made.costLowerBound - made.baseCost));
    else
      outs() << "   none; proved are " << made.peakLowerBound << " bytes\n";
  }
}

static void printScale() {
  outs() << "   ops      f     cost      gap  seconds\n";
  for (int64_t blocks : {24, 80, 250, 800, 2400}) {
    Problem problem = test::makeTransformer(
        {.blocks = blocks, .tokens = 512, .hidden = 512, .feedForward = 2048, .heads = 8});
    int64_t full = planFor(problem, PolicyKind::Full).peak,
            none = planFor(problem, PolicyKind::None).peak;
    for (double f : {0.1, 0.5}) {
      Plan made = planFor(problem, PolicyKind::Budget, full + int64_t(f * double(none - full)));
      outs() << format("%6d %6.2f %8.3f %8.3f %8.2f\n", int(problem.ops.size()), f,
                       percent(made, made.cost - made.baseCost),
                       percent(made, made.cost - made.costLowerBound), made.seconds);
    }
  }
}

static void printLayered() {
  outs().SetUnbuffered();
  outs()
      << "Random layered graphs at a fraction of the given order's peak; mean processor seconds\n"
         " nodes fraction graphs planned  without cost proved costly     mean increase %  "
         "proved %  "
         "seconds\n";
  for (int32_t count : {100, 250, 500, 1000})
    for (double fraction : {0.9, 0.8}) {
      int planned = 0, free = 0, costly = 0;
      double increase = 0, proved = 0, seconds = 0;
      const uint32_t graphs = count < 1000 ? 10 : 5;
      for (uint32_t seed = 0; seed < graphs; ++seed) {
        Problem problem = test::makeLayered(count, seed);
        int64_t budget = int64_t(fraction * double(planFor(problem, PolicyKind::None).peak));
        const std::clock_t start = std::clock();
        Plan made = planFor(problem, PolicyKind::Budget, budget);
        seconds += double(std::clock() - start) / CLOCKS_PER_SEC / graphs;
        if (made.status != Status::Feasible)
          continue;
        ++planned;
        free += made.cost == made.baseCost;
        costly += made.costLowerBound > made.baseCost;
        increase += percent(made, made.cost - made.baseCost);
        proved += percent(made, made.costLowerBound - made.baseCost);
      }
      outs() << format("%6d %6.2f %7u %8d %12d %17d", count, fraction, graphs, planned, free,
                       costly)
             << format(" %16.2f %9.2f %8.2f\n", increase / std::max(planned, 1),
                       proved / std::max(planned, 1), seconds);
    }
}

/// Where every schedule is searched, the proof is that search, and its check another one.
static void printSmall() {
  outs() << "Random problems of few ops, at parts of the program order's peak: all schedules "
            "searched, "
            "and again by the checker\n"
            "   ops  plans  infeasible  checked  not checked  planning s  checking s\n";
  for (int ops : {8, 12, 16}) {
    const Proofs before = proofs;
    int infeasible = 0;
    for (uint64_t seed = 0; seed < 5; ++seed) {
      Problem problem = randomProblem(seed, ops);
      const int64_t peak = profile(Graph(problem), givenOrder(Graph(problem))).peak;
      for (int64_t part : {5, 6, 7})
        infeasible +=
            planFor(problem, PolicyKind::Budget, peak * part / 8).status == Status::Infeasible;
      planFor(problem, PolicyKind::LeastPeak);
    }
    outs() << format("%6d %6d %11d %8d %12d ", ops, proofs.plans - before.plans, infeasible,
                     proofs.checked - before.checked, proofs.notChecked - before.notChecked)
           << format("%11.2f %11.2f\n", proofs.planning - before.planning,
                     proofs.checking - before.checking);
    outs().flush();
  }
}

static void printMonotone() {
  int budgets = 0, worse = 0;
  double worst = 0;
  for (int64_t blocks : {3, 12})
    for (bool fused : {true, false})
      for (bool transient : {false, true}) {
        Problem problem = test::makeTransformer(shapeFor(blocks, fused, transient));
        int64_t full = planFor(problem, PolicyKind::Full).peak,
                none = planFor(problem, PolicyKind::None).peak;
        std::optional<int64_t> least;
        for (int hundredths = -15; hundredths <= 100; ++hundredths) {
          Plan made = planFor(problem, PolicyKind::Budget, full + (none - full) / 100 * hundredths);
          budgets += made.status == Status::Feasible;
          if (least && (made.status != Status::Feasible || made.cost > *least)) {
            ++worse;
            worst = std::max(worst, percent(made, made.cost - *least));
          }
          if (made.status == Status::Feasible)
            least = std::min(least.value_or(INT64_MAX), made.cost);
        }
      }
  outs() << "More budget, more cost: " << worse << " of " << budgets << " budgets, at worst "
         << format("%.4f", worst) << " percent of the step\n";
}

namespace {
/// Arena over the largest live sum, minus 1. It includes padding to the alignment; the last
/// column counts plans that lose bytes in packing alone, against the live sum of padded sizes.
struct Fragmentation {
  int plans = 0, whole = 0, unpacked = 0;
  double worst = 0;

  void add(const Problem &problem, const Plan &made) {
    int64_t live = made.peak - problem.residentBytes();
    if (made.status != Status::Feasible || live == 0)
      return;
    ++plans;
    whole += made.arena == live;
    unpacked += made.arena > profile(Graph(problem), made.steps).peak - problem.residentBytes();
    worst = std::max(worst, double(made.arena - live) / double(live));
  }
  void print(const char *what) const {
    outs() << format("%12s %6d %8d %8.1f %14.4f %9d\n", what, plans, whole,
                     100.0 * whole / std::max(plans, 1), 100 * worst, unpacked);
    outs().flush();
  }
};
} // namespace

static void printFragmentation() {
  outs() << "Fragmentation at 256 bytes: policies and budgets on small and large shapes\n"
            "      blocks  plans  without  percent  worst, percent  unpacked\n";
  Fragmentation all;
  for (int64_t blocks : {2, 5, 12, 24, 48}) {
    Fragmentation some;
    for (int64_t hidden : {256, 768, 4096})
      for (bool fused : {true, false})
        for (bool transient : {false, true}) {
          Problem problem =
              test::makeTransformer({.blocks = blocks,
                                     .tokens = fused ? 4096 : 1024,
                                     .hidden = hidden,
                                     .feedForward = hidden * 7 / 2,
                                     .heads = hidden / 64,
                                     .keyValueHeads = std::max<int64_t>(1, hidden / 256),
                                     .fusedAttention = fused,
                                     .transientGradients = transient});
          Plan full = planFor(problem, PolicyKind::Full), none = planFor(problem, PolicyKind::None);
          std::vector<Plan> plans{full, none, planFor(problem, PolicyKind::Sqrt)};
          for (double f : {0.0, 0.1, 0.3, 0.5, 0.7, 0.9})
            plans.push_back(planFor(problem, PolicyKind::Budget,
                                    full.peak + int64_t(f * double(none.peak - full.peak))));
          for (const Plan &made : plans) {
            some.add(problem, made);
            all.add(problem, made);
          }
        }
    some.print(std::to_string(blocks).c_str());
  }
  all.print("all");
}

int main(int count, char **arguments) {
  struct Table {
    const char *name;
    void (*print)();
  };
  const Table tables[] = {{"transformers", printTransformers},
                          {"chains", printChains},
                          {"pytorch", printPyTorch},
                          {"scale", printScale},
                          {"small", printSmall},
                          {"layered", printLayered},
                          {"monotone", printMonotone},
                          {"fragmentation", printFragmentation},
                          {"minimalloc", printMiniMalloc},
                          {"live-ranges", printLiveRanges},
                          {"order", printOrder},
                          {"tuning", printTuning}};
  llvm::StringSet<> wanted;
  for (int index = 1; index < count; ++index)
    wanted.insert(arguments[index]);
  for (const Table &table : tables)
    if (wanted.contains(table.name) || (wanted.empty() && table.print != printTuning))
      table.print();
  proofs.print();
  return 0;
}
