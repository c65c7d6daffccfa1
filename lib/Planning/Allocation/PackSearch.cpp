//===- PackSearch.cpp - Exact search for a packing within a capacity --------------===//

#include "PackSearch.h"
#include <algorithm>
#include <limits>
#include <numeric>

namespace llmmem::planning {

static constexpr int64_t nowhere = std::numeric_limits<int64_t>::max();

PackSearch::PackSearch(const Shapes &shapes)
    : shapes(shapes), shapeOf(shapes.shapes.size()), firstStarting(shapes.positions + 1, 0),
      weight(shapes.positions, 1.0), stretchOf(shapes.positions), within(shapes.positions),
      across(shapes.positions) {
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

PackSearch::Outcome PackSearch::run(int64_t within, const Taste &taste, int64_t &nodes,
                                    std::vector<int64_t> &offsets) {
  capacity = within;
  learning = taste.learning;
  rank.clear();
  for (int32_t shape : shapeOf)
    rank.push_back(taste.rank[shape]);
  floor.assign(shapes.positions, 0);
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
void PackSearch::forEachLeft(Interval span, Interval part, Function function) const {
  const int32_t end = firstStarting[span.to];
  for (int32_t shape = firstStarting[part.from]; shape < end; ++shape)
    if (!placed[shape] && items[shape].upper > span.from)
      function(shape);
}

/// Where the shapes that are left fall apart in time, the parts are searched one after another, and
/// a part without a packing leads back to the answer that left it: it is not tried again for each
/// packing of the others.
PackSearch::Outcome PackSearch::search(int64_t &nodes) {
  const Interval whole = {0, shapes.positions};
  survey(whole);
  questions.clear();
  questions.emplace_back(-1, whole);
  questions.back().parts = partsOf(whole);
  int32_t current = 0;
  while (true) {
    while (questions[current].nextPart == questions[current].parts.size()) {
      current = questions[current].parent;
      if (current < 0)
        return Outcome::Found;
    }
    // Answering "none" may go on for long; a stack that deep is no packing worth waiting for.
    if (nodes-- <= 0 || questions.size() > 4 * items.size() + 1000)
      return Outcome::Spent;
    Question &asker = questions[current];
    const Interval part = asker.parts[asker.nextPart++];
    questions.emplace_back(current, part);
    current = static_cast<int32_t>(questions.size()) - 1;
    ask(questions.back());
    while (!answer(questions[current])) {
      current = questions[current].parent;
      if (current == 0)
        return Outcome::None;
      questions.erase(questions.begin() + current + 1, questions.end());
    }
  }
}

void PackSearch::ask(Question &question) {
  const int32_t position = choosePosition(question.part);
  question.position = position;
  question.mark = trail.size();
  forEachLeft({position, position + 1}, question.part, [&](int32_t shape) {
    if (least[shape] == floor[position])
      question.choices.push_back(shape);
  });
  std::sort(question.choices.begin(), question.choices.end(),
            [&](int32_t a, int32_t b) { return rank[a] > rank[b]; });
}

/// Takes back the answer tried last, and tries the next that does not fail at once. False where
/// none is left.
bool PackSearch::answer(Question &question) {
  undo(question.mark);
  while (question.nextChoice <= question.choices.size()) {
    const size_t choice = question.nextChoice++;
    const bool stands = choice < question.choices.size();
    if (stands && choice > 0 && areTwins(question.choices[choice - 1], question.choices[choice]))
      continue; // what failed for the one fails for the other
    if (stands ? stand(question.choices[choice], question.part) : standElsewhere(question)) {
      question.parts = partsOf(question.part);
      question.nextPart = 0;
      return true;
    }
    undo(question.mark);
  }
  return false;
}

std::vector<PackSearch::Interval> PackSearch::partsOf(Interval whole) const {
  std::vector<Interval> parts;
  forEachLeft(whole, whole, [&](int32_t shape) {
    const Shape &item = items[shape];
    if (parts.empty() || parts.back().to <= item.lower)
      parts.push_back({item.lower, item.upper});
    else
      parts.back().to = std::max(parts.back().to, item.upper);
  });
  // The smallest first: it fails soonest.
  std::stable_sort(parts.begin(), parts.end(), [](const Interval &a, const Interval &b) {
    return a.to - a.from < b.to - b.from;
  });
  return parts;
}

bool PackSearch::areTwins(int32_t a, int32_t b) const {
  const Shape &one = items[a], &other = items[b];
  return one.lower == other.lower && one.upper == other.upper && one.size == other.size &&
         one.pieceCount == 1 && other.pieceCount == 1;
}

/// The position with the fewest answers where all that may stand stands on level ground, so that
/// nothing can come between. The lowest position is always such a one.
int32_t PackSearch::choosePosition(Interval part) const {
  int32_t best = -1;
  double bestScore = 1e300;
  int64_t bestFloor = nowhere;
  for (int32_t position = part.from; position < part.to; ++position) {
    if (across[position] > 0)
      continue;
    const int64_t slack = capacity - floor[position] - remaining[position];
    const int32_t answers = within[position] + (slack > 0 ? 1 : 0);
    const double score = answers <= 1 ? 0 : answers / weight[position];
    if (score < bestScore || (score == bestScore && floor[position] < bestFloor)) {
      best = position;
      bestScore = score;
      bestFloor = floor[position];
    }
  }
  return best;
}

/// Places `shape` on its floor, which is level.
bool PackSearch::stand(int32_t shape, Interval part) {
  set(placed[shape], 1);
  for (const Piece &piece : shapes.piecesOf(items[shape])) {
    const int64_t height = least[shape] + piece.size;
    for (int32_t position = piece.lower; position < piece.upper; ++position) {
      set(remaining[position], remaining[position] - piece.size);
      set(floor[position], height);
    }
    forEachLeft({piece.lower, piece.upper}, part, [&](int32_t other) {
      if (least[other] > height || (least[other] == height && floor[touching[other]] == height))
        return;
      set(least[other], height);
      set(touching[other], std::max(items[other].lower, piece.lower));
    });
  }
  return propagate(part);
}

/// No candidate at the position stands on its floor: each must stand on something that is still to
/// come.
bool PackSearch::standElsewhere(const Question &question) {
  // All supports before the first change, which could hide one candidate's support behind
  // another's.
  std::vector<int64_t> supports;
  for (int32_t shape : question.choices)
    supports.push_back(nextSupport(shape, question.part));
  for (size_t choice = 0; choice < supports.size(); ++choice) {
    const int32_t shape = question.choices[choice];
    if (supports[choice] == nowhere)
      return false;
    if (supports[choice] > least[shape])
      set(least[shape], supports[choice]);
  }
  return propagate(question.part);
}

int64_t PackSearch::nextSupport(int32_t shape, Interval part) const {
  int64_t support = nowhere;
  forEachLeft({items[shape].lower, items[shape].upper}, part, [&](int32_t other) {
    if (other != shape)
      support = std::min(support, least[other] + smallest[other]);
  });
  return support;
}

/// Raises the floors on which nothing may stand any more. As they rise to where the lowest shape
/// may, none is raised by that, and one round is enough.
bool PackSearch::propagate(Interval part) {
  survey(part);
  bool isRaised = false;
  for (int32_t position = part.from; position < part.to;) {
    auto isGap = [&](int32_t at) { return remaining[at] > 0 && within[at] + across[at] == 0; };
    Interval gap = {position, position};
    while (gap.to < part.to && isGap(gap.to))
      ++gap.to;
    position = gap.to + 1;
    if (gap.from == gap.to)
      continue;
    if (!raiseFloors(gap, part))
      return false;
    isRaised = true;
  }
  if (isRaised)
    survey(part);
  return true;
}

bool PackSearch::raiseFloors(Interval gap, Interval part) {
  int64_t highest = nowhere; // of what is held all over the gap
  forEachLeft(gap, part, [&](int32_t shape) {
    if (items[shape].lower <= gap.from && items[shape].upper >= gap.to)
      highest = std::min(highest, least[shape]);
  });
  for (int32_t position = gap.from; position < gap.to; ++position)
    set(floor[position], highest);
  forEachLeft(gap, part, [&](int32_t shape) {
    if (least[shape] < highest)
      for (int32_t position = std::max(gap.from, items[shape].lower);
           position < std::min(gap.to, items[shape].upper); ++position)
        floor[position] = std::min(floor[position], least[shape]);
  });
  for (int32_t position = gap.from; position < gap.to; ++position)
    if (floor[position] > capacity - remaining[position]) {
      weight[position] += learning;
      return false;
    }
  touch(gap, part);
  return true;
}

/// What had to stand higher than any floor may find one now.
void PackSearch::touch(Interval gap, Interval part) {
  forEachLeft(gap, part, [&](int32_t shape) {
    if (floor[touching[shape]] == least[shape])
      return;
    for (int32_t position = std::max(gap.from, items[shape].lower);
         position < std::min(gap.to, items[shape].upper); ++position)
      if (floor[position] == least[shape]) {
        set(touching[shape], position);
        return;
      }
  });
}

/// Counts, at each position, what may stand on its floor.
void PackSearch::survey(Interval part) {
  findStretches(part);
  std::fill(within.begin() + part.from, within.begin() + part.to, 0);
  std::fill(across.begin() + part.from, across.begin() + part.to, 0);
  forEachLeft(part, part, [&](int32_t shape) { surveyShape(shape, part); });
  for (int32_t position = part.from + 1; position < part.to; ++position) {
    within[position] += within[position - 1];
    across[position] += across[position - 1];
  }
}

void PackSearch::findStretches(Interval part) {
  stretches.clear();
  for (int32_t position = part.from; position < part.to; ++position) {
    if (stretches.empty() || stretches.back().height != floor[position])
      stretches.push_back({floor[position], position, position});
    stretches.back().end = position + 1;
    stretchOf[position] = static_cast<int32_t>(stretches.size()) - 1;
  }
  const size_t count = stretches.size();
  byHeight.resize(count);
  groupBegin.resize(count);
  std::iota(byHeight.begin(), byHeight.end(), 0);
  std::sort(byHeight.begin(), byHeight.end(), [&](int32_t a, int32_t b) {
    return std::pair(stretches[a].height, a) < std::pair(stretches[b].height, b);
  });
  for (size_t index = 0; index < count; ++index) {
    const bool isNew =
        index == 0 || stretches[byHeight[index]].height != stretches[byHeight[index - 1]].height;
    groupBegin[byHeight[index]] =
        isNew ? static_cast<int32_t>(index) : groupBegin[byHeight[index - 1]];
  }
}

void PackSearch::surveyShape(int32_t shape, Interval part) {
  const Shape &item = items[shape];
  const int32_t touched = stretchOf[touching[shape]];
  const Stretch &stretch = stretches[touched];
  if (stretch.height != least[shape])
    return;
  if (stretch.begin <= item.lower && item.upper <= stretch.end) {
    count(within, item.lower, item.upper, part);
    return;
  }
  for (size_t index = groupBegin[touched]; index < byHeight.size(); ++index) {
    const Stretch &other = stretches[byHeight[index]];
    if (other.height != stretch.height || other.begin >= item.upper)
      return;
    if (other.end > item.lower)
      count(across, std::max(other.begin, item.lower), std::min(other.end, item.upper), part);
  }
}

/// One more from `from` to `to`, as differences.
void PackSearch::count(std::vector<int32_t> &changes, int32_t from, int32_t to, Interval part) {
  ++changes[from];
  if (to < part.to)
    --changes[to];
}

} // namespace llmmem::planning
