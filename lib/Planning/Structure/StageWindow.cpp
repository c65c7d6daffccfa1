//===- StageWindow.cpp - All places of one op of a stage's backward ------===//

#include "StageWindow.h"
#include "llvm/ADT/bit.h"

using namespace llmmem::planning;

void Stage::Window::renew(int32_t from, int32_t to) {
  numMoves = stage.numMoves;
  begin = from;
  end = to;
  stage.needs.number(stage.forward);
  ForwardNeeds::There there = stage.needs.noneThere();
  isThere.clear();
  for (OpIndex op : stage.backward) {
    llvm::append_range(isThere, there);
    for (size_t word = 0; word < stage.needs.numWords; ++word)
      there[word] |= stage.needs.of(op)[word];
  }
  measure(recomputed);
  measure(kept);
}

void Stage::Window::measure(Side &side) {
  BackwardScan now(side.graph);
  side.places.resize(end + 1 - begin, {{}, {}, now});
  side.moved.resize(end - begin);
  std::vector<Sums> own(stage.backward.size());
  Sums after{side.graph.residentBytes()};
  for (auto position = static_cast<int32_t>(own.size()); position >= 0; --position) {
    if (position >= begin && position <= end) {
      OrderPosition &place = side.places[position - begin];
      place.after = after;
      place.scan = now;
    }
    if (position == 0)
      break;
    const uint64_t *const there = isThereAt(position - 1);
    own[position - 1] = run(side, now, stage.backward[position - 1], there, there);
    after = after + own[position - 1];
  }
  Sums before;
  for (int32_t position = 0; position <= end; ++position) {
    if (position >= begin)
      side.places[position - begin].before = before;
    if (position < end)
      before = before + own[position];
  }
}

/// Returns the sums of `op` just before what `scan` has visited, where some of the forward is live.
Stage::Window::Sums Stage::Window::run(const Side &side, BackwardScan &scan, OpIndex op,
                                       const uint64_t *isThere, const uint64_t *isThereToo) const {
  if (!side.recomputes)
    return Sums::of(scan.visit(op - stage.needs.numForward));
  Sums sums = Sums::of(scan.visit(op));
  const uint64_t *const needs = stage.needs.of(op);
  for (size_t word = stage.needs.numWords; word-- > 0;)
    for (uint64_t missing = needs[word] & ~(isThere[word] | isThereToo[word]); missing;) {
      const int last = ForwardNeeds::bitsOfWord - 1 - llvm::countl_zero(missing);
      sums = sums + Sums::of(scan.visit(stage.forward[word * ForwardNeeds::bitsOfWord + last]));
      missing ^= uint64_t(1) << last;
    }
  return sums;
}

/// Moves the op to each position of [low, from), until all that are left are above `mostPeak`.
void Stage::Window::moveEarlier(Side &side, int32_t from, int32_t low, int64_t mostPeak) {
  const OpIndex op = stage.backward[from];
  Sums after = at(side, from + 1).after;
  scan = at(side, from + 1).scan;
  for (int32_t to = from - 1; to >= low; --to) {
    const uint64_t *const there = isThereAt(to);
    after = after + run(side, scan, stage.backward[to], there, stage.needs.of(op));
    if (after.peak > mostPeak)
      return;
    scanOfMoved = scan;
    side.moved[to - begin] = at(side, to).before + run(side, scanOfMoved, op, there, there) + after;
  }
}

/// Moves the op to each position of (from, high], until all that are left are above it.
void Stage::Window::moveLater(Side &side, int32_t from, int32_t high, int64_t mostPeak) {
  const OpIndex op = stage.backward[from];
  auto runWithout = [&](BackwardScan &before, OpIndex other, int32_t position) {
    const uint64_t *const there = isThereWithout(from, position);
    return run(side, before, other, there, there);
  };
  scan = at(side, high + 1).scan;
  const Sums last = runWithout(scan, op, high + 1);
  passed.resize(high + 1 - from);
  for (int32_t position = high; position > from; --position)
    passed[position - from] = runWithout(scan, stage.backward[position], position);
  Sums before = at(side, from).before;
  for (int32_t to = from + 1; to <= high; ++to) {
    before = before + passed[to - from];
    if (before.peak > mostPeak)
      return;
    const OrderPosition &place = at(side, to + 1);
    Sums ofMoved = last;
    if (to < high) {
      scanOfMoved = place.scan;
      ofMoved = runWithout(scanOfMoved, op, to + 1);
    }
    side.moved[to - begin] = before + ofMoved + place.after;
  }
}

void Stage::Window::findThereWithout(int32_t from, int32_t high) {
  withoutMoved.assign(isThereAt(from), isThereAt(from) + stage.needs.numWords);
  for (int32_t position = from + 1; position <= high; ++position) {
    const uint64_t *const needs = stage.needs.of(stage.backward[position]);
    for (size_t word = 0; word < stage.needs.numWords; ++word)
      withoutMoved.push_back(withoutMoved[withoutMoved.size() - stage.needs.numWords] |
                             needs[word]);
  }
}

llvm::ArrayRef<Score> Stage::Window::score(int32_t from, int32_t low, int32_t high,
                                           int64_t mostPeak) {
  scores.assign(high + 1 - low, worstScore);
  for (int32_t to = low; to <= high; ++to)
    recomputed.moved[to - begin].peak = INT64_MAX;
  findThereWithout(from, high);
  moveEarlier(recomputed, from, low, mostPeak);
  moveLater(recomputed, from, high, mostPeak);
  // Where the peak of `recomputed` is above, nothing else is measured.
  auto isAbove = [&](int32_t to) { return recomputed.moved[to - begin].peak > mostPeak; };
  int32_t first = low, last = high;
  while (first < from && isAbove(first))
    ++first;
  while (last > from && isAbove(last))
    --last;
  moveEarlier(kept, from, first, INT64_MAX);
  moveLater(kept, from, last, INT64_MAX);
  for (int32_t to = first; to <= last; ++to) {
    const Sums &ofRecomputed = recomputed.moved[to - begin], &ofKept = kept.moved[to - begin];
    if (to != from)
      scores[to - low] = {ofRecomputed.peak, ofKept.peak, ofRecomputed.sum + ofKept.sum};
  }
  return scores;
}
