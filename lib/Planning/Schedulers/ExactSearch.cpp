//===- ExactSearch.cpp - All schedules of a small problem -----------------------===//

#include "ExactSearch.h"
#include "llvm/ADT/DenseMap.h"
#include <algorithm>
#include <queue>

using namespace llmmem::planning;

static constexpr int32_t mostOps = 24;
static constexpr int32_t mostValues = 62; // of a word's bits, two stay free for the map's own keys

namespace {
using Mask = uint64_t;

struct State {
  uint32_t done;
  Mask held;
  int64_t cost;
  int32_t parent;
  OpIndex op;
};

/// The values that are not resident as bits, and what ops read and write as sets of them.
struct ValueMasks {
  explicit ValueMasks(const Graph &graph);

  static Mask bit(int32_t index) { return Mask(1) << index; }
  Mask of(llvm::ArrayRef<ValueIndex> values) const;
  int64_t bytesOf(Mask values) const;

  const Graph &graph;
  std::vector<int32_t> bitOf;      // per value, -1: resident
  std::vector<ValueIndex> valueOf; // per bit
  std::vector<Mask> reads, writes; // per op
  Mask keep = 0;
};

class Search {
public:
  Search(const Graph &graph, int64_t capacity, ExactOptions options);
  ExactAnswer run();
  int64_t workSpent() const { return work; }

private:
  Mask needed(uint32_t done) const;
  bool isDominated(const State &state) const;
  void expand(int32_t from);
  void runOp(int32_t from, OpIndex op);
  void runWith(int32_t from, OpIndex op, Mask dying);
  /// Calls `arrive` for each minimal set of drops from `others` that leaves at most `available`
  /// bytes.
  void drop(int32_t from, OpIndex op, Mask fixed, Mask others, int64_t available, int32_t next);
  void arrive(int32_t from, OpIndex op, Mask held);

  const Graph &graph;
  int64_t capacity;
  ExactOptions options;
  const ValueMasks masks;
  std::vector<State> states;
  std::priority_queue<std::pair<int64_t, int32_t>, std::vector<std::pair<int64_t, int32_t>>,
                      std::greater<>>
      open;
  llvm::DenseMap<std::pair<uint32_t, Mask>, int64_t> bestCost;
  /// Per set of ops done: what settled states hold.
  llvm::DenseMap<uint32_t, std::vector<Mask>> settled;
  int64_t nextCapacity = INT64_MAX;
  int64_t work = 0;
};
} // namespace

ValueMasks::ValueMasks(const Graph &graph) : graph(graph), bitOf(graph.numValues(), -1) {
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    if (!graph.problem().values[value].resident) {
      bitOf[value] = static_cast<int32_t>(valueOf.size());
      valueOf.push_back(value);
    }
  for (const Op &op : graph.problem().ops) {
    reads.push_back(of(op.reads));
    writes.push_back(of(op.writes));
  }
  keep = of(graph.problem().keep);
}

Mask ValueMasks::of(llvm::ArrayRef<ValueIndex> values) const {
  Mask mask = 0;
  for (ValueIndex value : values)
    if (bitOf[value] >= 0)
      mask |= bit(bitOf[value]);
  return mask;
}

int64_t ValueMasks::bytesOf(Mask values) const {
  int64_t sum = 0;
  for (; values; values &= values - 1)
    sum += graph.bytes(valueOf[__builtin_ctzll(values)]);
  return sum;
}

Search::Search(const Graph &graph, int64_t capacity, ExactOptions options)
    : graph(graph), capacity(capacity - graph.residentBytes()), options(options), masks(graph) {}

/// Returns the values that may still be read or must be live at the end.
Mask Search::needed(uint32_t done) const {
  Mask mask = masks.keep;
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    if (!(done >> op & 1) || (options.repeats && graph.op(op).recompute))
      mask |= masks.reads[op];
  return mask;
}

bool Search::isDominated(const State &state) const {
  auto it = settled.find(state.done);
  return it != settled.end() &&
         llvm::any_of(it->second, [&](Mask held) { return (state.held & ~held) == 0; });
}

void Search::arrive(int32_t from, OpIndex op, Mask held) {
  ++work;
  uint32_t done = states[from].done | (uint32_t(1) << op);
  held &= needed(done);
  int64_t cost = states[from].cost + graph.op(op).cost;
  auto [it, isNew] = bestCost.try_emplace({done, held}, cost);
  if (!isNew && it->second <= cost)
    return;
  it->second = cost;
  open.push({cost, static_cast<int32_t>(states.size())});
  states.push_back({done, held, cost, from, op});
}

void Search::drop(int32_t from, OpIndex op, Mask fixed, Mask others, int64_t available,
                  int32_t next) {
  int64_t bytes = masks.bytesOf(others);
  if (bytes <= available) {
    // The set is minimal where no dropped value would fit next to the others.
    Mask dropped = states[from].held & ~others & ~fixed & ~masks.reads[op] & ~masks.writes[op];
    for (Mask remaining = dropped; remaining; remaining &= remaining - 1) {
      int64_t with = bytes + graph.bytes(masks.valueOf[__builtin_ctzll(remaining)]);
      if (with <= available)
        return;
    }
    arrive(from, op, fixed | others);
    return;
  }
  ++work;
  nextCapacity = std::min(nextCapacity, capacity - available + bytes);
  for (int32_t index = next; index < static_cast<int32_t>(masks.valueOf.size()); ++index)
    if ((others & ValueMasks::bit(index)) && graph.bytes(masks.valueOf[index]) > 0)
      drop(from, op, fixed, others & ~ValueMasks::bit(index), available, index + 1);
}

/// Makes one run of `op` after which the operands in `dying` are freed, so that results may take
/// their bytes.
void Search::runWith(int32_t from, OpIndex op, Mask dying) {
  const Op &data = graph.op(op);
  int64_t shared = dying == 0 ? 0 : sharedBytes(graph, data, [&](ValueIndex value) {
    return masks.bitOf[value] >= 0 && (dying & ValueMasks::bit(masks.bitOf[value]));
  });
  int64_t own = graph.workspace(op) + masks.bytesOf(masks.reads[op] | masks.writes[op]) - shared;
  if (own > capacity) {
    nextCapacity = std::min(nextCapacity, own);
    return;
  }
  Mask others = states[from].held & ~masks.reads[op] & ~masks.writes[op];
  drop(from, op, (masks.reads[op] & ~dying) | masks.writes[op], others, capacity - own, 0);
}

void Search::runOp(int32_t from, OpIndex op) {
  const Op &data = graph.op(op);
  Mask held = states[from].held;
  bool hasRun = states[from].done >> op & 1;
  if (hasRun && (!data.recompute || !options.repeats || (masks.writes[op] & ~held) == 0))
    return;
  if (masks.reads[op] & ~held)
    return;
  Mask mayDie = 0;
  for (const InPlace &pair : data.inPlace)
    if (masks.bitOf[pair.read] >= 0)
      mayDie |= ValueMasks::bit(masks.bitOf[pair.read]);
  for (Mask dying = mayDie;; dying = (dying - 1) & mayDie) {
    runWith(from, op, dying);
    if (dying == 0)
      break;
  }
}

void Search::expand(int32_t from) {
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    runOp(from, op);
}

ExactAnswer Search::run() {
  ExactAnswer answer;
  uint32_t all = (uint32_t(1) << graph.numOps()) - 1;
  Mask inputs = 0;
  for (size_t index = 0; index < masks.valueOf.size(); ++index)
    if (graph.writer(masks.valueOf[index]) < 0)
      inputs |= ValueMasks::bit(static_cast<int32_t>(index));
  Mask held = options.held ? masks.of(*options.held) : inputs;
  states.push_back({options.done, held & needed(options.done), 0, -1, -1});
  open.push({0, 0});
  while (!open.empty()) {
    graph.poll();
    auto [cost, index] = open.top();
    open.pop();
    State state = states[index];
    if (isDominated(state))
      continue;
    settled[state.done].push_back(state.held);
    if (state.done == all && (masks.keep & ~state.held) == 0) {
      answer.kind = ExactAnswer::Kind::Found;
      answer.cost = cost;
      for (int32_t at = index; states[at].parent >= 0; at = states[at].parent)
        answer.steps.push_back(states[at].op);
      std::reverse(answer.steps.begin(), answer.steps.end());
      return answer;
    }
    if (work > options.work)
      return answer;
    expand(index);
  }
  answer.kind = ExactAnswer::Kind::None;
  answer.leastBytes = nextCapacity == INT64_MAX ? INT64_MAX : nextCapacity + graph.residentBytes();
  return answer;
}

bool llmmem::planning::isSmall(const Graph &graph) {
  int32_t values = 0;
  for (const Value &value : graph.problem().values)
    values += !value.resident;
  return graph.numOps() <= mostOps && values <= mostValues;
}

ExactAnswer llmmem::planning::cheapestUnder(const Graph &graph, int64_t capacity,
                                            ExactOptions options) {
  if (!isSmall(graph))
    return {};
  Search search(graph, capacity, options);
  ExactAnswer answer = search.run();
  answer.work = search.workSpent();
  return answer;
}

ExactAnswer llmmem::planning::leastPeakExactly(const Graph &graph, ExactOptions options) {
  if (!isSmall(graph))
    return {};
  // Where nothing fits, the smallest sum of bytes that did not fit is the next capacity at which
  // the answer can differ.
  int64_t capacity = graph.residentBytes();
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    capacity = std::max(capacity, graph.residentBytes() + graph.footprint(op));
  while (true) {
    ExactAnswer answer = cheapestUnder(graph, capacity, options);
    if (answer.kind != ExactAnswer::Kind::None)
      return answer;
    if (answer.leastBytes <= capacity || answer.leastBytes == INT64_MAX)
      return {};
    capacity = answer.leastBytes;
  }
}
