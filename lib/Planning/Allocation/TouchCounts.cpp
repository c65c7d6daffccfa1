//===- TouchCounts.cpp - How many shapes may be placed at each position ------------===//

#include "TouchCounts.h"

using namespace llmmem::planning;

TouchCounts::TouchCounts(const PartialPacking &packing)
    : packing(packing), items(packing.order.items), ofRun(packing.order.shapes.positions),
      ofRuns(ofRun), runEnd(ofRun.at), before(items.size()), after(items.size()) {}

std::vector<int32_t> TouchCounts::save(Span window) const {
  std::vector<int32_t> saved;
  saved.reserve(3 * static_cast<size_t>(window.to - window.from));
  for (const std::vector<int32_t> *counts : {&ofRun.at, &ofRuns.at, &runEnd})
    saved.insert(saved.end(), counts->begin() + window.from, counts->begin() + window.to);
  return saved;
}

void TouchCounts::restore(Span window, llvm::ArrayRef<int32_t> saved) {
  for (std::vector<int32_t> *counts : {&ofRun.at, &ofRuns.at, &runEnd}) {
    llvm::copy(saved.take_front(window.to - window.from), counts->begin() + window.from);
    saved = saved.drop_front(window.to - window.from);
  }
}

void TouchCounts::findGaps(std::vector<Span> &gaps) const {
  gaps.clear();
  const llvm::ArrayRef<int64_t> remaining = packing.remaining;
  for (int32_t position = surveyed.from; position < surveyed.to; ++position) {
    if (remaining[position] <= 0 || ofRun.at[position] + ofRuns.at[position] > 0)
      continue;
    if (gaps.empty() || gaps.back().to != position)
      gaps.push_back({position, position});
    gaps.back().to = position + 1;
  }
}

void TouchCounts::Counts::clear(Span window) {
  std::fill(begins.begin() + window.from, begins.begin() + window.to, 0);
  std::fill(ends.begin() + window.from + 1, ends.begin() + window.to + 1, 0);
}

void TouchCounts::Counts::sumUp(Span window) {
  int32_t sum = 0;
  for (int32_t position = window.from; position < window.to; ++position) {
    sum += begins[position];
    at[position] = sum;
    sum -= ends[position + 1];
  }
}

void TouchCounts::survey(Span window) {
  findRuns(window, window);
  surveyed = window;
  ofRun.clear(window);
  ofRuns.clear(window);
  packing.forEachLeft(window, window, [&](int32_t shape) { surveyShape(shape); });
  ofRun.sumUp(window);
  ofRuns.sumUp(window);
}

TouchCounts::Counted TouchCounts::countedAs(int32_t shape) const {
  const Shape &item = items[shape];
  const int64_t height = packing.least[shape];
  if (packing.isPlaced(shape) || !packing.touchesSkyline(shape))
    return {Touch::None, height};
  return {runEnd[item.lower] >= item.upper ? Touch::Within : Touch::Across, height};
}

/// Counts a shape that is counted so and is live throughout `span`.
void TouchCounts::count(const Counted &counted, Span span, int32_t amount) {
  const llvm::ArrayRef<int64_t> skyline = packing.skyline;
  if (counted.touch == Touch::Within)
    for (int32_t position = span.from; position < span.to; ++position)
      ofRun.at[position] += amount;
  else if (counted.touch == Touch::Across)
    for (int32_t position = span.from; position < span.to; position = runEnd[position])
      if (skyline[position] == counted.least) {
        const int32_t end = std::min(runEnd[position], span.to);
        for (int32_t each = position; each < end; ++each)
          ofRuns.at[each] += amount;
      }
}

/// Counts each of `shapes` as `counted` says, where it is live and the skyline is `raised`.
void TouchCounts::countWithin(llvm::ArrayRef<int32_t> shapes, const std::vector<Counted> &counted,
                              llvm::ArrayRef<Span> raised, int32_t amount) {
  int64_t highest = -1; // no skyline there touches a shape of a larger bound
  for (const Span &each : raised)
    for (int32_t position = each.from; position < each.to; position = runEnd[position])
      highest = std::max(highest, packing.skyline[position]);
  for (size_t at = 0; at < shapes.size(); ++at) {
    if (counted[at].touch == Touch::None || counted[at].least > highest)
      continue;
    const Shape &item = items[shapes[at]];
    for (const Span &each : raised)
      count(counted[at], {std::max(each.from, item.lower), std::min(each.to, item.upper)}, amount);
  }
}

/// Counts `shape` where it is live but the skyline is not raised.
void TouchCounts::countOverlapping(int32_t shape, const Counted &counted,
                                   llvm::ArrayRef<Span> raised, int32_t amount) {
  if (counted.touch == Touch::None)
    return;
  const Shape &item = items[shape];
  surveyed = {std::min(surveyed.from, item.lower), std::max(surveyed.to, item.upper)};
  int32_t from = item.lower;
  for (const Span &each : raised) {
    count(counted, {from, std::min(each.from, item.upper)}, amount);
    from = std::max(from, each.to);
  }
  count(counted, {from, item.upper}, amount);
}

void TouchCounts::forget(llvm::ArrayRef<int32_t> shapes, llvm::ArrayRef<Span> raised) {
  for (size_t at = 0; at < shapes.size(); ++at)
    before[at] = countedAs(shapes[at]);
  countWithin(shapes, before, raised, -1);
}

void TouchCounts::surveyAgain(llvm::ArrayRef<int32_t> shapes, llvm::ArrayRef<Span> raised,
                              Span window) {
  surveyed = {window.to, window.from};
  if (!raised.empty()) {
    surveyed = {raised.front().from, raised.back().to};
    findRuns(surveyed, window);
  }
  for (size_t at = 0; at < shapes.size(); ++at)
    after[at] = countedAs(shapes[at]);
  countWithin(shapes, after, raised, 1);
  for (size_t at = 0; at < shapes.size(); ++at) {
    if (after[at] == before[at])
      continue;
    countOverlapping(shapes[at], before[at], raised, -1);
    countOverlapping(shapes[at], after[at], raised, 1);
  }
}

/// Finds the runs again where the skyline has changed at `raised`. Runs before it change only where
/// the last of them goes on.
void TouchCounts::findRuns(Span raised, Span window) {
  for (int32_t position = raised.to; position-- > window.from;) {
    const bool goesOn =
        position + 1 < window.to && packing.skyline[position + 1] == packing.skyline[position];
    const int32_t end = goesOn ? runEnd[position + 1] : position + 1;
    if (position < raised.from && end == runEnd[position])
      return;
    runEnd[position] = end;
  }
}

void TouchCounts::surveyShape(int32_t shape) {
  const Shape &item = items[shape];
  const Counted counted = countedAs(shape);
  if (counted.touch == Touch::Within)
    ofRun.add(item.lower, item.upper);
  if (counted.touch != Touch::Across)
    return;
  for (int32_t position = item.lower; position < item.upper; position = runEnd[position])
    if (packing.skyline[position] == counted.least)
      ofRuns.add(position, std::min(runEnd[position], item.upper));
}
