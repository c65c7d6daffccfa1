//===- CheckSchedules.cpp - An exhausted search, repeated --------------------===//
//
// A state is the set of ops that have run and the set of values that are held. Running an op keeps
// some of the held values, whichever fit with it. A state with the same ops and fewer values, that
// paid no less, leads to nothing that the other does not lead to. States are taken in the order of
// what was paid for repeats, so that whatever is taken first is no dearer. Where no cost is
// claimed, repeats are free. Among equal ones, those that lead to others come first, and then those
// that hold the most. So few states are taken that another one makes needless.
//
//===----------------------------------------------------------------------===//

#include "Facts.h"
#include <algorithm>
#include <bit>
#include <queue>
#include <tuple>
#include <unordered_map>

namespace llmmem::planning::proofs {
namespace {

using Set = uint64_t; // a set of ops or of values

struct State {
  Wide paid; // paid for repeats
  Set done, held;
  Wide bytes = 0; // bytes of `held`
  bool operator>(const State &other) const {
    const int ran = std::popcount(done), ranOfOther = std::popcount(other.done);
    return std::tie(paid, ran, other.bytes) > std::tie(other.paid, ranOfOther, bytes);
  }
};

using Reached = std::pair<Set, Set>; // done, held

struct HashOfReached {
  size_t operator()(const Reached &it) const {
    uint64_t hash = (it.first * 0x9e3779b97f4a7c15ull) ^ it.second;
    hash = (hash ^ (hash >> 32)) * 0xbf58476d1ce4e5b9ull;
    return hash ^ (hash >> 29);
  }
};

/// The values that are not resident as bits, and what ops read and write as sets of them.
class ValueSets {
public:
  explicit ValueSets(const Facts &facts) : facts(facts) {
    for (ValueIndex value = 0; value < static_cast<ValueIndex>(facts.writer.size()); ++value)
      if (!facts.problem.values[value].resident) {
        values.push_back(value);
        sizes.push_back(facts.bytes(value));
      }
  }
  /// Makes the sets of the ops. All values must have a bit.
  void addOps() {
    for (const Op &op : facts.problem.ops) {
      reads.push_back(setOf(op.reads));
      writes.push_back(setOf(op.writes));
    }
    keep = setOf(facts.problem.keep);
  }

  static Set bit(size_t index) { return Set(1) << index; }
  Set bitOf(ValueIndex value) const {
    return bit(std::lower_bound(values.begin(), values.end(), value) - values.begin());
  }
  Wide bytesOf(Set set) const {
    Wide sum = 0;
    for (; set; set &= set - 1)
      sum += sizes[std::countr_zero(set)];
    return sum;
  }

  std::vector<ValueIndex> values; // per bit
  std::vector<Wide> sizes;        // per bit
  std::vector<Set> reads, writes; // per op
  Set keep = 0;

private:
  Set setOf(const std::vector<ValueIndex> &list) const {
    Set set = 0;
    for (ValueIndex value : list)
      if (!facts.problem.values[value].resident)
        set |= bitOf(value);
    return set;
  }

  const Facts &facts;
};

class ScheduleSearch {
public:
  ScheduleSearch(const Facts &facts, Wide capacity, std::optional<Wide> cost, int64_t work)
      : facts(facts), capacity(capacity - facts.resident), limit(cost), work(work), sets(facts) {}

  Finding run();

private:
  static Set bit(size_t index) { return ValueSets::bit(index); }
  /// Returns what some op that may still run reads, or what is kept.
  Set usefulAfter(Set done) {
    auto [it, isNew] = useful.try_emplace(done, sets.keep);
    for (size_t op = 0; isNew && op < sets.reads.size(); ++op)
      if (!(done & bit(op)) || facts.problem.ops[op].recompute)
        it->second |= sets.reads[op];
    return it->second;
  }
  Wide mostShared(const Op &op, Set dying, size_t next, Set taken) const;
  void runOp(const State &state, OpIndex op);
  void keepSome(const State &state, OpIndex op, Set kept, Set open, Wide room, Wide rest,
                Wide leastDropped);
  void arrive(const State &state, OpIndex op, Set kept);

  const Facts &facts;
  const Wide capacity;
  const std::optional<Wide> limit;
  int64_t work;
  ValueSets sets;
  std::priority_queue<State, std::vector<State>, std::greater<>> open;
  std::unordered_map<Set, std::vector<Set>> taken; // what was held, per set of ops
  std::unordered_map<Set, Set> useful;
  std::unordered_map<Reached, Wide, HashOfReached> reached; // the least paid
};

/// Returns the most bytes that results from `next` on can take from operands in `dying`, each from
/// one.
Wide ScheduleSearch::mostShared(const Op &op, Set dying, size_t next, Set taken) const {
  if (next == op.writes.size())
    return 0;
  Wide most = mostShared(op, dying, next + 1, taken);
  const ValueIndex result = op.writes[next];
  for (const InPlace &pair : op.inPlace) {
    if (pair.write != result || facts.problem.values[pair.read].resident ||
        facts.problem.values[result].bytes > facts.problem.values[pair.read].bytes)
      continue;
    const Set operand = sets.bitOf(pair.read);
    if ((dying & operand) && !(taken & operand))
      most = std::max(most, facts.bytes(result) + mostShared(op, dying, next + 1, taken | operand));
  }
  return most;
}

void ScheduleSearch::arrive(const State &state, OpIndex op, Set kept) {
  State next{state.paid, state.done | bit(op), 0};
  if (limit && (state.done & bit(op)))
    next.paid += facts.problem.ops[op].cost;
  if (limit && next.paid >= *limit)
    return;
  next.held = (kept | sets.writes[op]) & usefulAfter(next.done);
  auto [it, isNew] = reached.try_emplace({next.done, next.held}, next.paid);
  if (!isNew && it->second <= next.paid)
    return;
  it->second = next.paid;
  next.bytes = sets.bytesOf(next.held);
  open.push(next);
}

/// Visits each largest choice among `open` that fits into `room` together with `kept`: keeping more
/// is never worse. So no choice leaves room for the smallest of the values that it drops. `rest` is
/// what `room` leaves next to all of `open`.
void ScheduleSearch::keepSome(const State &state, OpIndex op, Set kept, Set open, Wide room,
                              Wide rest, Wide leastDropped) {
  if (--work < 0 || rest >= leastDropped)
    return;
  if (rest >= 0)
    return arrive(state, op, kept | open);
  const Set first = open & ~(open - 1);
  const Wide bytes = sets.sizes[std::countr_zero(open)];
  if (bytes <= room)
    keepSome(state, op, kept | first, open & ~first, room - bytes, rest, leastDropped);
  if (bytes > 0)
    keepSome(state, op, kept, open & ~first, room, rest + bytes, std::min(leastDropped, bytes));
}

void ScheduleSearch::runOp(const State &state, OpIndex index) {
  const Op &op = facts.problem.ops[index];
  if ((sets.reads[index] & ~state.held) || ((state.done & bit(index)) && !op.recompute))
    return;
  // Where all results are held, a repeat leads to less than the state itself.
  if ((state.done & bit(index)) && (sets.writes[index] & ~state.held) == 0)
    return;
  Set mayDie = 0;
  for (const InPlace &pair : op.inPlace)
    if (!facts.problem.values[pair.read].resident)
      mayDie |= sets.bitOf(pair.read);
  const Wide own = sets.bytesOf(sets.reads[index] | sets.writes[index]) + facts.workspace(index);
  const Set others = state.held & ~sets.reads[index] & ~sets.writes[index];
  for (Set dying = mayDie;; dying = (dying - 1) & mayDie) {
    const Wide room = capacity - own + mostShared(op, dying, 0, 0);
    if (room >= 0)
      keepSome(state, index, sets.reads[index] & ~dying, others, room, room - sets.bytesOf(others),
               /*leastDropped=*/room + 1);
    if (dying == 0 || work < 0)
      break;
  }
}

Finding ScheduleSearch::run() {
  constexpr size_t mostOps = 24, mostValues = 62;
  if (facts.problem.ops.size() > mostOps || sets.values.size() > mostValues)
    return Finding::notChecked("a search of every schedule is repeated up to 24 ops and 62 values");
  sets.addOps();
  Set inputs = 0;
  for (ValueIndex value : sets.values)
    if (facts.writer[value] < 0)
      inputs |= sets.bitOf(value);
  if (limit && *limit <= 0)
    return {}; // no repeat costs less than nothing
  const Set start = inputs & usefulAfter(0);
  open.push({0, 0, start, sets.bytesOf(start)});
  const Set all = bit(facts.problem.ops.size()) - 1;
  while (!open.empty() && work >= 0) {
    const State state = open.top();
    open.pop();
    std::vector<Set> &before = taken[state.done];
    if (std::any_of(before.begin(), before.end(),
                    [&](Set held) { return (state.held & ~held) == 0; }))
      continue;
    before.push_back(state.held);
    // When an op ran, what is held was counted with it.
    if (state.done == all && (sets.keep & ~state.held) == 0 && state.bytes <= capacity)
      return Finding::refused(
          "a schedule of " + text(capacity + facts.resident) +
          (limit ? " bytes recomputes for " + text(state.paid) : " bytes exists"));
    for (OpIndex op = 0; op < static_cast<OpIndex>(facts.problem.ops.size()); ++op)
      runOp(state, op);
  }
  if (work < 0)
    return Finding::notChecked("the search of every schedule takes longer than the check may");
  return {};
}

} // namespace

Finding searchSchedules(const Facts &facts, Wide capacity, std::optional<Wide> cost, int64_t work) {
  return ScheduleSearch(facts, capacity, cost, work).run();
}

} // namespace llmmem::planning::proofs
