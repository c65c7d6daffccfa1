//===- PackSearch.cpp - Exact search for a packing within a capacity --------------===//

#include "PackSearch.h"
#include <algorithm>
#include <limits>
#include <numeric>

namespace llmmem::planning {

static constexpr int64_t nowhere = std::numeric_limits<int64_t>::max();

PackSearch::PackSearch(const Shapes &shapes, Cancellation *cancellation)
    : shapes(shapes), cancellation(cancellation), shapeOf(shapes.shapes.size()),
      firstStarting(shapes.positions + 1, 0), weight(shapes.positions, 1.0),
      within(shapes.positions), across(shapes.positions), runEnd(shapes.positions, 0) {
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
  placed.assign(items.size(), 0);
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
  for (; trail.size() > mark; trail.pop_back())
    *trail.back().place = trail.back().old;
}

template <typename Function>
void PackSearch::forEachLeft(Interval span, Interval window, Function function) const {
  const int32_t end = firstStarting[span.to];
  for (int32_t shape = firstStarting[window.from]; shape < end; ++shape)
    if (!placed[shape] && items[shape].upper > span.from)
      function(shape);
}

template <typename Function>
void PackSearch::forEachChanged(Interval span, Function function) const {
  for (int32_t shape : changed) {
    if (items[shape].lower >= span.to)
      return; // as all behind it
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

/// Undoes the current branch and takes the next one that propagation does not refute. False where
/// none is left.
bool PackSearch::tryNextChoice(Node &node) {
  undo(node.mark);
  bool isSurveyed = node.nextChoice == 0; // else what was undone is still counted
  for (; node.nextChoice <= node.choices.size(); isSurveyed = false) {
    const size_t choice = node.nextChoice++;
    const bool isPlaced = choice < node.choices.size();
    if (isPlaced && choice > 0 && areTwins(node.choices[choice - 1], node.choices[choice]))
      continue; // symmetric: where one fails the other fails
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
  forEachLeft(whole, whole, [&](int32_t shape) {
    const Shape &item = items[shape];
    if (windows.empty() || windows.back().to <= item.lower)
      windows.push_back({item.lower, item.upper});
    else
      windows.back().to = std::max(windows.back().to, item.upper);
  });
  // The smallest window first: it fails soonest.
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

/// The position with the fewest branches for its weight, of those where every candidate lies within
/// one segment, so that no other shape can fit below it. The lowest position always qualifies.
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
  changed.clear();
  forEachLeft({item.lower, item.upper}, window, [&](int32_t other) { changed.push_back(other); });
  if (isSurveyed)
    forget(changed);
  set(placed[shape], 1);
  for (const Piece &piece : shapes.piecesOf(item)) {
    const int64_t height = least[shape] + piece.size;
    for (int32_t position = piece.lower; position < piece.upper; ++position) {
      set(remaining[position], remaining[position] - piece.size);
      set(skyline[position], height);
    }
    for (int32_t other : changed) {
      if (placed[other] || items[other].upper <= piece.lower || items[other].lower >= piece.upper)
        continue;
      if (least[other] > height || (least[other] == height && skyline[touching[other]] == height))
        continue;
      set(least[other], height);
      set(touching[other], std::max(items[other].lower, piece.lower));
    }
  }
  if (isSurveyed)
    surveyAgain(changed, item.upper, window);
  else
    survey(window);
  return propagate(window);
}

/// The branch that places none of the candidates on the skyline: each must be placed above a shape
/// that is still unplaced.
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
    forget(node.choices);
  for (size_t choice = 0; choice < supports.size(); ++choice)
    if (const int32_t shape = node.choices[choice]; supports[choice] > least[shape])
      set(least[shape], supports[choice]);
  if (isSurveyed)
    surveyAgain(node.choices, node.window.from, node.window);
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

/// Where shapes are left and none may be placed.
void PackSearch::findGaps(Interval window) {
  gaps.clear();
  for (int32_t position = window.from; position < window.to; ++position) {
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
  findGaps(window);
  if (gaps.empty())
    return true;
  changed.clear();
  size_t next = 0; // the first gap that ends behind the begin of the shape
  forEachLeft(window, window, [&](int32_t shape) {
    while (next < gaps.size() && gaps[next].to <= items[shape].lower)
      ++next;
    if (next < gaps.size() && gaps[next].from < items[shape].upper)
      changed.push_back(shape);
  });
  forget(changed);
  for (Interval gap : gaps)
    if (!raiseSkyline(gap))
      return false;
  surveyAgain(changed, gaps.back().to, window);
  return true;
}

/// Whether all that is left there still fits.
bool PackSearch::raiseSkyline(Interval gap) {
  int64_t highest = nowhere; // least offset of the shapes that are live throughout the gap
  forEachChanged(gap, [&](int32_t shape) {
    if (items[shape].lower <= gap.from && items[shape].upper >= gap.to)
      highest = std::min(highest, least[shape]);
  });
  for (int32_t position = gap.from; position < gap.to; ++position)
    set(skyline[position], highest);
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

/// Shapes whose offset bound was above the skyline may touch it now.
void PackSearch::touch(Interval gap) {
  forEachChanged(gap, [&](int32_t shape) {
    if (skyline[touching[shape]] == least[shape])
      return;
    for (int32_t position = std::max(gap.from, items[shape].lower);
         position < std::min(gap.to, items[shape].upper); ++position)
      if (skyline[position] == least[shape]) {
        set(touching[shape], position);
        return;
      }
  });
}

void PackSearch::Counts::clear(Interval window) {
  std::fill(begins.begin() + window.from, begins.begin() + window.to, 0);
  std::fill(ends.begin() + window.from + 1, ends.begin() + window.to + 1, 0);
}

/// At the positions of `span`, a part of `window`.
void PackSearch::Counts::sumUp(Interval span, Interval window) {
  int32_t sum = span.from > window.from ? at[span.from - 1] - ends[span.from] : 0;
  for (int32_t position = span.from; position < span.to; ++position) {
    sum += begins[position];
    at[position] = sum;
    sum -= ends[position + 1];
  }
}

/// Counts, at each position, the shapes that may be placed on its skyline.
void PackSearch::survey(Interval window) {
  findRuns(window, window);
  within.clear(window);
  across.clear(window);
  forEachLeft(window, window, [&](int32_t shape) { surveyShape(shape, 1); });
  within.sumUp(window, window);
  across.sumUp(window, window);
}

/// No longer counts shapes for which something is about to change.
void PackSearch::forget(llvm::ArrayRef<int32_t> shapes) {
  for (int32_t shape : shapes)
    surveyShape(shape, -1);
}

/// Counts them again, those that have been placed meanwhile excepted, where the skyline is another
/// one up to `end` at most. As if all were counted.
void PackSearch::surveyAgain(llvm::ArrayRef<int32_t> shapes, int32_t end, Interval window) {
  findRuns({window.from, end}, window);
  Interval span = {window.to, window.from};
  for (int32_t shape : shapes) {
    if (!placed[shape])
      surveyShape(shape, 1);
    span.from = std::min(span.from, items[shape].lower);
    span.to = std::max(span.to, items[shape].upper);
  }
  within.sumUp(span, window);
  across.sumUp(span, window);
}

void PackSearch::findRuns(Interval span, Interval window) {
  for (int32_t position = span.to; position-- > span.from;) {
    const bool goesOn = position + 1 < window.to && skyline[position + 1] == skyline[position];
    runEnd[position] = goesOn ? runEnd[position + 1] : position + 1;
  }
}

void PackSearch::surveyShape(int32_t shape, int32_t amount) {
  const Shape &item = items[shape];
  const int64_t height = least[shape];
  if (skyline[touching[shape]] != height)
    return;
  if (runEnd[item.lower] >= item.upper) {
    within.add(item.lower, item.upper, amount);
    return;
  }
  for (int32_t position = item.lower; position < item.upper; position = runEnd[position])
    if (skyline[position] == height)
      across.add(position, std::min(runEnd[position], item.upper), amount);
}

} // namespace llmmem::planning
