//===- ImprovingSearchers.h - Searchers that begin with a schedule ----------------===//
//
// They change the schedule that a request begins with. None of them is in the table of the
// portfolio, as whoever has a schedule says which one is to be improved, and how.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_IMPROVINGSEARCHERS_H
#define LLMMEM_LIB_PLANNING_BUDGET_IMPROVINGSEARCHERS_H

#include "SearchContext.h"
#include "Searcher.h"

namespace llmmem::planning {

/// For graphs that are not chains, by simulated annealing: one schedule within the capacity that
/// costs less than `start` if that fits, but no less than `enough`; where none was found, one
/// slightly above the capacity. `attempt` is the seed.
class AnnealingSearcher final : public Searcher {
public:
  explicit AnnealingSearcher(SearchContext &context) : context(context) {}
  llvm::StringRef name() const override { return "annealing"; }
  int64_t search(const SearchRequest &request, Candidates &found) override;

private:
  SearchContext &context;
};

/// One schedule of the cost of `start` with headroom for packing, whose peak is at most the larger
/// of `start`'s and the capacity. `attempt` is the seed.
class HeadroomSearcher final : public Searcher {
public:
  explicit HeadroomSearcher(SearchContext &context) : context(context) {}
  llvm::StringRef name() const override { return "headroom"; }
  int64_t search(const SearchRequest &request, Candidates &found) override;

private:
  SearchContext &context;
};

/// Ruin and recreate: schedules within the capacity that are cheaper than `start`, which fits it;
/// the cheapest first.
class RuinSearcher final : public Searcher {
public:
  explicit RuinSearcher(SearchContext &context) : context(context) {}
  llvm::StringRef name() const override { return "ruin and recreate"; }
  int64_t search(const SearchRequest &request, Candidates &found) override;

private:
  SearchContext &context;
};

/// At most one schedule within the capacity, made of `start`, which needs more.
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
