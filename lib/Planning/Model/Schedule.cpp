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

namespace {
/// Instances under construction: `current[value]` is the one that a read sees now.
struct LiveRanges {
  std::vector<Instance> list;
  std::vector<int32_t> current;
};
} // namespace

static LiveRanges liveRanges(const Graph &graph, llvm::ArrayRef<OpIndex> steps) {
  LiveRanges result;
  result.current.assign(graph.numValues(), -1);
  auto write = [&](ValueIndex value, int32_t step) {
    result.current[value] = static_cast<int32_t>(result.list.size());
    result.list.push_back({value, step, step});
  };
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    if (graph.writer(value) < 0 && (!graph.readers(value).empty() || graph.isKept(value)))
      write(value, -1);
  for (int32_t step = 0; step < static_cast<int32_t>(steps.size()); ++step) {
    const Op &op = graph.op(steps[step]);
    for (ValueIndex value : op.reads)
      if (result.current[value] >= 0)
        result.list[result.current[value]].to = step;
    for (ValueIndex value : op.writes)
      write(value, step);
  }
  for (ValueIndex value : graph.problem().keep)
    if (result.current[value] >= 0)
      result.list[result.current[value]].to = static_cast<int32_t>(steps.size());
  return result;
}

std::vector<Instance> llmmem::planning::instances(const Graph &graph,
                                                  llvm::ArrayRef<OpIndex> steps) {
  return liveRanges(graph, steps).list;
}

int64_t llmmem::planning::sharedBytes(const Graph &graph, const Op &op,
                                      llvm::function_ref<bool(ValueIndex)> dies) {
  int64_t shared = 0;
  for (const InPlace &pair : chooseInPlace(graph.problem(), op, dies))
    shared += graph.bytes(pair.write);
  return shared;
}

Profile llmmem::planning::profile(const Graph &graph, llvm::ArrayRef<OpIndex> steps) {
  LiveRanges ranges = liveRanges(graph, steps);
  int32_t count = static_cast<int32_t>(steps.size());
  Profile result;
  std::vector<int64_t> change(count + 1, 0);
  for (const Instance &instance : ranges.list) {
    change[std::max(instance.from, 0)] += graph.bytes(instance.value);
    if (instance.to < count)
      change[instance.to + 1] -= graph.bytes(instance.value);
  }
  // The last read of each value's current instance, replayed in step order for the in-place rule.
  std::vector<int32_t> lastRead(graph.numValues(), -1);
  size_t next = 0;
  auto enter = [&](int32_t step) {
    for (; next < ranges.list.size() && ranges.list[next].from == step; ++next)
      lastRead[ranges.list[next].value] = ranges.list[next].to;
  };
  enter(-1);
  int64_t live = graph.residentBytes();
  result.bytes.resize(count);
  for (int32_t step = 0; step < count; ++step) {
    const Op &op = graph.op(steps[step]);
    live += change[step];
    int64_t held = live + graph.workspace(steps[step]);
    if (!op.inPlace.empty())
      held -= sharedBytes(graph, op, [&](ValueIndex value) { return lastRead[value] == step; });
    enter(step);
    result.cost += op.cost;
    result.bytes[step] = held;
    if (held > result.peak) {
      result.peak = held;
      result.peakStep = step;
    }
  }
  result.peak = std::max(result.peak, graph.residentBytes());
  return result;
}

void llmmem::planning::dropUselessRepeats(const Graph &graph, std::vector<OpIndex> &steps) {
  // From the last step to the first: a run is useful if it is the op's first, or if a result is
  // read before its next write. Removing a run removes its reads, so the runs before it are decided
  // after it.
  std::vector<int32_t> runs(graph.numOps(), 0);
  for (OpIndex op : steps)
    ++runs[op];
  std::vector<bool> wanted(graph.numValues(), false);
  for (ValueIndex value : graph.problem().keep)
    wanted[value] = true;
  std::vector<OpIndex> useful;
  useful.reserve(steps.size());
  for (OpIndex index : llvm::reverse(steps)) {
    const Op &op = graph.op(index);
    bool isUseful = llvm::any_of(op.writes, [&](ValueIndex value) { return wanted[value]; });
    if (!isUseful && runs[index] > 1) {
      --runs[index];
      continue;
    }
    for (ValueIndex value : op.writes)
      wanted[value] = false;
    for (ValueIndex value : op.reads)
      wanted[value] = true;
    useful.push_back(index);
  }
  std::reverse(useful.begin(), useful.end());
  steps = std::move(useful);
}
