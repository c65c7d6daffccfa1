//===- Searcher.h - One way to find schedules within a capacity -------------------===//
//
// Every searcher answers the same question: which schedules hold at most a number of bytes? It
// keeps no state that depends on an earlier question, so its answer is a function of the graph, the
// work allowed and the request. A SearchContext holds what the searchers share about the graph.
// Searchers.cpp lists them.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_SEARCHER_H
#define LLMMEM_LIB_PLANNING_BUDGET_SEARCHER_H

#include "SearchContext.h"

namespace llmmem::planning {

struct SearchRequest {
  int64_t capacity; // bytes, resident included, sizes rounded to the alignment
  /// The schedules of the least memory, for the searcher that chooses one of them.
  llvm::ArrayRef<Candidate> leastMemory = {};
  /// The schedule that is improved, for searchers that begin with one.
  const Candidate *start = nullptr;
  int64_t enough = 0; // a schedule that costs less is of no use
  int64_t rounds = 0; // how often the search may visit every op
  int attempt = 0;    // the seed of a stochastic search
};

class Searcher {
public:
  explicit Searcher(SearchContext &context) : context(context) {}
  virtual ~Searcher() = default;

  /// Returns the name under which a plan records it.
  virtual llvm::StringRef name() const = 0;
  /// Appends schedules to `found` and returns the work spent, in steps visited. A schedule that
  /// was appended may still exceed the capacity.
  virtual int64_t search(const SearchRequest &request, Candidates &found) = 0;

protected:
  SearchContext &context;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_SEARCHER_H
