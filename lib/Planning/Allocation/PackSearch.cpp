//===- PackSearch.cpp - Exact search for a packing within a capacity --------------===//

#include "PackSearch.h"
#include <algorithm>

namespace llmmem::planning {

PackSearch::PackSearch(const Shapes &shapes, Cancellation *cancellation)
    : shapes(shapes), cancellation(cancellation), order(shapes), packing(order), counts(packing),
      branches(packing, counts) {}

PackSearch::Outcome PackSearch::run(int64_t capacity, const Priorities &priorities, int64_t &nodes,
                                    std::vector<int64_t> &offsets) {
  branches.start(capacity, priorities.learning);
  rank.clear();
  for (int32_t shape : order.shapeOf)
    rank.push_back(priorities.rank[shape]);
  packing.clear();
  if (*llvm::max_element(packing.remaining) > capacity)
    return Outcome::None;
  const Outcome outcome = search(nodes);
  if (outcome == Outcome::Found) {
    offsets.resize(order.items.size());
    for (size_t item = 0; item < order.items.size(); ++item)
      offsets[order.shapeOf[item]] = packing.least[item];
  }
  return outcome;
}

/// Where the unplaced shapes split into windows that are disjoint in time, the windows are searched
/// one after another. A window without a packing backtracks to the branch that created it, and is
/// not tried again for each packing of the other windows.
PackSearch::Outcome PackSearch::search(int64_t &nodes) {
  // A stack of the counts of all nodes takes a few megabytes at most.
  constexpr size_t mostSaved = 1 << 19;
  const Span whole = {0, shapes.positions};
  counts.survey(whole);
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
    if (nodes-- <= 0 || isCancelled() || stack.size() > 4 * order.items.size() + 1000)
      return Outcome::Spent;
    Node &parent = stack[current];
    const Span window = parent.windows[parent.nextWindow++];
    stack.emplace_back(current, window);
    current = static_cast<int32_t>(stack.size()) - 1;
    listChoices(stack.back());
    if ((window.to - window.from) * stack.size() <= mostSaved)
      stack.back().counts = counts.save(window);
    while (!tryNextChoice(stack[current])) {
      current = stack[current].parent;
      if (current == 0)
        return Outcome::None;
      stack.erase(stack.begin() + current + 1, stack.end());
    }
  }
}

void PackSearch::listChoices(Node &node) {
  const int32_t position = branches.choosePosition(node.window);
  node.mark = packing.mark();
  packing.forEachLeft({position, position + 1}, node.window, [&](int32_t shape) {
    if (packing.least[shape] == packing.skyline[position])
      node.choices.push_back(shape);
  });
  std::sort(node.choices.begin(), node.choices.end(),
            [&](int32_t a, int32_t b) { return rank[a] > rank[b]; });
}

/// Undoes the current branch and takes the next one that propagation does not refute. Returns false
/// where none is left.
bool PackSearch::tryNextChoice(Node &node) {
  packing.undo(node.mark);
  bool isSurveyed = node.nextChoice == 0; // otherwise what was undone is still counted
  for (; node.nextChoice <= node.choices.size(); isSurveyed = false) {
    if (!isSurveyed && !node.counts.empty()) {
      counts.restore(node.window, node.counts);
      isSurveyed = true;
    }
    const size_t choice = node.nextChoice++;
    const bool isPlaced = choice < node.choices.size();
    if (isPlaced && choice > 0 && areTwins(node.choices[choice - 1], node.choices[choice]))
      continue; // the two are symmetric: where one fails the other fails
    if (isPlaced ? branches.placeOnSkyline(node.choices[choice], node.window, isSurveyed)
                 : branches.placeOffSkyline(node.choices, node.window, isSurveyed)) {
      node.windows = splitByTime(node.window);
      node.nextWindow = 0;
      return true;
    }
    packing.undo(node.mark);
  }
  return false;
}

std::vector<Span> PackSearch::splitByTime(Span whole) const {
  std::vector<Span> windows;
  Span last = {whole.from, whole.from};
  packing.forEachLeft(whole, whole, [&](int32_t shape) {
    const Shape &item = order.items[shape];
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
  std::stable_sort(windows.begin(), windows.end(),
                   [](const Span &a, const Span &b) { return a.to - a.from < b.to - b.from; });
  return windows;
}

bool PackSearch::areTwins(int32_t a, int32_t b) const {
  const Shape &one = order.items[a], &other = order.items[b];
  return one.lower == other.lower && one.upper == other.upper && one.size == other.size &&
         one.pieceCount == 1 && other.pieceCount == 1;
}

} // namespace llmmem::planning
