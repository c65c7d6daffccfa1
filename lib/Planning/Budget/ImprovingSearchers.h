//===- ImprovingSearchers.h - Searches that begin with a schedule -----------------===//
//
// These searches change the schedule that a request begins with. None of them is in the table of
// the portfolio: a caller that has a schedule says which search improves it, and how. Each appends
// to `found` and returns the work spent, as `Searcher::search` does.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_IMPROVINGSEARCHERS_H
#define LLMMEM_LIB_PLANNING_BUDGET_IMPROVINGSEARCHERS_H

#include "SearchContext.h"
#include "Searcher.h"

namespace llmmem::planning {

struct ImprovingSearcher {
  llvm::StringLiteral name;
  int64_t (*search)(SearchContext &context, const SearchRequest &request, Candidates &found);
};

/// Searches graphs that are not chains by simulated annealing. It finds one schedule within the
/// capacity that costs less than `start` if that fits, but no less than `enough`. Where none was
/// found, it returns one slightly above the capacity. `attempt` is the seed.
extern const ImprovingSearcher annealing;
/// Finds one schedule of the cost of `start` with headroom for packing, whose peak is at most the
/// larger of `start`'s and the capacity. `attempt` is the seed.
extern const ImprovingSearcher headroomForPacking;
/// Finds, by ruin and recreate, schedules within the capacity that are cheaper than `start`, which
/// fits it; the cheapest comes first.
extern const ImprovingSearcher ruinAndRecreation;
/// Makes at most one schedule within the capacity from `start`, which exceeds it.
extern const ImprovingSearcher lowering;

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_IMPROVINGSEARCHERS_H
