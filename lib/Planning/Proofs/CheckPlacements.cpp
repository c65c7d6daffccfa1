//===- CheckPlacements.cpp - Schedules and offsets, searched again -----------===//
//
// A state is the set of ops that have run and the offset of each value in the arena. A run needs
// its operands there; what it writes, and its workspace, overwrite what lies where they are put,
// and nothing is dropped in any other way. In every plan the buffers can be moved down until each
// is at offset 0 or directly above another one, so offsets are sums of sizes.
//
//===----------------------------------------------------------------------===//

#include "Facts.h"
#include <algorithm>
#include <map>
#include <queue>
#include <set>

namespace llmmem::planning::proofs {
namespace {

constexpr Wide noOffset = -1;
using Offsets = std::vector<Wide>; // per value

struct State {
  Wide paid; // paid for repeats
  uint64_t done;
  Offsets offsets;
  bool operator>(const State &other) const { return paid > other.paid; }
};

class PlacementSearch {
public:
  PlacementSearch(const Facts &facts, Wide arena, std::optional<Wide> cost, int64_t work)
      : facts(facts), problem(facts.problem), arena(arena), limit(cost), work(work) {}

  Finding run();

private:
  bool listOffsets();
  Wide sizeOf(ValueIndex value) const { return problem.values[value].bytes; }
  bool hasRun(uint64_t done, OpIndex op) const { return done >> op & 1; }
  bool isUseful(uint64_t done, ValueIndex value) const {
    return facts.kept[value] ||
           std::any_of(facts.readers[value].begin(), facts.readers[value].end(),
                       [&](OpIndex op) { return !hasRun(done, op) || problem.ops[op].recompute; });
  }
  static bool overlap(Wide a, Wide sizeOfA, Wide b, Wide sizeOfB) {
    return a != noOffset && b != noOffset && a < b + sizeOfB && b < a + sizeOfA && sizeOfA > 0 &&
           sizeOfB > 0;
  }
  void placeInputs(ValueIndex next, State &state);
  void placeResults(const State &state, OpIndex op, size_t next, Offsets &written,
                    std::vector<ValueIndex> &taken);
  bool isFree(const State &state, OpIndex op, const Offsets &written, Wide offset, Wide size,
              ValueIndex except) const;
  void placeWorkspace(const State &state, OpIndex op, const Offsets &written,
                      const std::vector<ValueIndex> &taken);
  void arrive(const State &state, OpIndex op, const Offsets &written,
              const std::vector<ValueIndex> &taken, Wide workspace);
  bool isDominated(const State &state) const;
  bool isEnd(const State &state) const;

  const Facts &facts;
  const Problem &problem;
  const Wide arena;
  const std::optional<Wide> limit;
  int64_t work;
  std::vector<Wide> places; // where a buffer may begin
  std::priority_queue<State, std::vector<State>, std::greater<>> open;
  std::map<std::pair<uint64_t, Offsets>, Wide> reached; // the least paid
  std::map<uint64_t, std::vector<Offsets>> settled;
};

/// Lists all sums of sizes within the arena. Returns false where there are too many.
bool PlacementSearch::listOffsets() {
  constexpr size_t mostPlaces = 2000;
  std::set<Wide> sizes, sums = {0};
  for (ValueIndex value = 0; value < static_cast<ValueIndex>(problem.values.size()); ++value)
    sizes.insert(facts.bytes(value));
  for (OpIndex op = 0; op < static_cast<OpIndex>(problem.ops.size()); ++op)
    sizes.insert(facts.workspace(op));
  sizes.erase(0);
  for (auto sum = sums.begin(); sum != sums.end() && sums.size() <= mostPlaces; ++sum)
    for (Wide size : sizes)
      if (*sum + size <= arena)
        sums.insert(*sum + size);
  places.assign(sums.begin(), sums.end());
  return sums.size() <= mostPlaces;
}

void PlacementSearch::placeInputs(ValueIndex next, State &state) {
  while (next < static_cast<ValueIndex>(problem.values.size()) &&
         (facts.writer[next] >= 0 || problem.values[next].resident || !isUseful(0, next)))
    ++next;
  if (next == static_cast<ValueIndex>(problem.values.size()))
    return open.push(state);
  for (Wide place : places) {
    bool isFree = place + sizeOf(next) <= arena && --work >= 0;
    for (ValueIndex other = 0; other < next; ++other)
      isFree &= !overlap(place, sizeOf(next), state.offsets[other], sizeOf(other));
    if (!isFree)
      continue;
    state.offsets[next] = place;
    placeInputs(next + 1, state);
    state.offsets[next] = noOffset;
    if (sizeOf(next) == 0)
      break;
  }
}

/// Says whether `size` bytes at `offset` touch neither an operand, except for `except`, nor another
/// result.
bool PlacementSearch::isFree(const State &state, OpIndex op, const Offsets &written, Wide offset,
                             Wide size, ValueIndex except) const {
  if (offset + size > arena)
    return false;
  for (ValueIndex read : problem.ops[op].reads)
    if (read != except && !problem.values[read].resident &&
        overlap(offset, size, state.offsets[read], sizeOf(read)))
      return false;
  for (ValueIndex result : problem.ops[op].writes)
    if (overlap(offset, size, written[result], sizeOf(result)))
      return false;
  return true;
}

/// Places the results. A result may begin at an operand whose bytes it takes, if this is the
/// operand's last use.
void PlacementSearch::placeResults(const State &state, OpIndex op, size_t next, Offsets &written,
                                   std::vector<ValueIndex> &taken) {
  const Op &it = problem.ops[op];
  if (--work < 0)
    return;
  if (next == it.writes.size())
    return placeWorkspace(state, op, written, taken);
  const ValueIndex result = it.writes[next];
  auto place = [&](Wide offset, ValueIndex operand) {
    if (!isFree(state, op, written, offset, sizeOf(result), operand))
      return;
    written[result] = offset;
    if (operand >= 0)
      taken.push_back(operand);
    placeResults(state, op, next + 1, written, taken);
    if (operand >= 0)
      taken.pop_back();
    written[result] = noOffset;
  };
  for (Wide offset : places) {
    place(offset, -1);
    if (sizeOf(result) == 0)
      return;
  }
  for (const InPlace &pair : it.inPlace)
    if (pair.write == result && sizeOf(result) <= sizeOf(pair.read) &&
        !problem.values[pair.read].resident &&
        std::find(taken.begin(), taken.end(), pair.read) == taken.end())
      place(state.offsets[pair.read], pair.read);
}

void PlacementSearch::placeWorkspace(const State &state, OpIndex op, const Offsets &written,
                                     const std::vector<ValueIndex> &taken) {
  const Wide size = problem.ops[op].workspace;
  if (size == 0)
    return arrive(state, op, written, taken, noOffset);
  for (Wide offset : places)
    if (isFree(state, op, written, offset, size, -1))
      arrive(state, op, written, taken, offset);
}

void PlacementSearch::arrive(const State &state, OpIndex op, const Offsets &written,
                             const std::vector<ValueIndex> &taken, Wide workspace) {
  const Op &it = problem.ops[op];
  State next{state.paid + (hasRun(state.done, op) ? it.cost : 0), state.done | uint64_t(1) << op,
             state.offsets};
  if (--work < 0 || (limit && next.paid >= *limit))
    return;
  for (ValueIndex operand : taken)
    next.offsets[operand] = noOffset;
  for (ValueIndex value = 0; value < static_cast<ValueIndex>(next.offsets.size()); ++value) {
    bool isLost = overlap(next.offsets[value], sizeOf(value), workspace, it.workspace);
    for (ValueIndex result : it.writes)
      isLost |= overlap(next.offsets[value], sizeOf(value), written[result], sizeOf(result));
    if (isLost)
      next.offsets[value] = noOffset;
  }
  for (ValueIndex result : it.writes)
    next.offsets[result] = written[result];
  for (ValueIndex value = 0; value < static_cast<ValueIndex>(next.offsets.size()); ++value)
    if (!isUseful(next.done, value))
      next.offsets[value] = noOffset;
  auto [entry, isNew] = reached.try_emplace({next.done, next.offsets}, next.paid);
  if (!isNew && entry->second <= next.paid)
    return;
  entry->second = next.paid;
  open.push(std::move(next));
}

bool PlacementSearch::isDominated(const State &state) const {
  auto found = settled.find(state.done);
  if (found == settled.end())
    return false;
  return std::any_of(found->second.begin(), found->second.end(), [&](const Offsets &other) {
    for (size_t value = 0; value < other.size(); ++value)
      if (state.offsets[value] != noOffset && state.offsets[value] != other[value])
        return false;
    return true;
  });
}

bool PlacementSearch::isEnd(const State &state) const {
  if (state.done != (uint64_t(1) << problem.ops.size()) - 1)
    return false;
  return std::all_of(problem.keep.begin(), problem.keep.end(), [&](ValueIndex value) {
    return problem.values[value].resident || state.offsets[value] != noOffset;
  });
}

Finding PlacementSearch::run() {
  constexpr size_t mostOps = 24;
  if (problem.ops.size() > mostOps)
    return Finding::notChecked("a search of every placement is repeated up to 24 ops");
  if (!listOffsets())
    return Finding::notChecked("the sizes have too many sums to try every offset");
  if (arena < 0 || (limit && *limit <= 0))
    return {}; // nothing fits, or no repeat costs less than nothing
  State start{0, 0, Offsets(problem.values.size(), noOffset)};
  placeInputs(0, start);
  while (!open.empty() && work >= 0) {
    const State state = open.top();
    open.pop();
    if (isDominated(state))
      continue;
    settled[state.done].push_back(state.offsets);
    if (isEnd(state))
      return Finding::refused("a plan with an arena of " + text(arena) + " bytes recomputes for " +
                              text(state.paid));
    for (OpIndex op = 0; op < static_cast<OpIndex>(problem.ops.size()); ++op) {
      const std::vector<ValueIndex> &reads = problem.ops[op].reads;
      const bool isReady = std::all_of(reads.begin(), reads.end(), [&](ValueIndex value) {
        return problem.values[value].resident || state.offsets[value] != noOffset;
      });
      if (!isReady || (hasRun(state.done, op) && !problem.ops[op].recompute))
        continue;
      Offsets written(problem.values.size(), noOffset);
      std::vector<ValueIndex> taken;
      placeResults(state, op, 0, written, taken);
    }
  }
  if (work < 0)
    return Finding::notChecked("the search of every placement takes longer than the check may");
  return {};
}

} // namespace

Finding searchPlacements(const Facts &facts, Wide arena, std::optional<Wide> cost, int64_t work) {
  return PlacementSearch(facts, arena, cost, work).run();
}

} // namespace llmmem::planning::proofs
