//===- PackSearch.cpp - Exact search for a packing within a capacity --------------===//

#include "PackSearch.h"
#include <algorithm>
#include <limits>

namespace llmmem::planning {

static constexpr int64_t nowhere = std::numeric_limits<int64_t>::max();

PackSearch::PackSearch(const Shapes &shapes)
    : shapes(shapes), members(shapes.positions), starting(shapes.positions),
      weight(shapes.positions, 1.0), overlaps(shapes.shapes.size()) {
  const auto count = static_cast<int32_t>(shapes.shapes.size());
  for (int32_t shape = 0; shape < count; ++shape) {
    const Shape &it = shapes.shapes[shape];
    starting[it.lower].push_back(shape);
    for (int32_t position = it.lower; position < it.upper; ++position)
      members[position].push_back(shape);
    int64_t least = it.size;
    for (const Piece &piece : shapes.piecesOf(it))
      least = std::min(least, piece.size);
    smallest.push_back(least);
    for (int32_t other = 0; other < shape; ++other)
      if (shapes.shapes[other].lower < it.upper && it.lower < shapes.shapes[other].upper) {
        overlaps[shape].push_back(other);
        overlaps[other].push_back(shape);
      }
  }
}

PackSearch::Outcome PackSearch::run(int64_t within, const Taste &taste, int64_t &nodes,
                                    std::vector<int64_t> &offsets) {
  capacity = within;
  rank = taste.rank;
  learning = taste.learning;
  depth = 0;
  nodesLeft = nodes;
  const size_t count = shapes.shapes.size();
  floor.assign(shapes.positions, 0);
  remaining = liveBytes(shapes);
  least.assign(count, 0);
  placed.assign(count, 0);
  flatMark.assign(count, -1);
  flat.assign(count, false);
  question = 0;
  trail.clear();
  if (*std::max_element(remaining.begin(), remaining.end()) > capacity)
    return Outcome::None;
  const Outcome outcome = search(0, shapes.positions);
  nodes = nodesLeft;
  if (outcome == Outcome::Found)
    offsets = least;
  return outcome;
}

void PackSearch::undo(size_t mark) {
  for (; trail.size() > mark; trail.pop_back())
    *trail.back().place = trail.back().old;
}

/// Searches positions [from, to), which no unplaced shape leaves. Where the unplaced shapes fall
/// apart in time, the parts are searched one after another, so that a part without a packing is not
/// tried again for each packing of the others.
PackSearch::Outcome PackSearch::search(int32_t from, int32_t to) {
  const size_t mark = trail.size();
  for (auto [lower, upper] : parts(from, to)) {
    const Outcome outcome = searchPart(lower, upper);
    if (outcome == Outcome::None)
      undo(mark);
    if (outcome != Outcome::Found)
      return outcome;
  }
  return Outcome::Found;
}

std::vector<std::pair<int32_t, int32_t>> PackSearch::parts(int32_t from, int32_t to) const {
  std::vector<std::pair<int32_t, int32_t>> found;
  for (int32_t position = from; position < to;) {
    int32_t reach = position; // end of the part that begins at `position`
    int32_t at = position;
    do {
      for (int32_t shape : starting[at])
        if (!placed[shape])
          reach = std::max(reach, shapes.shapes[shape].upper);
    } while (++at < reach);
    if (reach > position)
      found.emplace_back(position, reach);
    position = at;
  }
  // The smallest first: it fails soonest.
  std::stable_sort(found.begin(), found.end(), [](const auto &a, const auto &b) {
    return a.second - a.first < b.second - b.first;
  });
  return found;
}

PackSearch::Outcome PackSearch::searchPart(int32_t from, int32_t to) {
  // Answering "none" may go on for long; a stack that deep is no packing worth waiting for.
  if (nodesLeft-- <= 0 || depth > 4 * shapes.shapes.size() + 1000)
    return Outcome::Spent;
  const int32_t position = choosePosition(from, to);
  std::vector<int32_t> choices;
  for (int32_t shape : members[position])
    if (!placed[shape] && least[shape] == floor[position])
      choices.push_back(shape);
  std::sort(choices.begin(), choices.end(),
            [&](int32_t a, int32_t b) { return rank[a] > rank[b]; });
  const size_t mark = trail.size();
  for (size_t i = 0; i <= choices.size(); ++i) {
    const bool stands = i < choices.size();
    if (stands && i > 0 && areTwins(choices[i - 1], choices[i]))
      continue; // what failed for the one fails for the other
    if (stands ? stand(choices[i]) : standElsewhere(position)) {
      ++depth;
      const Outcome outcome = search(from, to);
      --depth;
      if (outcome != Outcome::None)
        return outcome;
    }
    undo(mark);
  }
  return Outcome::None;
}

bool PackSearch::areTwins(int32_t a, int32_t b) const {
  const Shape &one = shapes.shapes[a], &other = shapes.shapes[b];
  return one.lower == other.lower && one.upper == other.upper && one.size == other.size &&
         one.pieceCount == 1 && other.pieceCount == 1;
}

/// All floors below the shape are level, so that nothing can come between.
bool PackSearch::isFlat(int32_t shape) {
  if (flatMark[shape] != question) {
    flatMark[shape] = question;
    const Shape &it = shapes.shapes[shape];
    flat[shape] = std::all_of(floor.begin() + it.lower, floor.begin() + it.upper,
                              [&](int64_t height) { return height == least[shape]; });
  }
  return flat[shape];
}

/// The position with the fewest answers whose candidates are all flat. The lowest position is
/// always such a one.
int32_t PackSearch::choosePosition(int32_t from, int32_t to) {
  ++question;
  int32_t best = -1;
  double bestScore = 1e300;
  int64_t bestFloor = nowhere;
  for (int32_t position = from; position < to; ++position) {
    if (remaining[position] == 0)
      continue;
    const int64_t slack = capacity - floor[position] - remaining[position];
    int64_t answers = slack > 0 ? 1 : 0;
    bool allFlat = true;
    for (int32_t shape : members[position]) {
      if (placed[shape] || least[shape] != floor[position])
        continue;
      ++answers;
      if (!isFlat(shape)) {
        allFlat = false;
        break;
      }
    }
    const double score = answers <= 1 ? 0 : static_cast<double>(answers) / weight[position];
    if (allFlat && (score < bestScore || (score == bestScore && floor[position] < bestFloor))) {
      best = position;
      bestScore = score;
      bestFloor = floor[position];
    }
  }
  return best;
}

/// Places `shape` on its floor.
bool PackSearch::stand(int32_t shape) {
  set(placed[shape], 1);
  raised.clear();
  recheck.clear();
  for (const Piece &piece : shapes.piecesOf(shapes.shapes[shape]))
    for (int32_t position = piece.lower; position < piece.upper; ++position) {
      set(remaining[position], remaining[position] - piece.size);
      set(floor[position], least[shape] + piece.size);
      raised.push_back(position);
      recheck.push_back(position);
    }
  return propagate();
}

/// No candidate at `position` stands on its floor: each must stand on something that is still to
/// come.
bool PackSearch::standElsewhere(int32_t position) {
  raised.clear();
  recheck.clear();
  const int64_t height = floor[position];
  // All supports before the first change, which could hide one candidate's support behind
  // another's.
  std::vector<std::pair<int32_t, int64_t>> supports;
  for (int32_t shape : members[position])
    if (!placed[shape] && least[shape] == height)
      supports.emplace_back(shape, nextSupport(shape));
  for (auto [shape, support] : supports)
    if (support == nowhere || !raiseShape(shape, support))
      return false;
  return propagate();
}

int64_t PackSearch::nextSupport(int32_t shape) const {
  int64_t support = nowhere;
  for (int32_t other : overlaps[shape])
    if (!placed[other])
      support = std::min(support, least[other] + smallest[other]);
  return support;
}

bool PackSearch::raiseFloor(int32_t position, int64_t height) {
  if (height + remaining[position] > capacity) {
    weight[position] += learning;
    return false;
  }
  set(floor[position], height);
  raised.push_back(position);
  return true;
}

bool PackSearch::raiseShape(int32_t shape, int64_t offset) {
  const int64_t old = least[shape];
  if (offset <= old)
    return true;
  set(least[shape], offset);
  const Shape &it = shapes.shapes[shape];
  for (int32_t position = it.lower; position < it.upper; ++position)
    if (floor[position] < offset && floor[position] >= old)
      recheck.push_back(position);
  return true;
}

bool PackSearch::propagate() {
  while (!raised.empty() || !recheck.empty()) {
    while (!raised.empty()) {
      const int32_t position = raised.back();
      raised.pop_back();
      for (int32_t shape : members[position])
        if (!placed[shape])
          raiseShape(shape, floor[position]);
    }
    while (!recheck.empty()) {
      const int32_t position = recheck.back();
      recheck.pop_back();
      int64_t lowest = nowhere;
      for (int32_t shape : members[position])
        if (!placed[shape])
          lowest = std::min(lowest, least[shape]);
      if (lowest != nowhere && lowest > floor[position] && !raiseFloor(position, lowest))
        return false;
    }
  }
  return true;
}

} // namespace llmmem::planning
