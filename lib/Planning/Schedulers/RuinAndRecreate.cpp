//===- RuinAndRecreate.cpp - Cheaper schedules by ruin and recreate -------------===//

#include "RuinAndRecreate.h"
#include "Editor.h"
#include "Eviction.h"
#include <algorithm>

using namespace llmmem::planning;

/// The passes over the steps that an attempt takes in addition to the eviction: two that keep what
/// fits, and a profile.
static constexpr int64_t passes = 9;

/// The bytes that may be held while repeats are removed, in thousandths of the capacity for what is
/// not resident: from a few bytes, which change a few repeats, to so many that nearly all are
/// chosen anew.
static constexpr int64_t ruins[] = {2,   4,   8,   12,  16,  23,  32,   46,   64,   90,
                                    128, 180, 250, 350, 500, 700, 1000, 1500, 2000, 3000};

namespace {
/// Makes the attempts at one capacity. Two amounts often remove the same repeats, and then the rest
/// is known.
class RuinAndRecreate {
public:
  RuinAndRecreate(const Graph &graph, int64_t capacity, int deepest, int64_t &work)
      : graph(graph), capacity(capacity), deepest(deepest), work(work) {}

  /// Returns `steps` without the repeats that `thousandths` more than the capacity makes needless,
  /// evicted until they fit the capacity. Returns nothing where they do not.
  std::optional<std::vector<OpIndex>> attempt(std::vector<OpIndex> steps, int64_t thousandths);

private:
  bool evict(std::vector<OpIndex> &steps);

  const Graph &graph;
  const int64_t capacity;
  const int deepest;
  int64_t &work;
  /// The start and the end of the last eviction.
  std::vector<OpIndex> start, end;
  bool fits = false;
  int64_t workOfIt = INT64_MAX;
};
} // namespace

bool RuinAndRecreate::evict(std::vector<OpIndex> &steps) {
  if (work >= workOfIt && steps == start) {
    work -= workOfIt; // as if it had been done again
    steps = end;
    return fits;
  }
  start = steps;
  const int64_t before = work;
  fits = evictUntilFits(graph, steps, capacity, deepest, work);
  workOfIt = work >= 0 ? before - work : INT64_MAX;
  end = steps;
  return fits;
}

std::optional<std::vector<OpIndex>> RuinAndRecreate::attempt(std::vector<OpIndex> steps,
                                                             int64_t thousandths) {
  graph.poll();
  const int64_t arena = std::min(capacity - graph.residentBytes(), INT64_MAX / 16);
  dropUselessRepeats(graph, steps);
  keepWhatFits(graph, steps, capacity + arena / 1000 * thousandths);
  work -= passes * static_cast<int64_t>(steps.size());
  if (!evict(steps))
    return std::nullopt;
  keepWhatFits(graph, steps, capacity);
  return steps;
}

std::vector<std::vector<OpIndex>> llmmem::planning::ruinAndRecreate(const Graph &graph,
                                                                    std::vector<OpIndex> steps,
                                                                    int64_t capacity, int deepest,
                                                                    int64_t &work) {
  std::vector<std::vector<OpIndex>> found;
  RuinAndRecreate recreator(graph, capacity, deepest, work);
  int64_t cost = profile(graph, steps).cost;
  for (bool progressed = true; progressed && work > 0;) {
    progressed = false;
    for (int64_t thousandths : ruins) {
      if (work <= 0)
        return found;
      auto other = recreator.attempt(steps, thousandths);
      if (!other || profile(graph, *other).cost >= cost)
        continue;
      steps = *other;
      cost = profile(graph, steps).cost;
      found.push_back(std::move(*other));
      progressed = true;
    }
  }
  return found;
}

/// Amounts other than the least one found next to none (docs/Design/Planning.md, item 9).
std::optional<std::vector<OpIndex>>
llmmem::planning::ruinAndRecreateWithin(const Graph &graph, llvm::ArrayRef<OpIndex> steps,
                                        int64_t capacity, int deepest, int64_t &work) {
  return RuinAndRecreate(graph, capacity, deepest, work).attempt(steps.vec(), ruins[0]);
}
