//===- ImprovingSearchers.h - Searchers that begin with a schedule ----------------===//
//
// These searchers change the schedule that a request begins with. None of them is in the table of
// the portfolio: a caller that has a schedule says which searcher improves it, and how.
//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_IMPROVINGSEARCHERS_H
#define LLMMEM_LIB_PLANNING_BUDGET_IMPROVINGSEARCHERS_H

#include "SearchContext.h"
#include "Searcher.h"

namespace llmmem::planning {

/// Searches graphs that are not chains by simulated annealing. It finds one schedule within the
/// capacity that costs less than `start` if that fits, but no less than `enough`. Where none was
/// found, it returns one slightly above the capacity. `attempt` is the seed.
class AnnealingSearcher final : public Searcher {
public:
  explicit AnnealingSearcher(SearchContext &context) : context(context) {}
  llvm::StringRef name() const override { return "annealing"; }
  int64_t search(const SearchRequest &request, Candidates &found) override;

private:
  SearchContext &context;
};

/// Finds one schedule of the cost of `start` with headroom for packing, whose peak is at most the
/// larger of `start`'s and the capacity. `attempt` is the seed.
class HeadroomSearcher final : public Searcher {
public:
  explicit HeadroomSearcher(SearchContext &context) : context(context) {}
  llvm::StringRef name() const override { return "headroom"; }
  int64_t search(const SearchRequest &request, Candidates &found) override;

private:
  SearchContext &context;
};

/// Finds, by ruin and recreate, schedules within the capacity that are cheaper than `start`, which
/// fits it; the cheapest comes first.
class RuinSearcher final : public Searcher {
public:
  explicit RuinSearcher(SearchContext &context) : context(context) {}
  llvm::StringRef name() const override { return "ruin and recreate"; }
  int64_t search(const SearchRequest &request, Candidates &found) override;

private:
  SearchContext &context;
};

/// Makes at most one schedule within the capacity from `start`, which exceeds it.
class LoweringSearcher final : public Searcher {
public:
  explicit LoweringSearcher(SearchContext &context) : context(context) {}
  llvm::StringRef name() const override { return "lowering"; }
  int64_t search(const SearchRequest &request, Candidates &found) override;

private:
  SearchContext &context;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_IMPROVINGSEARCHERS_H
