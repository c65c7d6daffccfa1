//===- Recreate.cpp - Cheaper schedules by ruin and recreate --------------------===//

#include "Recreate.h"
#include "Editor.h"
#include "Eviction.h"
#include <algorithm>

using namespace llmmem::planning;

/// Passes over the steps that an attempt takes beside the eviction: two that keep what fits, and a
/// profile.
static constexpr int64_t passes = 9;

std::vector<std::vector<OpIndex>> llmmem::planning::recreate(const Graph &graph,
                                                             std::vector<OpIndex> steps,
                                                             int64_t capacity, int deepest,
                                                             int64_t &work) {
  std::vector<std::vector<OpIndex>> found;
  int64_t cost = profile(graph, steps).cost;
  auto attempt = [&](int64_t ruined) {
    std::vector<OpIndex> other = steps;
    keepWhatFits(graph, other, ruined);
    work -= passes * static_cast<int64_t>(steps.size());
    if (!evictUntilFits(graph, other, capacity, deepest, work))
      return false;
    keepWhatFits(graph, other, capacity);
    const Profile usage = profile(graph, other);
    if (usage.cost >= cost)
      return false;
    steps = other;
    found.push_back(std::move(other));
    cost = usage.cost;
    return true;
  };
  // Of the capacity for what is not resident: from a few bytes, which change a few repeats, to so
  // many that nearly all are chosen anew.
  const int64_t arena = std::min(capacity - graph.residentBytes(), INT64_MAX / 16);
  constexpr int64_t thousandths[] = {2,   4,   8,   12,  16,  23,  32,   46,   64,   90,
                                     128, 180, 250, 350, 500, 700, 1000, 1500, 2000, 3000};
  for (bool progressed = true; progressed && work > 0;) {
    progressed = false;
    for (int64_t part : thousandths) {
      if (work <= 0)
        return found;
      graph.poll();
      progressed |= attempt(capacity + arena / 1000 * part);
    }
  }
  return found;
}
