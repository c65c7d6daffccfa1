//===- PackBranches.cpp - The branches of the packing search, and what follows -----===//

#include "PackBranches.h"

using namespace llmmem::planning;

static constexpr int64_t nowhere = std::numeric_limits<int64_t>::max();

PackBranches::PackBranches(PartialPacking &packing, TouchCounts &counts)
    : packing(packing), counts(counts), items(packing.order.items),
      weight(packing.order.shapes.positions, 1.0) {}

void PackBranches::start(int64_t capacity, double learning) {
  this->capacity = capacity;
  this->learning = learning;
}

/// Calls `function` with each of the shapes in `changed`, which are all that are live in `span`.
template <typename Function>
void PackBranches::forEachChanged(Span span, Function function) const {
  for (int32_t shape : changed) {
    const Shape &item = items[shape];
    if (item.lower >= span.to)
      return; // as do all after it
    if (item.upper > span.from)
      function(shape);
  }
}

int32_t PackBranches::choosePosition(Span window) const {
  int32_t best = -1;
  double bestScore = 1e300;
  int64_t bestHeight = nowhere;
  const llvm::ArrayRef<int64_t> skyline = packing.skyline, remaining = packing.remaining;
  for (int32_t position = window.from; position < window.to; ++position) {
    if (counts.across(position) > 0)
      continue;
    const int64_t slack = capacity - skyline[position] - remaining[position];
    const int32_t branches = counts.within(position) + (slack > 0 ? 1 : 0);
    const double score = branches <= 1 ? 0 : branches / weight[position];
    if (score < bestScore || (score == bestScore && skyline[position] < bestHeight)) {
      best = position;
      bestScore = score;
      bestHeight = skyline[position];
    }
  }
  return best;
}

bool PackBranches::placeOnSkyline(int32_t shape, Span window, bool isSurveyed) {
  const Shape &item = items[shape];
  const Span span = {item.lower, item.upper};
  // A bound above the skyline stays as it is, and so does the position at which its shape touches
  // it.
  const int64_t top = packing.least[shape] + item.size;
  changed.clear();
  packing.forEachLeft(span, window, [&](int32_t other) {
    if (packing.least[other] <= top)
      changed.push_back(other);
  });
  if (isSurveyed)
    counts.forget(changed, span);
  packing.place(shape, changed);
  if (isSurveyed)
    counts.surveyAgain(changed, span, window);
  else
    counts.survey(window);
  return propagate(window);
}

bool PackBranches::placeOffSkyline(llvm::ArrayRef<int32_t> choices, Span window, bool isSurveyed) {
  // All supports are computed first, since a raised bound of one candidate could hide the support
  // of another.
  std::vector<int64_t> supports;
  supports.reserve(choices.size());
  for (int32_t shape : choices) {
    supports.push_back(nextSupport(shape, window));
    if (supports.back() == nowhere)
      return false;
  }
  if (isSurveyed)
    counts.forget(choices, {});
  for (size_t choice = 0; choice < supports.size(); ++choice)
    if (const int32_t shape = choices[choice]; supports[choice] > packing.least[shape])
      packing.setBound(shape, supports[choice], packing.touching[shape]);
  if (isSurveyed)
    counts.surveyAgain(choices, {}, window);
  else
    counts.survey(window);
  return propagate(window);
}

int64_t PackBranches::nextSupport(int32_t shape, Span window) const {
  int64_t support = nowhere;
  const llvm::ArrayRef<int64_t> least = packing.least, smallest = packing.order.smallest;
  packing.forEachLeft({items[shape].lower, items[shape].upper}, window, [&](int32_t other) {
    if (other != shape)
      support = std::min(support, least[other] + smallest[other]);
  });
  return support;
}

/// Raises the skyline of gaps on which no shape may be placed any more, up to the lowest offset of
/// a shape there. That raises no offset, so one round is enough.
bool PackBranches::propagate(Span window) {
  counts.findGaps(gaps);
  if (gaps.empty())
    return true;
  changed.clear();
  size_t next = 0; // the first gap that ends after the begin of the shape
  packing.forEachLeft({gaps.front().from, gaps.back().to}, window, [&](int32_t shape) {
    while (next < gaps.size() && gaps[next].to <= items[shape].lower)
      ++next;
    if (next < gaps.size() && gaps[next].from < items[shape].upper)
      changed.push_back(shape);
  });
  counts.forget(changed, gaps);
  for (Span gap : gaps)
    if (!raiseSkyline(gap))
      return false;
  counts.surveyAgain(changed, gaps, window);
  return true;
}

/// Raises the skyline of one gap. Returns whether all that is left there still fits.
bool PackBranches::raiseSkyline(Span gap) {
  int64_t highest = nowhere; // least offset of the shapes that are live throughout the gap
  forEachChanged(gap, [&](int32_t shape) {
    if (items[shape].lower <= gap.from && items[shape].upper >= gap.to)
      highest = std::min(highest, packing.least[shape]);
  });
  for (int32_t position = gap.from; position < gap.to; ++position)
    packing.setSkyline(position, highest);
  forEachChanged(gap, [&](int32_t shape) {
    if (packing.least[shape] < highest)
      for (int32_t position = std::max(gap.from, items[shape].lower);
           position < std::min(gap.to, items[shape].upper); ++position)
        packing.lowerSkyline(position, packing.least[shape]);
  });
  for (int32_t position = gap.from; position < gap.to; ++position)
    if (packing.skyline[position] > capacity - packing.remaining[position]) {
      weight[position] += learning;
      return false;
    }
  touch(gap);
  return true;
}

/// Updates the shapes whose offset bound was above the skyline and which may touch it now.
void PackBranches::touch(Span gap) {
  forEachChanged(gap, [&](int32_t shape) {
    if (packing.touchesSkyline(shape))
      return;
    for (int32_t position = std::max(gap.from, items[shape].lower);
         position < std::min(gap.to, items[shape].upper); ++position)
      if (packing.skyline[position] == packing.least[shape]) {
        packing.setBound(shape, packing.least[shape], position);
        return;
      }
  });
}
