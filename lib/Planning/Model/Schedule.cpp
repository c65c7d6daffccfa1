//===- Schedule.cpp - Cost and live bytes of an execution order --------------===//

#include "llmmem/Planning/Model/Schedule.h"
#include "llmmem/Planning/Model/InPlace.h"
#include <algorithm>
#include <numeric>

using namespace llmmem::planning;

std::vector<OpIndex> llmmem::planning::givenOrder(const Graph &graph) {
  std::vector<OpIndex> order(graph.numOps());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<Instance> llmmem::planning::instances(const Graph &graph,
                                                  llvm::ArrayRef<OpIndex> steps) {
  std::vector<Instance> list;
  list.reserve(graph.numValues() + 2 * steps.size());
  std::vector<int32_t> current(graph.numValues(), -1); // the instance that a read sees now
  auto write = [&](ValueIndex value, int32_t step) {
    current[value] = static_cast<int32_t>(list.size());
    list.push_back({value, step, step});
  };
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    if (graph.writer(value) < 0 && (!graph.readers(value).empty() || graph.isKept(value)))
      write(value, -1);
  for (int32_t step = 0; step < static_cast<int32_t>(steps.size()); ++step) {
    for (ValueIndex value : graph.reads(steps[step]))
      if (current[value] >= 0)
        list[current[value]].to = step;
    for (ValueIndex value : graph.writes(steps[step]))
      write(value, step);
  }
  for (ValueIndex value : graph.problem().keep)
    if (current[value] >= 0)
      list[current[value]].to = static_cast<int32_t>(steps.size());
  return list;
}

int64_t llmmem::planning::sharedBytes(const Graph &graph, const Op &op,
                                      llvm::function_ref<bool(ValueIndex)> dies) {
  int64_t shared = 0;
  for (const InPlace &pair : chooseInPlace(graph.problem(), op, dies))
    shared += graph.bytes(pair.write);
  return shared;
}

BackwardScan::BackwardScan(const Graph &graph)
    : graph(&graph), livenessOf(graph.numValues(), Unread), live(graph.residentBytes()) {
  for (ValueIndex value : graph.problem().keep) {
    live += livenessOf[value] == Unread ? graph.bytes(value) : 0;
    livenessOf[value] = ReadLater;
  }
}

Profile llmmem::planning::profile(const Graph &graph, llvm::ArrayRef<OpIndex> steps,
                                  int64_t mostPeak) {
  BackwardScan scan(graph);
  Profile result;
  result.bytes.resize(steps.size());
  for (size_t step = steps.size(); step-- > 0;) {
    const int64_t held = scan.visit(steps[step]);
    result.cost += graph.cost(steps[step]);
    result.bytes[step] = held;
    if (held > 0 && held >= result.peak) { // the first of the fullest steps
      result.peak = held;
      result.peakStep = static_cast<int32_t>(step);
      if (held > mostPeak)
        return result;
    }
  }
  result.peak = std::max(result.peak, graph.residentBytes());
  return result;
}

void llmmem::planning::dropUselessRepeats(const Graph &graph, std::vector<OpIndex> &steps) {
  // The loop goes from the last step to the first. A run is useful if it is the op's first, or if a
  // result is read before its next write. Removing a run removes its reads, so the runs before it
  // are decided after it.
  std::vector<int32_t> runs(graph.numOps(), 0);
  for (OpIndex op : steps)
    ++runs[op];
  std::vector<uint8_t> wanted(graph.numValues(), false);
  for (ValueIndex value : graph.problem().keep)
    wanted[value] = true;
  size_t kept = steps.size(); // those from here on are decided
  for (size_t step = steps.size(); step-- > 0;) {
    const OpIndex op = steps[step];
    uint8_t isUseful = runs[op] == 1;
    for (ValueIndex value : graph.writes(op))
      isUseful |= wanted[value];
    if (!isUseful) {
      --runs[op];
      continue;
    }
    for (ValueIndex value : graph.writes(op))
      wanted[value] = false;
    for (ValueIndex value : graph.reads(op))
      wanted[value] = true;
    steps[--kept] = op;
  }
  steps.erase(steps.begin(), steps.begin() + static_cast<ptrdiff_t>(kept));
}
