//===- OpenCut.cpp - A cut in time that orders unrelated ops itself ------------------===//

#include "OpenCut.h"
#include "CostCertificate.h"
#include "llmmem/Planning/Bounds/Bounds.h"
#include "llmmem/Planning/Model/Schedule.h"
#include <algorithm>

using namespace llmmem::planning;

static constexpr int32_t source = 0, sink = 1;

OpenCut::OpenCut(const Graph &graph, OpIndex programPoint)
    : graph(graph), programPoint(programPoint), flow(2 + 2 * graph.numOps() + graph.numValues()),
      costArcs(graph.numOps(), -1) {
  addArcs();
}

/// Says whether keeping the value adds bytes: it is neither resident nor an operand or result of
/// the op at the program point.
bool OpenCut::counts(ValueIndex value) const {
  const Op &op = graph.op(programPoint);
  return !graph.problem().values[value].resident && !llvm::is_contained(op.reads, value) &&
         !llvm::is_contained(op.writes, value);
}

void OpenCut::forEachArc(llvm::function_ref<void(const Arc &)> visit) const {
  std::vector<bool> before(graph.numOps(), false), after(graph.numOps(), false);
  markAncestors(graph, programPoint, before);
  markDescendants(graph, programPoint, after);
  for (OpIndex op = 0; op < graph.numOps(); ++op) {
    if (op == programPoint)
      continue;
    visit({Arc::First, laterOf(op), againOf(op), op, -1});
    if (after[op])
      visit({Arc::Descendant, source, laterOf(op), op, -1});
    if (before[op])
      visit({Arc::Ancestor, laterOf(op), sink, op, -1});
    visit({Arc::Repeated, againOf(op), laterOf(op), op, -1});
    for (ValueIndex value : graph.op(op).reads)
      if (OpIndex writer = graph.writer(value); writer >= 0 && writer != programPoint)
        visit({Arc::Order, laterOf(writer), laterOf(op), op, value});
  }
  for (ValueIndex value = 0; value < graph.numValues(); ++value) {
    if (!counts(value))
      continue;
    if (graph.isKept(value))
      visit({Arc::Kept, source, nodeOf(value), -1, value});
    for (OpIndex reader : graph.readers(value))
      if (reader != programPoint)
        visit({Arc::Read, againOf(reader), nodeOf(value), reader, value});
    const OpIndex writer = graph.writer(value);
    visit({Arc::Held, nodeOf(value), writer >= 0 ? againOf(writer) : sink, -1, value});
  }
}

void OpenCut::addArcs() {
  forEachArc([&](const Arc &arc) {
    const int32_t number =
        flow.addArc(arc.from, arc.to, arc.kind == Arc::Held ? 0 : MaxFlow::infinite);
    if (arc.kind == Arc::Held)
      pricedArcs.push_back({number, arc.value});
    if (arc.kind == Arc::Repeated && graph.op(arc.op).recompute)
      costArcs[arc.op] = number;
  });
}

int64_t OpenCut::solveAt(int64_t price, int64_t costFactor) {
  int64_t value = 0;
  choose(price, costFactor, value);
  return value;
}

void OpenCut::forEachFlow(llvm::function_ref<void(const Arc &, int64_t)> visit) const {
  int32_t number = 0;
  forEachArc([&](const Arc &arc) {
    if (int64_t amount = flow.flowThrough(number); amount > 0)
      visit(arc, amount);
    number += 2; // each has its reverse
  });
}

OpenCut::Choice OpenCut::choose(int64_t price, int64_t costFactor, int64_t &value) {
  graph.poll();
  for (PricedArc arc : pricedArcs) {
    __int128 product = static_cast<__int128>(price) * graph.bytes(arc.value);
    flow.setCapacity(arc.arc, static_cast<int64_t>(std::min<__int128>(product, MaxFlow::infinite)));
  }
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    if (costArcs[op] >= 0)
      flow.setCapacity(costArcs[op], graph.op(op).cost * costFactor);
  value = flow.solve(source, sink);
  Choice choice;
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    if (op != programPoint && flow.onSourceSide(againOf(op)) && !flow.onSourceSide(laterOf(op)))
      choice.cost += graph.op(op).cost;
  for (PricedArc arc : pricedArcs) {
    const OpIndex writer = graph.writer(arc.value);
    if (flow.onSourceSide(nodeOf(arc.value)) && (writer < 0 || !flow.onSourceSide(againOf(writer))))
      choice.bytes += graph.bytes(arc.value);
  }
  return choice;
}

int64_t OpenCut::bytesWithoutRepeats() {
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    if (costArcs[op] >= 0)
      flow.setCapacity(costArcs[op], MaxFlow::infinite);
  for (PricedArc arc : pricedArcs)
    flow.setCapacity(arc.arc, graph.bytes(arc.value));
  return fixedBytesAt(graph, programPoint) + flow.solve(source, sink);
}

std::optional<int64_t> OpenCut::costLowerBound(int64_t budget) {
  const int64_t scale = priceScale(graph), capacity = budget - fixedBytesAt(graph, programPoint);
  int64_t value = 0;
  Choice less = choose(1, 0, value);
  if (less.bytes > capacity)
    return std::nullopt;
  Choice more = choose(1, scale, value);
  int64_t most = 0, last = -1;
  // This is Newton's method on the concave dual, as in CutRelaxation; every price is a proof.
  constexpr int mostSteps = 40;
  for (int step = 0; step < mostSteps && more.bytes > capacity && more.bytes > less.bytes; ++step) {
    const __int128 difference = static_cast<__int128>(less.cost - more.cost) * scale;
    const auto price = static_cast<int64_t>(
        std::min<__int128>(difference / (more.bytes - less.bytes), INT64_MAX / 4));
    if (price == last || price < 0)
      break;
    last = price;
    const Choice choice = choose(price, scale, value);
    const __int128 proved = static_cast<__int128>(value) - static_cast<__int128>(price) * capacity;
    if (proved > 0 && (proved + scale - 1) / scale > most) {
      most = static_cast<int64_t>((proved + scale - 1) / scale);
      best = price;
    }
    auto isSame = [&](const Choice &other) {
      return choice.bytes == other.bytes && choice.cost == other.cost;
    };
    if (isSame(more) || isSame(less))
      break;
    (choice.bytes > capacity ? more : less) = choice;
  }
  return most;
}

void llmmem::planning::raiseByOpenCuts(const Graph &graph, Plan &plan) {
  const int64_t budget = *graph.problem().budget;
  const Profile usage = profile(graph, plan.steps);
  std::vector<std::pair<int64_t, OpIndex>> fullest;
  std::vector<bool> ran(graph.numOps(), false);
  for (size_t step = 0; step < plan.steps.size(); ++step)
    if (OpIndex op = plan.steps[step]; !ran[op]) {
      ran[op] = true;
      fullest.push_back({-usage.bytes[step], op});
    }
  llvm::sort(fullest);
  fullest.resize(std::min(fullest.size(), numCuts(graph)));
  // Where a schedule without repeats holds too much, at least one op must run again.
  std::vector<std::pair<int64_t, OpIndex>> forcing;
  for (auto [held, op] : fullest)
    if (int64_t bytes = OpenCut(graph, op).bytesWithoutRepeats(); bytes > budget)
      forcing.push_back({-bytes, op});
  llvm::sort(forcing);
  constexpr size_t refined = 16;
  forcing.resize(std::min(forcing.size(), refined));
  int64_t cheapest = INT64_MAX;
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    if (graph.op(op).recompute)
      cheapest = std::min(cheapest, graph.op(op).cost);
  for (auto [bytes, op] : forcing) {
    const int64_t byPrice = OpenCut(graph, op).costLowerBound(budget).value_or(0);
    const int64_t extra = std::max(byPrice, cheapest);
    if (graph.baseCost() + extra <= plan.costLowerBound || cheapest == INT64_MAX)
      continue;
    plan.costLowerBound = graph.baseCost() + extra;
    plan.costBasis = {
        byPrice == extra ? BoundBasis::Kind::OpenCut : BoundBasis::Kind::SomeRepeat, {op}, {}};
    plan.bound = "one open cut in time at op " + std::to_string(graph.op(op).id);
  }
}
