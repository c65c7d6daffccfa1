//===- PackSearch.cpp - Exact search for a packing within a capacity --------------===//

#include "PackSearch.h"
#include "llvm/ADT/bit.h"
#include <algorithm>
#include <limits>
#include <numeric>

namespace llmmem::planning {

static constexpr int64_t nowhere = std::numeric_limits<int64_t>::max();

PackSearch::PackSearch(const Shapes &shapes, Cancellation *cancellation)
    : shapes(shapes), cancellation(cancellation), shapeOf(shapes.shapes.size()),
      firstStarting(shapes.positions + 1, 0), weight(shapes.positions, 1.0),
      within(shapes.positions), across(shapes.positions), runEnd(shapes.positions, 0),
      before(shapes.shapes.size()), after(shapes.shapes.size()) {
  std::iota(shapeOf.begin(), shapeOf.end(), 0);
  std::stable_sort(shapeOf.begin(), shapeOf.end(), [&](int32_t a, int32_t b) {
    return shapes.shapes[a].lower < shapes.shapes[b].lower;
  });
  for (int32_t shape : shapeOf) {
    const Shape &item = shapes.shapes[shape];
    int64_t size = item.size;
    for (const Piece &piece : shapes.piecesOf(item))
      size = std::min(size, piece.size);
    items.push_back(item);
    smallest.push_back(size);
    ++firstStarting[item.lower + 1];
  }
  std::partial_sum(firstStarting.begin(), firstStarting.end(), firstStarting.begin());
  listLive();
}

void PackSearch::listLive() {
  words = (items.size() + 63) / 64;
  live.assign(words * shapes.positions, 0);
  for (size_t shape = 0; shape < items.size(); ++shape)
    for (int32_t position = items[shape].lower; position < items[shape].upper; ++position)
      live[position * words + shape / 64] |= uint64_t(1) << (shape % 64);
}

PackSearch::Outcome PackSearch::run(int64_t within, const Priorities &priorities, int64_t &nodes,
                                    std::vector<int64_t> &offsets) {
  capacity = within;
  learning = priorities.learning;
  rank.clear();
  for (int32_t shape : shapeOf)
    rank.push_back(priorities.rank[shape]);
  skyline.assign(shapes.positions, 0);
  remaining = liveBytes(shapes);
  least.assign(items.size(), 0);
  touching.clear();
  for (const Shape &item : items)
    touching.push_back(item.lower);
  left.assign(words, ~uint64_t(0));
  trail.clear();
  if (*std::max_element(remaining.begin(), remaining.end()) > capacity)
    return Outcome::None;
  const Outcome outcome = search(nodes);
  if (outcome == Outcome::Found) {
    offsets.resize(items.size());
    for (size_t item = 0; item < items.size(); ++item)
      offsets[shapeOf[item]] = least[item];
  }
  return outcome;
}

void PackSearch::undo(size_t mark) {
  for (; trail.size() > mark; trail.pop_back()) {
    const Change &last = trail.back();
    if (last.touching == ofPlacement) {
      lift(last.index, last.height);
    } else if (last.touching == ofSkyline) {
      skyline[last.index] = last.height;
    } else {
      least[last.index] = last.height;
      touching[last.index] = last.touching;
    }
  }
}

/// Takes the shape off the skyline, which was level at `height` under it.
void PackSearch::lift(int32_t shape, int64_t height) {
  left[shape / 64] |= uint64_t(1) << (shape % 64);
  for (const Piece &piece : shapes.piecesOf(items[shape]))
    for (int32_t position = piece.lower; position < piece.upper; ++position) {
      remaining[position] += piece.size;
      skyline[position] = height;
    }
}

template <typename Function>
void PackSearch::forEachLeft(Interval span, Interval window, Function function) const {
  const int32_t begin = firstStarting[window.from], end = firstStarting[span.to];
  const int32_t later =
      firstStarting[span.from + 1]; // all shapes from there on begin within the span
  const uint64_t *liveAtBegin = &live[span.from * words];
  auto from = [](int32_t shape, int32_t first) { // the bits of a word from `shape` on
    return shape <= first ? ~uint64_t(0) : shape - first < 64 ? ~uint64_t(0) << (shape - first) : 0;
  };
  for (int32_t first = begin / 64 * 64; first < end; first += 64) {
    uint64_t bits = left[first / 64] & from(begin, first) & ~from(end, first) &
                    (liveAtBegin[first / 64] | from(later, first));
    for (; bits; bits &= bits - 1)
      function(first + llvm::countr_zero(bits));
  }
}

template <typename Function>
void PackSearch::forEachChanged(Interval span, Function function) const {
  for (int32_t shape : changed) {
    if (items[shape].lower >= span.to)
      return; // as do all after it
    if (items[shape].upper > span.from)
      function(shape);
  }
}

/// Where the unplaced shapes split into windows that are disjoint in time, the windows are searched
/// one after another. A window without a packing backtracks to the branch that created it, and is
/// not tried again for each packing of the other windows.
PackSearch::Outcome PackSearch::search(int64_t &nodes) {
  const Interval whole = {0, shapes.positions};
  survey(whole);
  stack.clear();
  stack.emplace_back(-1, whole);
  stack.back().windows = splitByTime(whole);
  int32_t current = 0;
  while (true) {
    while (stack[current].nextWindow == stack[current].windows.size()) {
      current = stack[current].parent;
      if (current < 0)
        return Outcome::Found;
    }
    // Branches that place no shape may be long; a stack this deep rarely leads to a packing.
    if (nodes-- <= 0 || isCancelled() || stack.size() > 4 * items.size() + 1000)
      return Outcome::Spent;
    Node &parent = stack[current];
    const Interval window = parent.windows[parent.nextWindow++];
    stack.emplace_back(current, window);
    current = static_cast<int32_t>(stack.size()) - 1;
    listChoices(stack.back());
    saveCounts(stack.back());
    while (!tryNextChoice(stack[current])) {
      current = stack[current].parent;
      if (current == 0)
        return Outcome::None;
      stack.erase(stack.begin() + current + 1, stack.end());
    }
  }
}

void PackSearch::listChoices(Node &node) {
  const int32_t position = choosePosition(node.window);
  node.position = position;
  node.mark = trail.size();
  forEachLeft({position, position + 1}, node.window, [&](int32_t shape) {
    if (least[shape] == skyline[position])
      node.choices.push_back(shape);
  });
  std::sort(node.choices.begin(), node.choices.end(),
            [&](int32_t a, int32_t b) { return rank[a] > rank[b]; });
}

/// Saves what a survey before the next branch would count, as long as a stack of such counts takes
/// a few megabytes.
void PackSearch::saveCounts(Node &node) const {
  constexpr size_t mostSaved = 1 << 19;
  const Interval window = node.window;
  if ((window.to - window.from) * stack.size() > mostSaved)
    return;
  node.counts.reserve(3 * static_cast<size_t>(window.to - window.from));
  for (const std::vector<int32_t> *counts : {&within.at, &across.at, &runEnd})
    node.counts.insert(node.counts.end(), counts->begin() + window.from,
                       counts->begin() + window.to);
}

bool PackSearch::restoreCounts(const Node &node) {
  if (node.counts.empty())
    return false;
  auto saved = node.counts.begin();
  const int32_t length = node.window.to - node.window.from;
  for (std::vector<int32_t> *counts : {&within.at, &across.at, &runEnd}) {
    std::copy(saved, saved + length, counts->begin() + node.window.from);
    saved += length;
  }
  return true;
}

/// Undoes the current branch and takes the next one that propagation does not refute. Returns false
/// where none is left.
bool PackSearch::tryNextChoice(Node &node) {
  undo(node.mark);
  bool isSurveyed = node.nextChoice == 0; // otherwise what was undone is still counted
  for (; node.nextChoice <= node.choices.size(); isSurveyed = false) {
    isSurveyed = isSurveyed || restoreCounts(node);
    const size_t choice = node.nextChoice++;
    const bool isPlaced = choice < node.choices.size();
    if (isPlaced && choice > 0 && areTwins(node.choices[choice - 1], node.choices[choice]))
      continue; // the two are symmetric: where one fails the other fails
    if (isPlaced ? placeOnSkyline(node.choices[choice], node.window, isSurveyed)
                 : placeOffSkyline(node, isSurveyed)) {
      node.windows = splitByTime(node.window);
      node.nextWindow = 0;
      return true;
    }
    undo(node.mark);
  }
  return false;
}

std::vector<PackSearch::Interval> PackSearch::splitByTime(Interval whole) const {
  std::vector<Interval> windows;
  Interval last = {whole.from, whole.from};
  forEachLeft(whole, whole, [&](int32_t shape) {
    const Shape &item = items[shape];
    if (last.to <= item.lower) {
      if (last.from < last.to)
        windows.push_back(last);
      last.from = item.lower;
    }
    last.to = std::max(last.to, item.upper);
  });
  if (last.from < last.to)
    windows.push_back(last);
  // The smallest window comes first, as it fails soonest.
  std::stable_sort(windows.begin(), windows.end(), [](const Interval &a, const Interval &b) {
    return a.to - a.from < b.to - b.from;
  });
  return windows;
}

bool PackSearch::areTwins(int32_t a, int32_t b) const {
  const Shape &one = items[a], &other = items[b];
  return one.lower == other.lower && one.upper == other.upper && one.size == other.size &&
         one.pieceCount == 1 && other.pieceCount == 1;
}

/// Returns the position with the fewest branches for its weight, among those where every candidate
/// lies within one segment, so that no other shape can fit below it. The lowest position always
/// qualifies.
int32_t PackSearch::choosePosition(Interval window) const {
  int32_t best = -1;
  double bestScore = 1e300;
  int64_t bestHeight = nowhere;
  for (int32_t position = window.from; position < window.to; ++position) {
    if (across.at[position] > 0)
      continue;
    const int64_t slack = capacity - skyline[position] - remaining[position];
    const int32_t branches = within.at[position] + (slack > 0 ? 1 : 0);
    const double score = branches <= 1 ? 0 : branches / weight[position];
    if (score < bestScore || (score == bestScore && skyline[position] < bestHeight)) {
      best = position;
      bestScore = score;
      bestHeight = skyline[position];
    }
  }
  return best;
}

/// Places `shape` on the skyline, which is level below it.
bool PackSearch::placeOnSkyline(int32_t shape, Interval window, bool isSurveyed) {
  const Shape &item = items[shape];
  // A bound above the skyline stays as it is, and so does the position at which its shape touches
  // it.
  const int64_t top = least[shape] + item.size;
  changed.clear();
  forEachLeft({item.lower, item.upper}, window, [&](int32_t other) {
    if (least[other] <= top)
      changed.push_back(other);
  });
  if (isSurveyed)
    forget(changed, Interval{item.lower, item.upper});
  trail.push_back({shape, ofPlacement, least[shape]});
  left[shape / 64] &= ~(uint64_t(1) << (shape % 64));
  for (const Piece &piece : shapes.piecesOf(item)) {
    const int64_t height = least[shape] + piece.size;
    for (int32_t position = piece.lower; position < piece.upper; ++position) {
      remaining[position] -= piece.size;
      skyline[position] = height;
    }
    for (int32_t other : changed) {
      if (other == shape || items[other].upper <= piece.lower || items[other].lower >= piece.upper)
        continue;
      if (least[other] > height || (least[other] == height && skyline[touching[other]] == height))
        continue;
      setBound(other, height, std::max(items[other].lower, piece.lower));
    }
  }
  if (isSurveyed)
    surveyAgain(changed, Interval{item.lower, item.upper}, window);
  else
    survey(window);
  return propagate(window);
}

/// Takes the branch that places none of the candidates on the skyline: each must be placed above a
/// shape that is still unplaced.
bool PackSearch::placeOffSkyline(const Node &node, bool isSurveyed) {
  // All supports are computed first, since a raised bound of one candidate could hide the support
  // of another.
  std::vector<int64_t> supports;
  supports.reserve(node.choices.size());
  for (int32_t shape : node.choices) {
    supports.push_back(nextSupport(shape, node.window));
    if (supports.back() == nowhere)
      return false;
  }
  if (isSurveyed)
    forget(node.choices, {});
  for (size_t choice = 0; choice < supports.size(); ++choice)
    if (const int32_t shape = node.choices[choice]; supports[choice] > least[shape])
      setBound(shape, supports[choice], touching[shape]);
  if (isSurveyed)
    surveyAgain(node.choices, {}, node.window);
  else
    survey(node.window);
  return propagate(node.window);
}

int64_t PackSearch::nextSupport(int32_t shape, Interval window) const {
  int64_t support = nowhere;
  forEachLeft({items[shape].lower, items[shape].upper}, window, [&](int32_t other) {
    if (other != shape)
      support = std::min(support, least[other] + smallest[other]);
  });
  return support;
}

/// Finds the positions where shapes are left and none may be placed. They are only where counts
/// have changed, as there were none before.
void PackSearch::findGaps() {
  gaps.clear();
  for (int32_t position = surveyed.from; position < surveyed.to; ++position) {
    if (remaining[position] <= 0 || within.at[position] + across.at[position] > 0)
      continue;
    if (gaps.empty() || gaps.back().to != position)
      gaps.push_back({position, position});
    gaps.back().to = position + 1;
  }
}

/// Raises the skyline of gaps on which no shape may be placed any more, up to the lowest offset of
/// a shape there. That raises no offset, so one round is enough.
bool PackSearch::propagate(Interval window) {
  findGaps();
  if (gaps.empty())
    return true;
  changed.clear();
  size_t next = 0; // the first gap that ends after the begin of the shape
  forEachLeft({gaps.front().from, gaps.back().to}, window, [&](int32_t shape) {
    while (next < gaps.size() && gaps[next].to <= items[shape].lower)
      ++next;
    if (next < gaps.size() && gaps[next].from < items[shape].upper)
      changed.push_back(shape);
  });
  forget(changed, gaps);
  for (Interval gap : gaps)
    if (!raiseSkyline(gap))
      return false;
  surveyAgain(changed, gaps, window);
  return true;
}

/// Raises the skyline of one gap. Returns whether all that is left there still fits.
bool PackSearch::raiseSkyline(Interval gap) {
  int64_t highest = nowhere; // least offset of the shapes that are live throughout the gap
  forEachChanged(gap, [&](int32_t shape) {
    if (items[shape].lower <= gap.from && items[shape].upper >= gap.to)
      highest = std::min(highest, least[shape]);
  });
  for (int32_t position = gap.from; position < gap.to; ++position)
    setSkyline(position, highest);
  forEachChanged(gap, [&](int32_t shape) {
    if (least[shape] < highest)
      for (int32_t position = std::max(gap.from, items[shape].lower);
           position < std::min(gap.to, items[shape].upper); ++position)
        skyline[position] = std::min(skyline[position], least[shape]);
  });
  for (int32_t position = gap.from; position < gap.to; ++position)
    if (skyline[position] > capacity - remaining[position]) {
      weight[position] += learning;
      return false;
    }
  touch(gap);
  return true;
}

/// Updates the shapes whose offset bound was above the skyline and which may touch it now.
void PackSearch::touch(Interval gap) {
  forEachChanged(gap, [&](int32_t shape) {
    if (skyline[touching[shape]] == least[shape])
      return;
    for (int32_t position = std::max(gap.from, items[shape].lower);
         position < std::min(gap.to, items[shape].upper); ++position)
      if (skyline[position] == least[shape]) {
        setBound(shape, least[shape], position);
        return;
      }
  });
}

void PackSearch::Counts::clear(Interval window) {
  std::fill(begins.begin() + window.from, begins.begin() + window.to, 0);
  std::fill(ends.begin() + window.from + 1, ends.begin() + window.to + 1, 0);
}

void PackSearch::Counts::sumUp(Interval window) {
  int32_t sum = 0;
  for (int32_t position = window.from; position < window.to; ++position) {
    sum += begins[position];
    at[position] = sum;
    sum -= ends[position + 1];
  }
}

/// Counts, at each position, the shapes that may be placed on its skyline.
void PackSearch::survey(Interval window) {
  findRuns(window, window);
  surveyed = window;
  within.clear(window);
  across.clear(window);
  forEachLeft(window, window, [&](int32_t shape) { surveyShape(shape); });
  within.sumUp(window);
  across.sumUp(window);
}

PackSearch::Counted PackSearch::countedAs(int32_t shape) const {
  const Shape &item = items[shape];
  const int64_t height = least[shape];
  if (isPlaced(shape) || skyline[touching[shape]] != height)
    return {Touch::None, height};
  return {runEnd[item.lower] >= item.upper ? Touch::Within : Touch::Across, height};
}

/// Counts a shape that is counted so and is live throughout `span`.
void PackSearch::count(const Counted &counted, Interval span, int32_t amount) {
  if (counted.touch == Touch::Within)
    for (int32_t position = span.from; position < span.to; ++position)
      within.at[position] += amount;
  else if (counted.touch == Touch::Across)
    for (int32_t position = span.from; position < span.to; position = runEnd[position])
      if (skyline[position] == counted.least) {
        const int32_t end = std::min(runEnd[position], span.to);
        for (int32_t each = position; each < end; ++each)
          across.at[each] += amount;
      }
}

/// Counts each of `shapes` as `counted` says, where it is live and the skyline is `raised`.
void PackSearch::countWithin(llvm::ArrayRef<int32_t> shapes, const std::vector<Counted> &counted,
                             llvm::ArrayRef<Interval> raised, int32_t amount) {
  int64_t highest = -1; // no skyline there touches a shape of a larger bound
  for (const Interval &each : raised)
    for (int32_t position = each.from; position < each.to; position = runEnd[position])
      highest = std::max(highest, skyline[position]);
  for (size_t at = 0; at < shapes.size(); ++at) {
    if (counted[at].touch == Touch::None || counted[at].least > highest)
      continue;
    const Shape &item = items[shapes[at]];
    for (const Interval &each : raised)
      count(counted[at], {std::max(each.from, item.lower), std::min(each.to, item.upper)}, amount);
  }
}

/// Counts `shape` where it is live but the skyline is not raised.
void PackSearch::countBeside(int32_t shape, const Counted &counted, llvm::ArrayRef<Interval> raised,
                             int32_t amount) {
  if (counted.touch == Touch::None)
    return;
  const Shape &item = items[shape];
  surveyed = {std::min(surveyed.from, item.lower), std::max(surveyed.to, item.upper)};
  int32_t from = item.lower;
  for (const Interval &each : raised) {
    count(counted, {from, std::min(each.from, item.upper)}, amount);
    from = std::max(from, each.to);
  }
  count(counted, {from, item.upper}, amount);
}

/// Stops counting `shapes` there, before the skyline is `raised` and something changes for them.
void PackSearch::forget(llvm::ArrayRef<int32_t> shapes, llvm::ArrayRef<Interval> raised) {
  for (size_t at = 0; at < shapes.size(); ++at)
    before[at] = countedAs(shapes[at]);
  countWithin(shapes, before, raised, -1);
}

/// Counts the shapes again there, and elsewhere those that are counted in another way now. The
/// result is as if all were counted.
void PackSearch::surveyAgain(llvm::ArrayRef<int32_t> shapes, llvm::ArrayRef<Interval> raised,
                             Interval window) {
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
    countBeside(shapes[at], before[at], raised, -1);
    countBeside(shapes[at], after[at], raised, 1);
  }
}

/// Finds the runs again where the skyline has changed at `raised`. Runs before it change only where
/// the last of them goes on.
void PackSearch::findRuns(Interval raised, Interval window) {
  for (int32_t position = raised.to; position-- > window.from;) {
    const bool goesOn = position + 1 < window.to && skyline[position + 1] == skyline[position];
    const int32_t end = goesOn ? runEnd[position + 1] : position + 1;
    if (position < raised.from && end == runEnd[position])
      return;
    runEnd[position] = end;
  }
}

void PackSearch::surveyShape(int32_t shape) {
  const Shape &item = items[shape];
  const Counted counted = countedAs(shape);
  if (counted.touch == Touch::Within)
    within.add(item.lower, item.upper);
  if (counted.touch != Touch::Across)
    return;
  for (int32_t position = item.lower; position < item.upper; position = runEnd[position])
    if (skyline[position] == counted.least)
      across.add(position, std::min(runEnd[position], item.upper));
}

} // namespace llmmem::planning
