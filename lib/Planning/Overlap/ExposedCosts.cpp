//===- ExposedCosts.cpp - What compute waits for the link ---------------------===//

#include "llmmem/Planning/Schedulers/ExposedCosts.h"
#include "OverlapOrder.h"
#include "OverlapSearch.h"
#include "Timeline.h"
#include "llmmem/Planning/Model/Schedule.h"
#include <algorithm>

using namespace llmmem::planning;

/// Returns, for each op, what compute waits for it in `order`, which has each op once.
static std::vector<int64_t> findWaits(const Graph &graph, llvm::ArrayRef<OpIndex> order) {
  std::vector<int64_t> waits(graph.numOps(), 0), ready(graph.numValues(), 0);
  ResourceClock clock;
  OpIndex lastOfLink = -1;
  for (OpIndex index : order) {
    const Op &op = graph.op(index);
    int64_t &free = clock.of(op.resource);
    int64_t start = free;
    OpIndex awaited = -1;
    for (ValueIndex value : op.reads)
      if (ready[value] > start) {
        start = ready[value];
        awaited = graph.writer(value);
      }
    if (op.resource == Resource::Link)
      lastOfLink = index;
    else if (awaited >= 0)
      waits[awaited] += start - free;
    free = start + op.cost;
    for (ValueIndex value : op.writes)
      ready[value] = graph.problem().values[value].orderOnly ? 0 : free;
  }
  const int64_t excess = clock.of(Resource::Link) - clock.of(Resource::Compute);
  if (lastOfLink >= 0 && excess > 0)
    waits[lastOfLink] += excess;
  return waits;
}

Problem llmmem::planning::withExposedCosts(const Problem &problem) {
  if (!hasSeveralResources(problem))
    return problem;
  const Graph graph(problem);
  int64_t longest = 0;
  for (const Op &op : problem.ops)
    if (op.resource == Resource::Link)
      longest = std::max(longest, op.cost);
  const OverlappedOrder order = overlap(graph, givenOrder(graph), {2 * longest, INT64_MAX});
  const std::vector<int64_t> waits = findWaits(graph, order.steps);
  Problem priced = problem;
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    if (priced.ops[op].resource == Resource::Link) {
      priced.ops[op].cost = waits[op];
      priced.ops[op].resource = Resource::Compute;
    }
  for (Value &value : priced.values)
    value.orderOnly = false; // nothing overlaps it
  return priced;
}
