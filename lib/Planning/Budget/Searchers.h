//===- Searchers.h - The portfolio of searchers -----------------------------------===//
//
// Under a capacity the searchers of the portfolio run in turn, each where it is due: those that
// take little time first, the longer ones only where what was found is far from the bound.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_SEARCHERS_H
#define LLMMEM_LIB_PLANNING_BUDGET_SEARCHERS_H

#include "NestedTables.h"
#include "Searcher.h"

namespace llmmem::planning {

/// The state under a capacity when a searcher's turn comes.
struct SearchTurn {
  SearchContext &context;
  const SearchRequest &request;
  const Candidates &found;
  int64_t known; // the cost of a schedule that is known already; INT64_MAX where none is

  /// Says whether a schedule may exist that is cheaper by more than a longer search is worth.
  bool isFarFromBound() const;
  bool anyFits() const { return planning::anyFits(found, request.capacity); }
};

struct SearcherEntry {
  std::unique_ptr<Searcher> (*make)(SearchContext &context, NestedTables &tables);
  bool (*isDue)(const SearchTurn &turn);
};

/// Returns the searchers in the order of their turns.
llvm::ArrayRef<SearcherEntry> searcherTable();

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_SEARCHERS_H
