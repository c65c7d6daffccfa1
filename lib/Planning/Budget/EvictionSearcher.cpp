//===- EvictionSearcher.cpp - Eviction from orders, capacity by capacity ----------===//

#include "EvictionSearcher.h"
#include "Tuning/Constants.h"
#include "llmmem/Support/ByteSize.h"

using namespace llmmem;
using namespace llmmem::planning;

/// Makes a ladder from each order that holds less than those before it.
void EvictionSearcher::makeLadders() {
  std::vector<const Candidate *> starts{&context.ofChain()};
  if (context.given().peak < context.ofChain().peak)
    starts.push_back(&context.given());
  if (context.ordered().peak < context.given().peak)
    starts.push_back(&context.ordered());
  if (context.annealedOrder().peak < context.ordered().peak)
    starts.push_back(&context.annealedOrder());
  for (const Candidate *start : starts)
    if (llvm::none_of(ladders, [&](const Ladder &other) {
          return other.levels.front().start() == start->steps;
        }))
      ladders.push_back(
          {start->peak, context.work / tuning::evictionWorkPart, {EvictionPath(start->steps)}});
}

/// Returns the lowest level of the eviction from an order that is no lower than `capacity`.
EvictionPath &EvictionSearcher::levelAbove(Ladder &ladder, int64_t capacity) {
  const int64_t resident = context.graph.residentBytes();
  size_t level = 0;
  for (int64_t limit = ladder.peak;;) {
    limit = resident + (limit - resident) / 8 * 7;
    if (limit < capacity || limit == resident)
      return ladder.levels[level];
    if (++level < ladder.levels.size())
      continue;
    std::vector<OpIndex> steps;
    if (ladder.left <= 0 || !evictUntilFits(context.graph, ladder.levels.back(), limit,
                                            context.evictionDepth(), ladder.left, steps)) {
      ladder.left = 0;
      return ladder.levels.back();
    }
    ladder.levels.emplace_back(std::move(steps));
  }
}

bool EvictionSearcher::searchFrom(EvictionPath &path, int64_t capacity, Candidates &found,
                                  int64_t &spent) {
  context.progress.announce("eviction under " + formatByteSize(capacity));
  const int64_t most = context.work / tuning::evictionWorkPart;
  int64_t left = most;
  std::vector<OpIndex> steps;
  const bool fits =
      evictUntilFits(context.graph, path, capacity, context.evictionDepth(), left, steps);
  spent += most - left;
  context.progress.report("eviction", capacity);
  if (fits)
    found.push_back(context.improved(std::move(steps), capacity, name(), spent));
  return fits;
}

int64_t EvictionSearcher::search(const SearchRequest &request, Candidates &found) {
  int64_t spent = 0;
  if (ladders.empty())
    makeLadders();
  for (Ladder &ladder : ladders) {
    EvictionPath &level = levelAbove(ladder, request.capacity);
    const bool fits = searchFrom(level, request.capacity, found, spent);
    // The evictions of a level may be in the way, and with few ops a new start takes little time.
    if (&level != &ladder.levels.front() &&
        (!fits || context.graph.numOps() <= tuning::smallSearchOps))
      searchFrom(ladder.levels.front(), request.capacity, found, spent);
  }
  return spent;
}
