//===- WindowBound.cpp - A cost bound from every round of micro-batches --------------===//

#include "WindowBound.h"
#include "Bounds/CutNetwork.h"
#include "llmmem/Planning/Bounds/Bounds.h"
#include "llmmem/Planning/Model/Schedule.h"
#include <algorithm>

using namespace llmmem::planning;

namespace {
/// The problem of one program point and its window: the ops that first ran since the point before,
/// the point's own op, and of the later ops those that read values of the window.
class Window : public ProblemPart {
public:
  Window(const Graph &graph, OpIndex programPoint, const std::vector<bool> &earlier);

  OpIndex programPoint() const { return programPointOfPart; }

private:
  void addOp(OpIndex op, bool isProgramPoint);
  void addReader(OpIndex op, ValueIndex token);

  OpIndex programPointOfPart = -1;
};
} // namespace

/// Adds an op. An op of the window reads what the window wrote; what is older costs nothing. The
/// program point holds all that it reads.
void Window::addOp(OpIndex op, bool isProgramPoint) {
  part.ops.push_back(copyOf(op, [&](ValueIndex value) {
    return isProgramPoint && !graph.problem().values[value].resident;
  }));
}

void Window::addReader(OpIndex op, ValueIndex token) {
  Op to;
  to.id = static_cast<int64_t>(part.ops.size());
  for (ValueIndex value : graph.op(op).reads)
    if (ofValue[value] >= 0 && graph.bytes(value) > 0)
      to.reads.push_back(ofValue[value]);
  if (to.reads.empty())
    return;
  to.reads.push_back(token);
  part.ops.push_back(std::move(to));
}

Window::Window(const Graph &graph, OpIndex programPoint, const std::vector<bool> &earlier)
    : ProblemPart(graph) {
  std::vector<bool> before(graph.numOps(), false), after(graph.numOps(), false);
  markAncestors(graph, programPoint, before);
  markDescendants(graph, programPoint, after);
  part.budget = graph.problem().budget;
  part.values.push_back({0, graph.residentBytes(), /*resident=*/true, "resident"});
  std::vector<ValueIndex> tokens;
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    if (before[op] && !earlier[op]) {
      addOp(op, /*isProgramPoint=*/false);
      part.ops.back().writes.push_back(tokens.emplace_back(addToken()));
    }
  addOp(programPoint, /*isProgramPoint=*/true);
  programPointOfPart = static_cast<OpIndex>(part.ops.size()) - 1;
  llvm::append_range(part.ops.back().reads, tokens);
  const ValueIndex orderToken = addToken();
  part.ops.back().writes.push_back(orderToken);
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    if (after[op])
      addReader(op, orderToken);
  for (ValueIndex value : graph.problem().keep)
    if (ofValue[value] >= 0)
      part.keep.push_back(ofValue[value]);
}

namespace {
class WindowBound {
public:
  WindowBound(const Graph &graph, const MicroBatches &microBatches, Plan &plan)
      : graph(graph), microBatches(microBatches), plan(plan), budget(*graph.problem().budget),
        scale(priceScale(graph)) {}
  void run();

private:
  struct Sum {
    __int128 excess = 0; // in units of cost x scale
    std::vector<OpIndex> programPoints;
    std::vector<int64_t> prices;
  };
  /// An op of each micro-batch, or what comes before it in program order: an exchange, on which all
  /// of a backward depends.
  struct BatchOp {
    int32_t place;
    bool isBefore;
  };
  std::vector<BatchOp> places() const;
  Sum prove(BatchOp place, int32_t mostProgramPoints) const;
  void addProgramPoint(OpIndex programPoint, std::vector<bool> &earlier, Sum &sum) const;

  const Graph &graph;
  const MicroBatches &microBatches;
  Plan &plan;
  int64_t budget, scale;
};
} // namespace

/// Returns where a program point may be in each micro-batch: at the end of its forward, at the
/// begin of its backward, and where the plan holds most.
std::vector<WindowBound::BatchOp> WindowBound::places() const {
  std::vector<int32_t> found;
  const std::vector<OpIndex> &ops = microBatches.ops.front();
  auto backward =
      llvm::find_if(ops, [&](OpIndex op) { return graph.op(op).phase == Phase::Backward; });
  const int32_t numForward = static_cast<int32_t>(backward - ops.begin());
  if (backward != ops.end())
    found.push_back(numForward);
  if (numForward > 0)
    found.push_back(numForward - 1);
  Profile usage = profile(graph, plan.steps);
  std::vector<int64_t> most(ops.size(), 0); // bytes at first runs
  std::vector<bool> ran(graph.numOps(), false);
  for (size_t step = 0; step < plan.steps.size(); ++step) {
    OpIndex op = plan.steps[step];
    if (!ran[op] && microBatches.numberOf[op] >= 0) {
      int64_t &bytes = most[microBatches.placeOf[op]];
      bytes = std::max(bytes, usage.bytes[step]);
    }
    ran[op] = true;
  }
  constexpr int32_t mostPlaces = 4;
  for (int32_t number = 0; number < mostPlaces; ++number) {
    auto fullest = llvm::max_element(most);
    found.push_back(static_cast<int32_t>(fullest - most.begin()));
    *fullest = -1;
  }
  std::vector<BatchOp> all;
  for (int32_t place : found)
    for (bool isBefore : {false, true})
      if (!isBefore || ops[place] > 0)
        all.push_back({place, isBefore});
  return all;
}

/// Adds a program point at the best price of its window, in prices of the whole graph. A point that
/// proves nothing is left out, and the next window is the longer.
void WindowBound::addProgramPoint(OpIndex programPoint, std::vector<bool> &earlier,
                                  Sum &sum) const {
  const Window window(graph, programPoint, earlier);
  const Graph part(window.problem(), graph.cancellation());
  CutRelaxation relaxation(part, window.programPoint());
  if (relaxation.costLowerBound(budget).value_or(0) <= 0)
    return;
  const int64_t price = static_cast<int64_t>(static_cast<__int128>(relaxation.bestPrice()) * scale /
                                             relaxation.scale());
  const int64_t capacity = budget - fixedBytesAt(part, window.programPoint());
  const __int128 excess = CutNetwork(part, {window.programPoint()}, 1).solve({price}, scale) -
                          static_cast<__int128>(price) * capacity;
  if (excess <= 0)
    return;
  sum.excess += excess;
  sum.programPoints.push_back(programPoint);
  sum.prices.push_back(price);
  markAncestors(graph, programPoint, earlier);
  earlier[programPoint] = true;
}

/// Proves the bound by the program points of every so many micro-batches as are in flight.
WindowBound::Sum WindowBound::prove(BatchOp place, int32_t mostProgramPoints) const {
  Sum sum;
  std::vector<bool> earlier(graph.numOps(), false);
  const int32_t inFlight = std::max(microBatches.mostInFlight, 1);
  const bool isForward = graph.op(microBatches.ops.front()[place.place]).phase == Phase::Forward;
  for (int32_t number = isForward ? inFlight - 1 : 0;
       number < microBatches.count() && mostProgramPoints-- > 0; number += inFlight) {
    const OpIndex programPoint = microBatches.ops[number][place.place] - place.isBefore;
    if (!sum.programPoints.empty()) {
      std::vector<bool> before(graph.numOps(), false);
      markAncestors(graph, programPoint, before);
      if (!before[sum.programPoints.back()])
        continue; // some schedule has them in the other order
    }
    addProgramPoint(programPoint, earlier, sum);
  }
  return sum;
}

void WindowBound::run() {
  std::optional<BatchOp> best;
  __int128 most = 0;
  for (BatchOp place : places())
    if (Sum first = prove(place, /*mostProgramPoints=*/1); first.excess > most) {
      most = first.excess;
      best = place;
    }
  if (!best)
    return;
  Sum sum = prove(*best, microBatches.count());
  const int64_t extra = static_cast<int64_t>((sum.excess + scale - 1) / scale);
  if (graph.baseCost() + extra <= plan.costLowerBound)
    return;
  plan.costLowerBound = graph.baseCost() + extra;
  plan.bound = std::to_string(sum.programPoints.size()) + " cuts in time, each of " +
               std::to_string(microBatches.mostInFlight) + " micro-batches, from op " +
               std::to_string(graph.op(sum.programPoints.front()).id) + " on";
  plan.costBasis = {BoundBasis::Kind::Together, std::move(sum.programPoints),
                    std::move(sum.prices)};
}

void llmmem::planning::raiseByWindows(const Graph &graph, const MicroBatches &microBatches,
                                      Plan &plan) {
  WindowBound(graph, microBatches, plan).run();
}
