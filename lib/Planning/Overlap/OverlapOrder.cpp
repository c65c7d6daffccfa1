//===- OverlapOrder.cpp - Orders that overlap two resources ------------------===//

#include "OverlapOrder.h"
#include "LiveBytes.h"
#include "Timeline.h"
#include <algorithm>
#include <queue>
#include <set>

namespace llmmem::planning {
namespace {

class ListScheduler {
public:
  ListScheduler(const Graph &graph, llvm::ArrayRef<OpIndex> steps, OverlapLimits limits)
      : graph(graph), steps(steps), limits(limits), runs(steps.size()),
        live(graph, steps, limits.capacity) {
    linkRuns();
    measureWork();
  }

  OverlappedOrder run();

private:
  struct Run {
    std::vector<int32_t> before, after; // runs that must be over first, and that wait for this one
    std::vector<int32_t> ordersBefore, ordersAfter; // the same in the order, but not in time
    int32_t waits = 0;            // the number of runs that it waits for and that have no place yet
    int64_t position = 0;         // compute cost of the steps before it in the given order
    int64_t neededAt = INT64_MAX; // the least position of its readers
    int64_t ready = 0, start = 0, end = 0;
    bool isPlaced = false;
  };
  struct Choice {
    int32_t run = -1;
    int64_t start = INT64_MAX;
  };
  using Ready = std::set<int32_t>; // runs, in the given order

  const Op &op(int32_t run) const { return graph.op(steps[run]); }
  bool isCompute(int32_t run) const { return op(run).resource == Resource::Compute; }
  Ready &readyOf(int32_t run) { return isCompute(run) ? readyCompute : readyOthers; }
  void linkRuns();
  void addEdge(int32_t first, int32_t second);
  void addOrderEdge(int32_t first, int32_t second);
  void release(int32_t run, int64_t time);
  void measureWork();
  bool isTooFar(int32_t run) const;
  Choice choose(const Ready &ready);
  Choice choose();
  Choice withoutRoom();
  void place(const Choice &choice);
  int64_t orderKey(int32_t run) const;
  std::vector<int32_t> inOrderOfTime() const;
  std::vector<StepSpan> spansOf(llvm::ArrayRef<int32_t> order) const;

  const Graph &graph;
  llvm::ArrayRef<OpIndex> steps;
  const OverlapLimits limits;
  std::vector<Run> runs;
  int32_t first = 0; // the first step of compute in the given order that has no place
  LiveBytes live;
  Ready readyCompute, readyOthers;
  ResourceClock clock;
  int64_t last = 0;
};

} // namespace

void ListScheduler::addEdge(int32_t first, int32_t second) {
  runs[first].after.push_back(second);
  runs[second].before.push_back(first);
}

void ListScheduler::addOrderEdge(int32_t first, int32_t second) {
  runs[first].ordersAfter.push_back(second);
  runs[second].ordersBefore.push_back(first);
}

/// Links the runs. A run follows the writer of each instance that it reads, and writes a value
/// again only when the instance before has been read.
void ListScheduler::linkRuns() {
  std::vector<int32_t> writer(graph.numValues(), -1);
  std::vector<std::vector<int32_t>> readers(graph.numValues());
  for (int32_t run = 0; run < static_cast<int32_t>(runs.size()); ++run) {
    for (ValueIndex value : op(run).reads) {
      if (writer[value] >= 0 && graph.problem().values[value].orderOnly)
        addOrderEdge(writer[value], run);
      else if (writer[value] >= 0)
        addEdge(writer[value], run);
      readers[value].push_back(run);
    }
    for (ValueIndex value : op(run).writes) {
      for (int32_t reader : readers[value])
        if (reader != run)
          addEdge(reader, run);
      if (writer[value] >= 0)
        addEdge(writer[value], run);
      readers[value].clear();
      writer[value] = run;
    }
  }
  for (Run &run : runs) {
    for (auto *others : {&run.before, &run.after, &run.ordersBefore, &run.ordersAfter}) {
      llvm::sort(*others);
      others->erase(llvm::unique(*others), others->end());
    }
    run.waits = static_cast<int32_t>(run.before.size() + run.ordersBefore.size());
  }
}

void ListScheduler::measureWork() {
  int64_t work = 0;
  for (int32_t run = 0; run < static_cast<int32_t>(runs.size()); ++run) {
    runs[run].position = work;
    work += isCompute(run) ? op(run).cost : 0;
    for (int32_t writer : runs[run].before)
      runs[writer].neededAt = std::min(runs[writer].neededAt, runs[run].position);
    if (runs[run].waits == 0)
      readyOf(run).insert(run);
  }
}

/// Says whether the run is too far ahead. Compute steps run ahead of the first by the window at
/// most, other steps ahead of their reader. A run that nothing waits for is never too early.
bool ListScheduler::isTooFar(int32_t run) const {
  if (first == static_cast<int32_t>(runs.size()))
    return false;
  const Run &it = runs[run];
  const int64_t position = isCompute(run) || it.neededAt == INT64_MAX ? it.position : it.neededAt;
  return position > runs[first].position + limits.window;
}

/// Chooses what can start first, and among equals what is needed first.
ListScheduler::Choice ListScheduler::choose(const Ready &ready) {
  Choice best;
  int64_t bestNeeded = INT64_MAX;
  for (int32_t run : ready) {
    if (isTooFar(run)) {
      if (isCompute(run))
        break; // later ones are farther
      continue;
    }
    const int64_t free = std::max(clock.of(op(run).resource), runs[run].ready);
    if (free > best.start || !live.fitsAhead(run, isCompute(run) ? run : first))
      continue;
    const int64_t start = live.firstFit(run, free);
    const int64_t needed = isCompute(run) ? runs[run].position : runs[run].neededAt;
    if (start < best.start || (start == best.start && start < INT64_MAX && needed < bestNeeded)) {
      best = {run, start};
      bestNeeded = needed;
    }
  }
  return best;
}

ListScheduler::Choice ListScheduler::choose() {
  const Choice other = choose(readyOthers), compute = choose(readyCompute);
  if (other.run < 0 && compute.run < 0)
    return withoutRoom();
  return other.start <= compute.start ? other : compute;
}

/// Goes on as the given order does, where nothing fits next to what is held and nothing ends that
/// would make room. The profile of the whole order says whether that is too much.
ListScheduler::Choice ListScheduler::withoutRoom() {
  int32_t run = static_cast<int32_t>(runs.size());
  for (const Ready *ready : {&readyCompute, &readyOthers})
    if (!ready->empty())
      run = std::min(run, *ready->begin());
  return {run, std::max(clock.of(op(run).resource), runs[run].ready)};
}

void ListScheduler::place(const Choice &choice) {
  Run &it = runs[choice.run];
  readyOf(choice.run).erase(choice.run);
  it.isPlaced = true;
  it.start = choice.start;
  it.end = it.start + op(choice.run).cost;
  clock.of(op(choice.run).resource) = it.end;
  last = std::max(last, it.end);
  live.take(choice.run, it.start, it.end, isCompute(choice.run) ? choice.run : first);
  for (int32_t next : it.after)
    release(next, it.end);
  // What comes after this in the order may have begun before it, by the window at most.
  for (int32_t next : it.ordersAfter)
    release(next, it.start - std::min(it.start, limits.window));
}

/// Notes that one of the runs that `run` waits for has a place, and lets it start at `time`.
void ListScheduler::release(int32_t run, int64_t time) {
  runs[run].ready = std::max(runs[run].ready, time);
  if (--runs[run].waits == 0)
    readyOf(run).insert(run);
}

/// Returns the place of a run in the order: bytes are held from there on, and up to there. The
/// place of a collective whose operands are larger than its results is its end, so that the
/// operands' bytes are not given to others before that. The place of any other run is its start.
int64_t ListScheduler::orderKey(int32_t run) const {
  if (isCompute(run))
    return runs[run].start;
  int64_t operands = 0, results = 0;
  for (ValueIndex value : op(run).reads)
    operands += graph.bytes(value);
  for (ValueIndex value : op(run).writes)
    results += graph.bytes(value);
  return operands > results ? runs[run].end : runs[run].start;
}

std::vector<int32_t> ListScheduler::inOrderOfTime() const {
  using Entry = std::pair<int64_t, int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> next;
  std::vector<int32_t> waits(runs.size());
  for (int32_t run = 0; run < static_cast<int32_t>(runs.size()); ++run)
    if ((waits[run] =
             static_cast<int32_t>(runs[run].before.size() + runs[run].ordersBefore.size())) == 0)
      next.push({orderKey(run), run});
  std::vector<int32_t> order;
  while (!next.empty()) {
    const int32_t run = next.top().second;
    next.pop();
    order.push_back(run);
    for (const auto *others : {&runs[run].after, &runs[run].ordersAfter})
      for (int32_t later : *others)
        if (--waits[later] == 0)
          next.push({orderKey(later), later});
  }
  return order;
}

/// Returns the span of each step. Compute steps run one after another, so those that overlap a step
/// are neighbours in the order.
std::vector<StepSpan> ListScheduler::spansOf(llvm::ArrayRef<int32_t> order) const {
  std::vector<int32_t> compute; // places in the order
  for (auto [place, run] : llvm::enumerate(order))
    if (isCompute(run))
      compute.push_back(static_cast<int32_t>(place));
  std::vector<StepSpan> spans;
  for (auto [place, run] : llvm::enumerate(order)) {
    const int32_t own = static_cast<int32_t>(place);
    spans.push_back({own, own});
    if (isCompute(run))
      continue;
    const Run &it = runs[run];
    auto begin = llvm::partition_point(
        compute, [&](int32_t other) { return runs[order[other]].end <= it.start; });
    auto past = llvm::partition_point(
        compute, [&](int32_t other) { return runs[order[other]].start < it.end; });
    if (begin < past)
      spans.back() = {std::min(own, *begin), std::max(own, *(past - 1))};
  }
  return spans;
}

OverlappedOrder ListScheduler::run() {
  const int32_t count = static_cast<int32_t>(runs.size());
  for (int32_t placed = 0; placed < count; ++placed) {
    graph.poll();
    while (first < count && (runs[first].isPlaced || !isCompute(first)))
      ++first;
    place(choose());
  }
  const std::vector<int32_t> order = inOrderOfTime();
  OverlappedOrder result;
  for (int32_t run : order)
    result.steps.push_back(steps[run]);
  result.spans = spansOf(order);
  result.time = last;
  return result;
}

OverlappedOrder overlap(const Graph &graph, llvm::ArrayRef<OpIndex> steps, OverlapLimits limits) {
  return ListScheduler(graph, steps, limits).run();
}

} // namespace llmmem::planning
