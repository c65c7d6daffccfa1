//===- ShuffledProblem.h - The same problem as a stranger would hand it over -----===//
//
// A graph that llmmem did not build has no labels, its ids mean nothing, and its order is what some
// framework happened to write. `shuffle` takes labels and names away, renumbers values and ops, and
// writes the ops in another order that respects their dependencies.
//
// Example: shuffle(makeTransformer({.blocks = 12, .labels = true}), GivenOrder::BreadthFirst, 7).
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_UNITTESTS_PLANNING_SHUFFLEDPROBLEM_H
#define LLMMEM_UNITTESTS_PLANNING_SHUFFLEDPROBLEM_H

#include "TransformerProblem.h"
#include "llmmem/Planning/Model/Graph.h"
#include <numeric>
#include <random>

namespace llmmem::planning::test {

enum class GivenOrder : uint8_t {
  Renumbered,    // the order as it was
  GradientsLast, // what no other op of the backward waits for (weight gradients, updates) at the
                 // end
  BreadthFirst,  // by the longest path from an input
  Random         // each time any op that is ready
};
inline constexpr GivenOrder allGivenOrders[] = {GivenOrder::Renumbered, GivenOrder::GradientsLast,
                                                GivenOrder::BreadthFirst, GivenOrder::Random};

inline const char *nameOf(GivenOrder order) {
  constexpr const char *names[] = {"renumbered", "gradients-last", "breadth-first", "random"};
  return names[static_cast<size_t>(order)];
}

/// Any order that respects the dependencies: of the ops that are ready, a random one.
inline std::vector<OpIndex> randomOrder(const Graph &graph, std::mt19937_64 &engine) {
  std::vector<int32_t> missing(graph.numOps(), 0);
  std::vector<OpIndex> ready, order;
  for (OpIndex op = 0; op < graph.numOps(); ++op) {
    for (ValueIndex value : graph.op(op).reads)
      missing[op] += graph.writer(value) >= 0;
    if (missing[op] == 0)
      ready.push_back(op);
  }
  while (!ready.empty()) {
    std::swap(ready[engine() % ready.size()], ready.back());
    const OpIndex op = ready.back();
    ready.pop_back();
    order.push_back(op);
    for (ValueIndex value : graph.op(op).writes)
      for (OpIndex reader : graph.readers(value))
        if (--missing[reader] == 0)
          ready.push_back(reader);
  }
  return order;
}

/// The order given, sorted by a number per op that no dependency contradicts.
inline std::vector<OpIndex> orderBy(const Graph &graph, GivenOrder given) {
  std::vector<int32_t> depth(graph.numOps(), 0), height(graph.numOps(), 0);
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    for (ValueIndex value : graph.op(op).reads)
      if (OpIndex writer = graph.writer(value); writer >= 0)
        depth[op] = std::max(depth[op], depth[writer] + 1);
  for (OpIndex op = graph.numOps() - 1; op >= 0; --op)
    for (ValueIndex value : graph.op(op).writes)
      for (OpIndex reader : graph.readers(value))
        height[op] = std::max(height[op], height[reader] + 1);
  constexpr int32_t fewOps = 2; // a weight gradient and its update
  auto key = [&](OpIndex op) {
    if (given == GivenOrder::BreadthFirst)
      return depth[op];
    return given == GivenOrder::GradientsLast ? int32_t(height[op] < fewOps) : 0;
  };
  std::vector<OpIndex> order(graph.numOps());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](OpIndex a, OpIndex b) { return key(a) < key(b); });
  return order;
}

inline Problem shuffle(const Problem &problem, GivenOrder given, uint64_t seed) {
  const Graph graph(problem);
  std::mt19937_64 engine(seed);
  std::vector<OpIndex> order =
      given == GivenOrder::Random ? randomOrder(graph, engine) : orderBy(graph, given);
  Problem result;
  result.budget = problem.budget;
  result.alignment = problem.alignment;
  std::vector<ValueIndex> placeOf(problem.values.size()); // of each value in the new problem
  std::iota(placeOf.begin(), placeOf.end(), 0);
  std::shuffle(placeOf.begin(), placeOf.end(), engine);
  result.values.resize(problem.values.size());
  for (size_t value = 0; value < placeOf.size(); ++value) {
    Value &moved = result.values[placeOf[value]];
    moved = problem.values[value];
    moved.id = placeOf[value];
    moved.name.clear();
  }
  std::vector<int64_t> ids(order.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::shuffle(ids.begin(), ids.end(), engine);
  for (OpIndex index : order) {
    Op op = problem.ops[index];
    op.id = ids[index];
    op.name.clear();
    op.block.reset();
    op.phase = Phase::None;
    for (std::vector<ValueIndex> *values : {&op.reads, &op.writes})
      for (ValueIndex &value : *values)
        value = placeOf[value];
    for (InPlace &pair : op.inPlace)
      pair = {placeOf[pair.write], placeOf[pair.read]};
    result.ops.push_back(std::move(op));
  }
  for (ValueIndex value : problem.keep)
    result.keep.push_back(placeOf[value]);
  return result;
}

} // namespace llmmem::planning::test

#endif // LLMMEM_UNITTESTS_PLANNING_SHUFFLEDPROBLEM_H
