//===- StageWindow.cpp - All places of one op of a stage's backward ------===//

#include "StageWindow.h"
#include "llvm/ADT/bit.h"
#include <algorithm>

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
  measure(lean);
  measure(full);
}

void Stage::Window::measure(Side &side) {
  BackwardScan now(side.graph);
  side.places.resize(end + 1 - begin, {{}, {}, now});
  side.moved.resize(end - begin);
  std::vector<Sums> own(stage.backward.size());
  Sums behind{side.graph.residentBytes()};
  for (auto position = static_cast<int32_t>(own.size()); position >= 0; --position) {
    if (position >= begin && position <= end) {
      Place &place = side.places[position - begin];
      place.behind = behind;
      place.scan = now;
    }
    if (position == 0)
      break;
    const uint64_t *const there = isThereAt(position - 1);
    own[position - 1] = run(side, now, stage.backward[position - 1], there, there);
    behind = behind + own[position - 1];
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
  Sums behind = at(side, from + 1).behind;
  scan = at(side, from + 1).scan;
  for (int32_t to = from - 1; to >= low; --to) {
    const uint64_t *const there = isThereAt(to);
    behind = behind + run(side, scan, stage.backward[to], there, stage.needs.of(op));
    if (behind.peak > mostPeak)
      return;
    scanOfMoved = scan;
    side.moved[to - begin] =
        at(side, to).before + run(side, scanOfMoved, op, there, there) + behind;
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
    const Place &place = at(side, to + 1);
    Sums ofMoved = last;
    if (to < high) {
      scanOfMoved = place.scan;
      ofMoved = runWithout(scanOfMoved, op, to + 1);
    }
    side.moved[to - begin] = before + ofMoved + place.behind;
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
    lean.moved[to - begin].peak = INT64_MAX;
  findThereWithout(from, high);
  moveEarlier(lean, from, low, mostPeak);
  moveLater(lean, from, high, mostPeak);
  // Where the peak of `lean` is above, nothing else is measured.
  auto isAbove = [&](int32_t to) { return lean.moved[to - begin].peak > mostPeak; };
  int32_t first = low, last = high;
  while (first < from && isAbove(first))
    ++first;
  while (last > from && isAbove(last))
    --last;
  moveEarlier(full, from, first, INT64_MAX);
  moveLater(full, from, last, INT64_MAX);
  for (int32_t to = first; to <= last; ++to) {
    const Sums &ofLean = lean.moved[to - begin], &ofFull = full.moved[to - begin];
    if (to != from)
      scores[to - low] = {ofLean.peak, ofFull.peak, ofLean.sum + ofFull.sum};
  }
  return scores;
}
