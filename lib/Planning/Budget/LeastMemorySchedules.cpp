//===- LeastMemorySchedules.cpp - Schedules on the way to the least memory --------===//

#include "LeastMemorySchedules.h"
#include "Schedulers/Eviction.h"
#include "Schedulers/LaterRuns.h"
#include "Tuning/Constants.h"
#include <algorithm>

using namespace llmmem::planning;

std::vector<OpIndex> llmmem::planning::withLaterRuns(const Graph &graph,
                                                     const std::vector<OpIndex> &steps) {
  if (steps.size() > tuning::mostStepsOfDescent)
    return steps;
  std::vector<OpIndex> later = runLater(graph, steps);
  return profile(graph, later).peak <= profile(graph, steps).peak ? later : steps;
}

/// Realizes every level of the smallest table that has a plan, and of the next table.
void LeastMemorySchedules::addEveryLevel() {
  const size_t last = tables.numberFor(context.stageInputs().peak);
  size_t number = 0;
  while (number < last && !tables.table(number).hasPlan())
    ++number;
  for (const size_t end = std::min(number + 1, last); number <= end; ++number) {
    NestedProgram &nested = tables.table(number);
    int64_t lastCost = -1;
    const int32_t stride = std::max(1, nested.numLevels() / tuning::mostLevelsRealized);
    for (int32_t level = 0; level < nested.numLevels(); ++level) {
      const int64_t cost = nested.cost(level);
      if (cost < 0 || cost == lastCost || (lastCost >= 0 && level % stride != 0))
        continue;
      lastCost = cost;
      found.push_back(
          context.improved(nested.realizeLevel(level).steps, 0, "nested recomputation", spent));
      context.progress.report("the least memory", tables.capacityOf(number));
    }
  }
}

void LeastMemorySchedules::descend() {
  const Graph &graph = context.graph;
  const Candidate *start = nullptr;
  for (const Candidate &candidate : found)
    if (candidate.steps.size() <= tuning::mostStepsOfDescent &&
        (!start || holdsLess(candidate, *start)))
      start = &candidate;
  if (!start)
    return;
  std::vector<OpIndex> steps = start->steps;
  int64_t peak = start->peak;
  const int64_t width = std::max<int64_t>(1, (peak - graph.residentBytes()) / tuning::descentSteps);
  bool hasRunLater = false; // whether a run was moved later since the last eviction
  std::vector<int64_t> targets;
  for (int64_t left = context.work / tuning::descentWorkPart; left > 0;) {
    const int64_t target = peak - width;
    if (target < graph.residentBytes())
      break;
    if (!evictUntilFits(graph, steps, target, context.evictionDepth(), left)) {
      // An op that may not run again is not evicted: it stays in the way unless it runs later. This
      // is done once, as runs that pass each other would do so forever.
      if (hasRunLater)
        break;
      std::vector<OpIndex> later = withLaterRuns(graph, steps);
      if (later == steps)
        break;
      steps = std::move(later);
      peak = profile(graph, steps).peak;
      hasRunLater = true;
      continue;
    }
    hasRunLater = false;
    found.push_back(measured(graph, steps, "eviction"));
    peak = found.back().peak;
    targets.push_back(target);
    context.progress.report("eviction", target);
  }
  improveLast(targets);
}

/// Improves the schedules of the fewest bytes, which alone are placed as they are. Callers that
/// take others improve them then.
void LeastMemorySchedules::improveLast(llvm::ArrayRef<int64_t> targets) {
  targets = targets.take_back(tuning::mostLeastImproved);
  for (size_t at = 0; at < targets.size(); ++at) {
    Candidate &candidate = found[found.size() - targets.size() + at];
    candidate =
        context.improved(std::move(candidate.steps), targets[at], candidate.searcher, spent);
  }
}

const Candidates &LeastMemorySchedules::all() {
  if (!found.empty())
    return found;
  found = {context.given(), context.ofChain(), context.ordered(), context.stageInputs()};
  if (tables.isOffered())
    addEveryLevel();
  descend();
  llvm::stable_sort(found, holdsLess);
  return found;
}
