//===- Timeline.cpp - When each step runs on its resource --------------------===//

#include "Timeline.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace llmmem::planning {
namespace {

/// Tracks until when each byte of an arena is in use. It returns the largest time of a range, and
/// raises a range to a time, in O(log n) of the n places where buffers begin or end.
class BusyUntil {
public:
  explicit BusyUntil(std::vector<int64_t> borders) : places(std::move(borders)) {
    llvm::sort(places);
    places.erase(llvm::unique(places), places.end());
    while (leaves < static_cast<int64_t>(places.size()))
      leaves *= 2;
    largest.assign(2 * leaves, 0);
    whole.assign(2 * leaves, 0);
  }

  int64_t of(int64_t begin, int64_t end) const {
    int64_t found = 0;
    cover(begin, end, [&](int64_t node, bool isWhole) {
      found = std::max(found, isWhole ? largest[node] : whole[node]);
    });
    return found;
  }

  void raise(int64_t begin, int64_t end, int64_t time) {
    cover(begin, end, [&](int64_t node, bool isWhole) {
      largest[node] = std::max(largest[node], time);
      if (isWhole)
        whole[node] = std::max(whole[node], time);
    });
  }

private:
  int64_t leafOf(int64_t place) const { return llvm::lower_bound(places, place) - places.begin(); }

  /// Visits the nodes that make up the range (`isWhole`) and all nodes above them.
  template <typename Visit>
  void cover(int64_t begin, int64_t end, Visit visit) const {
    if (begin < end)
      coverUnder(1, 0, leaves, leafOf(begin), leafOf(end), visit);
  }
  template <typename Visit>
  void coverUnder(int64_t node, int64_t first, int64_t last, int64_t begin, int64_t end,
                  Visit &visit) const {
    if (end <= first || last <= begin)
      return;
    const bool isWhole = begin <= first && last <= end;
    visit(node, isWhole);
    if (isWhole)
      return;
    const int64_t middle = (first + last) / 2;
    coverUnder(2 * node, first, middle, begin, end, visit);
    coverUnder(2 * node + 1, middle, last, begin, end, visit);
  }

  std::vector<int64_t> places; // leaf k: from places[k] to places[k + 1]
  int64_t leaves = 1;
  std::vector<int64_t> largest; // the largest time anywhere under a node
  std::vector<int64_t> whole;   // the time to which the whole of a node's range was raised
};

struct ByteRange {
  int64_t begin, end;
  MemoryIndex memory = 0;
};

/// The bytes that each step of a placed plan reads, and those that it writes or works in.
class StepBytes {
public:
  StepBytes(const Problem &problem, const Plan &plan)
      : written(plan.steps.size()), current(problem.values.size(), {0, 0}),
        places(problem.numMemories()) {
    for (const InstanceOffset &entry : plan.offsets) {
      const Value &value = problem.values[entry.value];
      ByteRange range{entry.offset, entry.offset + value.bytes, value.memory};
      note(range);
      if (entry.step < 0)
        current[entry.value] = range;
      else
        written[entry.step].push_back({entry.value, range});
    }
    workspace.assign(plan.steps.size(), {0, 0});
    for (const WorkspaceOffset &entry : plan.workspaces) {
      const Op &op = problem.ops[plan.steps[entry.step]];
      workspace[entry.step] = {entry.offset, entry.offset + op.workspace, op.workspaceMemory};
      note(workspace[entry.step]);
    }
  }

  /// Returns one tracker for each memory.
  std::vector<BusyUntil> timesOfBytes() const { return {places.begin(), places.end()}; }
  ByteRange read(ValueIndex value) const { return current[value]; }
  template <typename Visit>
  void forWritten(int32_t step, Visit visit) const {
    visit(workspace[step]);
    for (const auto &[value, range] : written[step])
      visit(range);
  }
  /// Makes the instances of this step the latest ones.
  void finish(int32_t step) {
    for (const auto &[value, range] : written[step])
      current[value] = range;
  }

private:
  void note(ByteRange range) {
    places[range.memory].push_back(range.begin);
    places[range.memory].push_back(range.end);
  }

  std::vector<std::vector<std::pair<ValueIndex, ByteRange>>> written; // by step
  std::vector<ByteRange> current, workspace;
  std::vector<std::vector<int64_t>> places; // where buffers begin or end, by memory
};

/// Notes the end of `op`. What reads a result of it waits for it, unless the result only orders
/// ops.
void noteEnd(const Problem &problem, const Op &op, int64_t end, std::vector<int64_t> &ready) {
  for (ValueIndex value : op.writes)
    if (!problem.values[value].orderOnly)
      ready[value] = end;
}

} // namespace

std::vector<StepTime> stepTimes(const Problem &problem, const Plan &plan) {
  StepBytes bytes(problem, plan);
  std::vector<BusyUntil> busy = bytes.timesOfBytes();
  ResourceClock clock;
  std::vector<int64_t> ready(problem.values.size(), 0); // when the latest instance was written
  std::vector<StepTime> times;
  for (int32_t step = 0; step < static_cast<int32_t>(plan.steps.size()); ++step) {
    const Op &op = problem.ops[plan.steps[step]];
    int64_t start = clock.of(op.resource);
    for (ValueIndex value : op.reads)
      start = std::max(start, ready[value]);
    bytes.forWritten(step, [&](ByteRange range) {
      start = std::max(start, busy[range.memory].of(range.begin, range.end));
    });
    const int64_t end = start + op.cost;
    auto raise = [&](ByteRange range) { busy[range.memory].raise(range.begin, range.end, end); };
    for (ValueIndex value : op.reads)
      raise(bytes.read(value));
    bytes.forWritten(step, raise);
    bytes.finish(step);
    noteEnd(problem, op, end, ready);
    clock.of(op.resource) = end;
    times.push_back({start, end});
  }
  return times;
}

int64_t timeOf(const Problem &problem, const Plan &plan) {
  int64_t last = 0;
  for (const StepTime &time : stepTimes(problem, plan))
    last = std::max(last, time.end);
  return last;
}

int64_t timeWithoutSharing(const Problem &problem, std::span<const OpIndex> steps) {
  ResourceClock clock;
  std::vector<int64_t> ready(problem.values.size(), 0);
  int64_t last = 0;
  for (OpIndex index : steps) {
    const Op &op = problem.ops[index];
    int64_t end = clock.of(op.resource);
    for (ValueIndex value : op.reads)
      end = std::max(end, ready[value]);
    end += op.cost;
    noteEnd(problem, op, end, ready);
    clock.of(op.resource) = end;
    last = std::max(last, end);
  }
  return last;
}

} // namespace llmmem::planning
