//===- PlacedSearch.cpp - All schedules and all placements of a small problem ----===//

#include "PlacedSearch.h"
#include "ExactSearch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/bit.h"
#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <set>

using namespace llmmem::planning;

static constexpr int16_t noSlot = -1;
static constexpr size_t mostSlots = 2000; // offsets; with more the search does not finish

namespace {
using Slots =
    std::vector<int16_t>; // by value: the index of its offset, none where it is not in the arena

struct State {
  uint32_t done;
  Slots slots;
  int64_t cost; // the cost of repeats alone: every op runs once in any case
  int32_t parent;
  OpIndex op;
  Slots written;     // by result of `op`: its offset
  int16_t workspace; // the offset of the workspace of `op`
};

/// The values and ops that are still needed once certain ops have run.
struct Remaining {
  std::vector<bool> values, ops;
};

/// The results of one run of an op, under construction.
struct Run {
  int32_t from;
  OpIndex op;
  Slots written;
  std::vector<bool> isTaken; // by operand: whether a result has taken its bytes
};

class Search {
public:
  Search(const Graph &graph, int64_t arena, int64_t &work);
  PlacedAnswer run();

private:
  int64_t bytes(ValueIndex value) const { return graph.problem().values[value].bytes; }
  bool isResident(ValueIndex value) const { return graph.problem().values[value].resident; }
  void listOffsets();
  bool fits(int16_t slot, int64_t size);
  bool overlap(int16_t a, int64_t sizeOfA, int16_t b, int64_t sizeOfB) const;
  bool isFree(const Run &run, int16_t slot, int64_t size) const;
  void placeInputs(std::vector<ValueIndex> inputs, Slots slots);
  void runOp(int32_t from, OpIndex op);
  void placeResult(Run &run);
  void placeWorkspace(const Run &run);
  void arrive(const Run &run, int16_t workspace);
  void reach(State state);
  int64_t atLeast(const State &state);
  const Remaining &remaining(uint32_t done);
  bool isDominated(const State &state);
  Plan planTo(int32_t last) const;
  void addStep(const State &state, Plan &plan) const;
  int64_t peakOf(const Plan &plan) const;

  const Graph &graph;
  const int64_t arena;
  int64_t &work;
  std::vector<int64_t> offsets; // by slot, increasing; the last ones are beyond the arena
  int64_t refused = INT64_MAX;  // the smallest end that was beyond the arena
  std::vector<State> states;
  using Entry = std::tuple<int64_t, int32_t, int32_t>; // least cost, remaining ops, state
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  llvm::StringMap<int64_t> bestCost;
  std::map<uint32_t, std::vector<int32_t>> settled; // by set of ops done
  std::map<uint32_t, Remaining> remainingOf;        // by set of ops done
  std::map<std::pair<uint32_t, std::vector<ValueIndex>>, int64_t>
      leastToEnd; // by sets of ops done and of values held
};
} // namespace

Search::Search(const Graph &graph, int64_t arena, int64_t &work)
    : graph(graph), arena(arena), work(work) {
  listOffsets();
}

/// Lists all sums of sizes up to the first beyond the arena.
void Search::listOffsets() {
  std::set<int64_t> sizes, sums = {0};
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    sizes.insert(graph.bytes(value));
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    sizes.insert(graph.workspace(op));
  sizes.erase(0);
  for (auto sum = sums.begin(); sum != sums.end() && sums.size() <= mostSlots; ++sum)
    if (*sum <= arena)
      for (int64_t size : sizes)
        sums.insert(*sum + size);
  offsets.assign(sums.begin(), sums.end());
}

/// Says whether a size fits at a slot. Offsets increase with the slot, so a loop over slots ends at
/// the first that does not fit.
bool Search::fits(int16_t slot, int64_t size) {
  const int64_t end = offsets[slot] + size;
  if (end > arena)
    refused = std::min(refused, end);
  return end <= arena;
}

bool Search::overlap(int16_t a, int64_t sizeOfA, int16_t b, int64_t sizeOfB) const {
  return a != noSlot && b != noSlot && offsets[a] < offsets[b] + sizeOfB &&
         offsets[b] < offsets[a] + sizeOfA;
}

/// Says whether the bytes are free. While an op runs, its operands, results and workspace must not
/// overlap.
bool Search::isFree(const Run &run, int16_t slot, int64_t size) const {
  const Op &op = graph.op(run.op);
  for (ValueIndex read : op.reads)
    if (overlap(slot, size, states[run.from].slots[read], bytes(read)))
      return false;
  for (size_t index = 0; index < run.written.size(); ++index)
    if (overlap(slot, size, run.written[index], bytes(op.writes[index])))
      return false;
  return true;
}

void Search::placeInputs(std::vector<ValueIndex> inputs, Slots slots) {
  if (inputs.empty()) {
    reach({0, std::move(slots), 0, -1, -1, {}, noSlot});
    return;
  }
  const ValueIndex input = inputs.back();
  inputs.pop_back();
  for (int16_t slot = 0; fits(slot, bytes(input)) && --work > 0; ++slot) {
    bool isClear = true;
    for (ValueIndex other = 0; other < graph.numValues(); ++other)
      isClear &= !overlap(slot, bytes(input), slots[other], bytes(other));
    if (!isClear)
      continue;
    Slots placed = slots;
    placed[input] = slot;
    placeInputs(inputs, std::move(placed));
    if (bytes(input) == 0)
      return; // any offset will do
  }
}

void Search::runOp(int32_t from, OpIndex op) {
  const Op &data = graph.op(op);
  if (!remaining(states[from].done).ops[op])
    return;
  for (ValueIndex read : data.reads)
    if (!isResident(read) && states[from].slots[read] == noSlot)
      return;
  Run run{from, op, {}, std::vector<bool>(data.reads.size(), false)};
  placeResult(run);
}

void Search::placeResult(Run &run) {
  const Op &op = graph.op(run.op);
  if (run.written.size() == op.writes.size())
    return placeWorkspace(run);
  const ValueIndex result = op.writes[run.written.size()];
  auto put = [&](int16_t slot) {
    run.written.push_back(slot);
    placeResult(run);
    run.written.pop_back();
  };
  if (bytes(result) == 0)
    return put(0);
  for (const InPlace &pair : op.inPlace) {
    if (pair.write != result || isResident(pair.read) || bytes(result) > bytes(pair.read))
      continue;
    const size_t operand = llvm::find(op.reads, pair.read) - op.reads.begin();
    if (run.isTaken[operand])
      continue;
    run.isTaken[operand] = true;
    put(states[run.from].slots[pair.read]);
    run.isTaken[operand] = false;
  }
  for (int16_t slot = 0; fits(slot, bytes(result)) && work > 0; ++slot)
    if (isFree(run, slot, bytes(result)))
      put(slot);
}

void Search::placeWorkspace(const Run &run) {
  const int64_t size = graph.op(run.op).workspace;
  if (size == 0)
    return arrive(run, noSlot);
  for (int16_t slot = 0; fits(slot, size) && work > 0; ++slot)
    if (isFree(run, slot, size))
      arrive(run, slot);
}

void Search::arrive(const Run &run, int16_t workspace) {
  --work;
  const State &before = states[run.from];
  const Op &op = graph.op(run.op);
  const bool isRepeat = before.done >> run.op & 1;
  State after{before.done | uint32_t(1) << run.op,
              before.slots,
              before.cost + (isRepeat ? op.cost : 0),
              run.from,
              run.op,
              run.written,
              workspace};
  const Remaining &useful = remaining(after.done);
  for (ValueIndex value = 0; value < graph.numValues(); ++value) {
    int16_t &slot = after.slots[value];
    bool isGone = overlap(slot, bytes(value), workspace, op.workspace);
    for (size_t index = 0; index < run.written.size(); ++index)
      isGone |= overlap(slot, bytes(value), run.written[index], bytes(op.writes[index]));
    if (isGone || !useful.values[value])
      slot = noSlot;
  }
  for (size_t index = 0; index < run.written.size(); ++index)
    if (useful.values[op.writes[index]])
      after.slots[op.writes[index]] = run.written[index];
  reach(std::move(after));
}

/// Returns what is still needed. Needed values are the operands of needed ops, and what must be
/// live at the end. An op is needed where it has not run yet, or where its results are needed
/// again.
const Remaining &Search::remaining(uint32_t done) {
  auto [it, isNew] = remainingOf.try_emplace(done);
  Remaining &result = it->second;
  if (!isNew)
    return result;
  result.values.assign(graph.numValues(), false);
  result.ops.assign(graph.numOps(), false);
  for (ValueIndex value : graph.problem().keep)
    result.values[value] = true;
  for (OpIndex index = graph.numOps(); index-- > 0;) { // readers come after their writers
    const Op &op = graph.op(index);
    result.ops[index] =
        !(done >> index & 1) || (op.recompute && llvm::any_of(op.writes, [&](ValueIndex value) {
                                   return result.values[value];
                                 }));
    if (result.ops[index])
      for (ValueIndex value : op.reads)
        result.values[value] = true;
  }
  return result;
}

void Search::reach(State state) {
  std::string key(reinterpret_cast<const char *>(state.slots.data()),
                  state.slots.size() * sizeof(state.slots[0]));
  key.append(reinterpret_cast<const char *>(&state.done), sizeof state.done);
  auto [it, isNew] = bestCost.try_emplace(key, state.cost);
  if (!isNew && it->second <= state.cost)
    return;
  it->second = state.cost;
  const int64_t toEnd = atLeast(state);
  if (toEnd == INT64_MAX)
    return;
  // At equal costs, the state with the fewest remaining ops comes first: it may finish at once.
  const int32_t toGo = graph.numOps() - llvm::popcount(state.done);
  open.push({state.cost + toEnd, toGo, static_cast<int32_t>(states.size())});
  states.push_back(std::move(state));
}

/// Returns the least cost of repeats from here on, by the search of every schedule without
/// placement: the estimate of A* (Hart, Nilsson & Raphael 1968). It is INT64_MAX where no schedule
/// reaches the end.
int64_t Search::atLeast(const State &state) {
  std::vector<ValueIndex> held;
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    if (state.slots[value] != noSlot)
      held.push_back(value);
  auto [it, isNew] = leastToEnd.try_emplace({state.done, held}, 0);
  if (!isNew)
    return it->second;
  int64_t firstRuns = 0;
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    if (!(state.done >> op & 1))
      firstRuns += graph.op(op).cost;
  const int64_t padding = graph.topPadding();
  constexpr int64_t quota = 20000;
  ExactAnswer answer =
      cheapestUnder(graph, graph.residentBytes() + arena + padding,
                    {.repeats = true, .work = quota, .done = state.done, .held = std::move(held)});
  work -= answer.work;
  if (answer.kind == ExactAnswer::Kind::Found)
    it->second = answer.cost - firstRuns;
  else if (answer.kind == ExactAnswer::Kind::None) {
    it->second = INT64_MAX;
    if (answer.leastBytes != INT64_MAX)
      refused = std::min(refused, answer.leastBytes - padding - graph.residentBytes());
  }
  return it->second;
}

bool Search::isDominated(const State &state) {
  for (int32_t index : settled[state.done]) {
    const Slots &other = states[index].slots;
    bool hasAll = states[index].cost <= state.cost;
    for (size_t value = 0; value < other.size() && hasAll; ++value)
      hasAll = state.slots[value] == noSlot || state.slots[value] == other[value];
    if (hasAll)
      return true;
  }
  work -= static_cast<int64_t>(settled[state.done].size()) / 64;
  return false;
}

PlacedAnswer Search::run() {
  PlacedAnswer answer;
  if (offsets.size() > mostSlots)
    return answer;
  std::vector<ValueIndex> inputs;
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    if (graph.writer(value) < 0 && !isResident(value) && remaining(0).values[value])
      inputs.push_back(value);
  placeInputs(std::move(inputs), Slots(graph.numValues(), noSlot));
  const uint32_t all = (uint32_t(1) << graph.numOps()) - 1;
  while (!open.empty() && work > 0) {
    graph.poll();
    const int32_t index = std::get<2>(open.top());
    open.pop();
    if (isDominated(states[index]))
      continue;
    settled[states[index].done].push_back(index);
    const bool isEnd =
        states[index].done == all && llvm::all_of(graph.problem().keep, [&](ValueIndex value) {
          return isResident(value) || states[index].slots[value] != noSlot;
        });
    if (isEnd) {
      answer.kind = PlacedAnswer::Kind::Found;
      answer.plan = planTo(index);
      return answer;
    }
    for (OpIndex op = 0; op < graph.numOps(); ++op)
      runOp(index, op);
  }
  if (work > 0) {
    answer.kind = PlacedAnswer::Kind::None;
    answer.leastArena = refused;
  }
  return answer;
}

Plan Search::planTo(int32_t last) const {
  std::vector<int32_t> path;
  for (int32_t at = last; at >= 0; at = states[at].parent)
    path.push_back(at);
  std::reverse(path.begin(), path.end());
  Plan plan;
  const Slots &inputs = states[path.front()].slots;
  for (size_t value = 0; value < inputs.size(); ++value)
    if (inputs[value] != noSlot)
      plan.offsets.push_back({-1, static_cast<ValueIndex>(value), offsets[inputs[value]]});
  for (size_t step = 1; step < path.size(); ++step)
    addStep(states[path[step]], plan);
  for (const InstanceOffset &it : plan.offsets)
    plan.arena = std::max(plan.arena, it.offset + bytes(it.value));
  for (size_t index = 0; index < plan.workspaces.size(); ++index) {
    const WorkspaceOffset &it = plan.workspaces[index];
    plan.arena = std::max(plan.arena, it.offset + graph.op(plan.steps[it.step]).workspace);
  }
  plan.peak = peakOf(plan);
  return plan;
}

void Search::addStep(const State &state, Plan &plan) const {
  const Op &op = graph.op(state.op);
  const auto step = static_cast<int32_t>(plan.steps.size());
  plan.steps.push_back(state.op);
  plan.cost += op.cost;
  std::vector<size_t> results(op.writes.size());
  std::iota(results.begin(), results.end(), 0);
  llvm::sort(results, [&](size_t a, size_t b) { return op.writes[a] < op.writes[b]; });
  for (size_t result : results)
    plan.offsets.push_back({step, op.writes[result], offsets[state.written[result]]});
  if (op.workspace > 0)
    plan.workspaces.push_back({step, offsets[state.workspace]});
}

/// Returns the peak with sizes as given. A result at the offset of an operand has taken its bytes.
int64_t Search::peakOf(const Plan &plan) const {
  const auto count = static_cast<int32_t>(plan.steps.size());
  std::vector<int64_t> held(count, 0);
  for (int32_t step = 0; step < count; ++step)
    held[step] = graph.op(plan.steps[step]).workspace;
  for (const Instance &it : instances(graph, plan.steps))
    if (!isResident(it.value))
      for (int32_t step = std::max(it.from, 0); step <= std::min(it.to, count - 1); ++step)
        held[step] += bytes(it.value);
  std::vector<int64_t> offsetOf(graph.numValues(), -1); // by value: offset of its latest instance
  size_t next = 0;
  auto advance = [&](int32_t step) {
    const size_t first = next;
    for (; next < plan.offsets.size() && plan.offsets[next].step == step; ++next) {
      const InstanceOffset &it = plan.offsets[next];
      if (step >= 0 && bytes(it.value) > 0)
        for (ValueIndex read : graph.op(plan.steps[step]).reads)
          if (bytes(read) > 0 && offsetOf[read] == it.offset)
            held[step] -= bytes(it.value);
    }
    for (size_t index = first; index < next; ++index)
      offsetOf[plan.offsets[index].value] = plan.offsets[index].offset;
  };
  for (int32_t step = -1; step < count; ++step)
    advance(step);
  int64_t most = 0;
  for (int64_t sum : held)
    most = std::max(most, sum);
  return graph.residentBytes() + most;
}

PlacedAnswer llmmem::planning::cheapestPlaced(const Graph &graph, int64_t arena, int64_t &work) {
  return isSmall(graph) ? Search(graph, arena, work).run() : PlacedAnswer();
}
