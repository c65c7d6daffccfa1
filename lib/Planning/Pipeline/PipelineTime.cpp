//===- PipelineTime.cpp - How long a pipeline takes -----------------------------===//

#include "llmmem/Planning/Pipeline/PipelineTime.h"
#include <algorithm>
#include <map>
#include <tuple>

using namespace llmmem::planning;

double PipelineTime::bubble() const {
  int64_t sum = 0;
  for (int64_t stage : busy)
    sum += stage;
  double all = static_cast<double>(ns) * static_cast<double>(busy.size());
  return all > 0 ? 1.0 - static_cast<double>(sum) / all : 0.0;
}

namespace {
class Clock {
public:
  Clock(const PipelineShape &shape, llvm::ArrayRef<ChunkCost> costs) : shape(shape), costs(costs) {}

  /// Says whether all that `task` waits for has ended; `at` is then when it may begin.
  bool mayBegin(const PipelineTask &task, int64_t &at) const;
  int64_t costOf(const PipelineTask &task) const {
    return llmmem::planning::costOf(task, shape, costs);
  }
  void end(const PipelineTask &task, int64_t at) { ended[keyOf(task)] = at; }

private:
  using Key = std::tuple<TaskKind, int64_t, int64_t>;
  static Key keyOf(const PipelineTask &task) { return {task.kind, task.microBatch, task.chunk}; }

  const PipelineShape &shape;
  llvm::ArrayRef<ChunkCost> costs;
  std::map<Key, int64_t> ended;
};
} // namespace

int64_t llmmem::planning::costOf(const PipelineTask &task, const PipelineShape &shape,
                                 llvm::ArrayRef<ChunkCost> costs) {
  const ChunkCost &cost = costs[task.chunk];
  switch (task.kind) {
  case TaskKind::Forward:
    return cost.forward;
  case TaskKind::Backward:
    return cost.backward + (shape.splitsBackward() ? 0 : cost.weights);
  case TaskKind::WeightGradient:
    return cost.weights;
  }
  return 0;
}

bool Clock::mayBegin(const PipelineTask &task, int64_t &at) const {
  auto after = [&](PipelineTask before, int64_t message) {
    auto found = ended.find(keyOf(before));
    if (found == ended.end())
      return false;
    bool isOwn = shape.stageOf(before.chunk) == shape.stageOf(task.chunk);
    at = std::max(at, found->second + (isOwn ? 0 : message));
    return true;
  };
  PipelineTask before = task;
  if (task.kind == TaskKind::WeightGradient) {
    before.kind = TaskKind::Backward;
    return after(before, 0);
  }
  if (task.kind == TaskKind::Forward) {
    --before.chunk;
    return task.chunk == 0 || after(before, costs[before.chunk].message);
  }
  ++before.chunk;
  if (task.chunk + 1 < shape.numChunks() && !after(before, costs[task.chunk].message))
    return false;
  return after({TaskKind::Forward, task.microBatch, task.chunk}, 0);
}

PipelineTime llmmem::planning::modelTime(const PipelineShape &shape,
                                         const std::vector<std::vector<PipelineTask>> &schedule,
                                         llvm::ArrayRef<ChunkCost> costs) {
  PipelineTime time;
  time.busy.assign(shape.stages, 0);
  std::vector<int64_t> now(shape.stages, 0);
  std::vector<size_t> next(shape.stages, 0);
  Clock clock(shape, costs);
  for (bool moved = true; moved;) {
    moved = false;
    for (int64_t stage = 0; stage < shape.stages; ++stage)
      for (; next[stage] < schedule[stage].size(); ++next[stage]) {
        const PipelineTask &task = schedule[stage][next[stage]];
        int64_t at = now[stage];
        if (!clock.mayBegin(task, at))
          break;
        now[stage] = at + clock.costOf(task);
        time.busy[stage] += clock.costOf(task);
        clock.end(task, now[stage]);
        moved = true;
      }
  }
  time.ns = *std::max_element(now.begin(), now.end());
  return time;
}
