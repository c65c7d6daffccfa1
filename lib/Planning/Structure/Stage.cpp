//===- Stage.cpp - The order of one stage and its backward ---------------===//

#include "Stage.h"
#include "PeakMoves.h"
#include "StageWindow.h"
#include "llvm/ADT/bit.h"
#include <algorithm>

using namespace llmmem::planning;

/// Marks what `op` needs of the forward, directly or not.
void ForwardNeeds::mark(OpIndex op, llvm::MutableArrayRef<uint64_t> marked) const {
  for (ValueIndex value : graph.reads(op)) {
    const OpIndex writer = graph.writer(value);
    if (writer < 0 || writer >= numForward)
      continue;
    uint64_t &word = marked[place[writer] / bitsOfWord];
    const uint64_t bit = uint64_t(1) << place[writer] % bitsOfWord;
    if (word & bit)
      continue;
    word |= bit;
    mark(writer, marked);
  }
}

void ForwardNeeds::number(llvm::ArrayRef<OpIndex> order) {
  if (order == llvm::ArrayRef(forward) && !needed.empty())
    return;
  forward.assign(order.begin(), order.end());
  for (int32_t index = 0; index < numForward; ++index)
    place[forward[index]] = index;
  needed.assign((graph.numOps() - numForward) * numWords, 0);
  for (OpIndex op = numForward; op < graph.numOps(); ++op)
    mark(op, llvm::MutableArrayRef(needed).slice((op - numForward) * numWords, numWords));
}

void ForwardNeeds::recomputeFor(OpIndex op, There &isThere, std::vector<OpIndex> &steps) const {
  const uint64_t *const needs = of(op);
  for (size_t word = 0; word < numWords; ++word) {
    for (uint64_t missing = needs[word] & ~isThere[word]; missing; missing &= missing - 1)
      steps.push_back(forward[word * bitsOfWord + llvm::countr_zero(missing)]);
    isThere[word] |= needs[word];
  }
  steps.push_back(op);
}

Stage::Stage(const Graph &whole, const Part &all, const Part &backwardAlone, int32_t numForward)
    : graph(all.makeGraph(whole.cancellation())),
      held(backwardAlone.makeGraph(whole.cancellation())), needs(graph, numForward),
      tried(graph.numOps()) {
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    (op < numForward ? forward : backward).push_back(op);
}

/// Returns the backward with the forward recomputed just in time, as Recompute.h realizes it.
std::vector<OpIndex> Stage::recomputing() const {
  Order steps;
  steps.reserve(graph.numOps());
  ForwardNeeds::There isThere = needs.noneThere();
  for (OpIndex op : backward)
    needs.recomputeFor(op, isThere, steps);
  return steps;
}

/// Returns the backward in the numbers of `held`.
Stage::Order Stage::aloneOrder() const {
  Order alone;
  for (OpIndex op : backward)
    alone.push_back(op - needs.numForward);
  return alone;
}

/// Measures the stage. Where the peak of `recomputed` is above `mostPeak`, nothing else is
/// measured.
Stage::Usage Stage::measure(int64_t &work, int64_t mostPeak) {
  spend(work);
  needs.number(forward);
  const Order steps = recomputing();
  Usage usage{profile(graph, steps, mostPeak), {}, 0};
  if (usage.recomputed.peak > mostPeak)
    return usage;
  usage.kept = measureBackward();
  // A recomputed op belongs to the op that it is recomputed for.
  usage.fullestOfRecomputed = static_cast<int32_t>(
      std::count_if(steps.begin(), steps.begin() + std::max(usage.recomputed.peakStep, 0),
                    [&](OpIndex op) { return op >= needs.numForward; }));
  return usage;
}

/// Measures the backward. Moves in the forward leave it as it is.
const Profile &Stage::measureBackward() {
  if (measuredBackward != backward) {
    measuredBackward = backward;
    backwardAlone = profile(held, aloneOrder());
  }
  return backwardAlone;
}

/// Scores the order. A score that is worse than `best` is not exact.
Score Stage::score(int64_t &work, const Score &best) {
  const Usage usage = measure(work, std::get<0>(best));
  int64_t sum = 0;
  for (const Profile *each : {&usage.recomputed, &usage.kept})
    for (int64_t bytes : each->bytes)
      sum += sumOf(bytes);
  return {usage.recomputed.peak, usage.kept.peak, sum};
}

/// Makes the move that frees most and improves the order at all.
bool Stage::moveAcrossFullest(Score &best, int64_t &work) {
  const Usage usage = measure(work);
  for (int32_t fullest : {usage.fullestOfRecomputed, usage.kept.peakStep}) {
    if (fullest < 0)
      continue;
    for (const Order &alone : moveAcross(held, aloneOrder(), fullest)) {
      const Order before = backward;
      llvm::transform(alone, backward.begin(), [&](OpIndex op) { return op + needs.numForward; });
      if (Score now = score(work, best); now < best) {
        best = now;
        return true;
      }
      backward = before;
      if (work <= 0)
        return false;
    }
  }
  return false;
}

void Stage::lowerPeaks(int64_t &work) {
  Score best = score(work, worstScore);
  while (work > 0 && moveAcrossFullest(best, work)) {
  }
}

/// Returns the window of the whole backward, which serves all ops until one moves, where its scans
/// take little memory.
Stage::Window &Stage::windowOf(int32_t begin, int32_t end) {
  constexpr size_t mostOps = 1000;
  if (window && window->isOf(numMoves, begin, end))
    return *window;
  if (backward.size() <= mostOps) {
    begin = 0;
    end = static_cast<int32_t>(backward.size());
  }
  if (!window)
    window = std::make_unique<Window>(*this);
  window->renew(begin, end);
  return *window;
}

Stage::~Stage() = default;

bool Stage::dependsOn(OpIndex later, OpIndex earlier) const {
  return llvm::any_of(graph.reads(later),
                      [&](ValueIndex value) { return graph.writer(value) == earlier; });
}

/// Moves the op at `from` to the best place between its operands' writers and its readers.
bool Stage::moveBest(Order &list, int32_t from, Score &best, int64_t &work) {
  const OpIndex op = list[from];
  const int32_t count = static_cast<int32_t>(list.size());
  int32_t low = from, high = from, target = from;
  while (low > 0 && !dependsOn(op, list[low - 1]))
    --low;
  while (high + 1 < count && !dependsOn(list[high + 1], op))
    ++high;
  Window *const window = &list == &backward && low < high ? &windowOf(low, high + 1) : nullptr;
  auto move = [&](int32_t here, int32_t there) {
    const auto at = list.begin();
    here < there ? std::rotate(at + here, at + here + 1, at + there + 1)
                 : std::rotate(at + there, at + here, at + here + 1);
  };
  llvm::ArrayRef<Score> scores;
  if (window)
    scores = window->score(from, low, high, std::get<0>(best));
  auto scoreAt = [&](int32_t to) {
    if (window) {
      spend(work);
      return scores[to - low];
    }
    move(from, to);
    const Score found = score(work, best);
    move(to, from);
    return found;
  };
  for (int32_t to = low; to <= high && work > 0; ++to) {
    if (to == from)
      continue;
    if (const Score now = scoreAt(to); now < best) {
      best = now;
      target = to;
    }
  }
  move(from, target);
  return target != from;
}

/// Improves each op. An op whose moves were all tried since the last one that was made is not tried
/// again.
bool Stage::improveEach(Order &list, Score &best, int64_t &work) {
  bool isImproved = false;
  for (int32_t index = 0; index < static_cast<int32_t>(list.size()) && work > 0; ++index) {
    Tried &last = tried[list[index]];
    if (last.numMoves == numMoves) {
      work -= last.work; // as if it had been
      continue;
    }
    const int64_t before = work;
    if (moveBest(list, index, best, work)) {
      isImproved = true;
      ++numMoves;
    } else {
      last = {numMoves, before - work};
    }
  }
  return isImproved;
}

void Stage::improve(bool isFree, int64_t &work) {
  Score best = score(work, worstScore);
  for (bool isImproved = true; isImproved && work > 0;) {
    isImproved = improveEach(backward, best, work);
    if (isFree)
      isImproved |= improveEach(forward, best, work);
  }
}

void Stage::postpone(const std::vector<bool> &needsGradient, int64_t &work) {
  const auto last = static_cast<int32_t>(backward.size()) - 1;
  for (int32_t from = last - 1; from >= 0 && work > 0; --from) {
    const OpIndex op = backward[from];
    int32_t to = from;
    while (!needsGradient[op] && to < last && !dependsOn(backward[to + 1], op))
      ++to;
    if (to == from)
      continue;
    const Score before = score(work, worstScore);
    const Order old = backward;
    std::rotate(backward.begin() + from, backward.begin() + from + 1, backward.begin() + to + 1);
    const Score after = score(work, worstScore);
    if (std::get<0>(after) > std::get<0>(before) || std::get<1>(after) > std::get<1>(before))
      backward = old;
  }
}

std::vector<OpIndex> Stage::order() const {
  Order all = forward;
  llvm::append_range(all, backward);
  return all;
}
