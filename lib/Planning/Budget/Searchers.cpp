//===- Searchers.cpp - The portfolio of searchers ---------------------------------===//

#include "Searchers.h"
#include "EvictionSearcher.h"
#include "Schedulers/ChainProgram.h"
#include "Tuning/Constants.h"
#include <algorithm>

namespace llmmem::planning {
namespace {

/// Chooses one option for each stage of the chain by a dynamic program. The result has one level of
/// recomputation.
class StageOptionsSearcher final : public Searcher {
public:
  using Searcher::Searcher;
  llvm::StringRef name() const override { return "options of stages"; }

  /// The options were measured in uniform plans. Where a mixed plan holds more than measured, the
  /// choice is repeated with the target lowered by the excess.
  int64_t search(const SearchRequest &request, Candidates &found) override {
    if (!program)
      program = std::make_unique<ChainProgram>(context.options(), context.ofChain().peak);
    int64_t target = request.capacity, spent = 0;
    for (int attempt = 0; attempt < tuning::mostOptionRepairs; ++attempt) {
      const std::optional<std::vector<int32_t>> chosen = program->choose(target);
      if (!chosen)
        break;
      found.push_back(context.improved(
          realizeChoices(context.graph, context.chain, context.options(), *chosen).steps,
          request.capacity, name(), spent));
      context.progress.report("options per stage", request.capacity);
      const int64_t excess = found.back().peak - request.capacity;
      if (excess <= 0)
        break;
      target -= excess;
    }
    return spent;
  }

private:
  std::unique_ptr<ChainProgram> program;
};

/// Runs the recursion, which also drops inputs of stages and recomputes them from earlier ones.
class NestedSearcher final : public Searcher {
public:
  NestedSearcher(SearchContext &context, NestedTables &tables)
      : Searcher(context), tables(tables) {}
  llvm::StringRef name() const override { return "nested recomputation"; }

  /// Realizes levels from that of the capacity downwards until a few fit: the modelled peak is
  /// close to the real one but not equal.
  int64_t search(const SearchRequest &request, Candidates &found) override {
    int64_t spent = 0;
    if (!tables.isOffered())
      return spent;
    NestedProgram &nested = tables.table(tables.numberFor(request.capacity));
    // A small problem's levels take little time, and one far below may give a better schedule.
    const bool isSmall = context.graph.numOps() <= tuning::smallSearchOps;
    const int32_t mostTries = isSmall ? nested.numLevels() : tuning::mostNestedTries;
    const int32_t mostFitting =
        isSmall ? tuning::mostNestedFittingOfSmall : tuning::mostNestedFitting;
    int32_t fitting = 0;
    int64_t last = -1;
    const int32_t start = std::min(nested.levelOf(request.capacity) + tuning::nestedLevelsAbove,
                                   nested.numLevels() - 1);
    for (int32_t level = start; level >= std::max(0, start - mostTries) && fitting < mostFitting;
         --level) {
      const int64_t cost = nested.cost(level);
      if (cost < 0)
        break;
      if (cost == last)
        continue;
      last = cost;
      found.push_back(
          context.improved(nested.realizeLevel(level).steps, request.capacity, name(), spent));
      context.progress.report("nested recomputation", request.capacity);
      fitting += found.back().peak <= request.capacity;
    }
    return spent;
  }

private:
  NestedTables &tables;
};

/// Returns the cheapest schedule that fits from the way down to the least memory.
class LeastMemorySearcher final : public Searcher {
public:
  using Searcher::Searcher;
  llvm::StringRef name() const override { return "least memory"; }

  int64_t search(const SearchRequest &request, Candidates &found) override {
    int64_t spent = 0;
    const Candidate *best = nullptr;
    for (const Candidate &candidate : request.leastMemory)
      if (candidate.peak <= request.capacity && (!best || isCheaper(candidate, *best)))
        best = &candidate;
    if (best)
      found.push_back(context.improved(best->steps, request.capacity, best->searcher, spent));
    return spent;
  }
};

template <typename SomeSearcher>
std::unique_ptr<Searcher> make(SearchContext &context, NestedTables &tables) {
  if constexpr (std::is_constructible_v<SomeSearcher, SearchContext &>)
    return std::make_unique<SomeSearcher>(context);
  else
    return std::make_unique<SomeSearcher>(context, tables);
}

bool isAlwaysDue(const SearchTurn & /*turn*/) { return true; }

/// Says whether the recursion is due. Stages that are guessed are many and unequal: their table
/// takes longer than eviction, which seldom finds less. So for them the recursion comes after
/// eviction, and only where nothing fits.
bool isDueForMarkedStages(const SearchTurn &turn) {
  return !turn.context.chain.isGuess && turn.isFarFromBound();
}
bool isDueForGuessedStages(const SearchTurn &turn) {
  return turn.context.chain.isGuess && !turn.anyFits();
}

/// Says whether eviction is due: for graphs that are not chains, and for chains small enough that
/// another search costs little.
bool isDueForEviction(const SearchTurn &turn) {
  return turn.isFarFromBound() &&
         (turn.context.graph.numOps() <= tuning::mostOpsOfSecondSearch || !turn.anyFits());
}

constexpr SearcherEntry table[] = {
    {make<StageOptionsSearcher>, isAlwaysDue},  {make<NestedSearcher>, isDueForMarkedStages},
    {make<EvictionSearcher>, isDueForEviction}, {make<NestedSearcher>, isDueForGuessedStages},
    {make<LeastMemorySearcher>, isAlwaysDue},
};

} // namespace

bool SearchTurn::isFarFromBound() const {
  int64_t best = known;
  for (const Candidate &candidate : found)
    if (candidate.peak <= request.capacity)
      best = std::min(best, candidate.cost);
  return !context.bound.isClose(request.capacity, best);
}

llvm::ArrayRef<SearcherEntry> searcherTable() { return table; }

} // namespace llmmem::planning
