//===- BudgetSearch.h - Schedules under a capacity, by all searchers --------------===//
//
// Calls the searchers of the portfolio (Searchers.cpp) in turn. What does not depend on the
// capacity is computed once, in the SearchContext that they share. So an answer depends on the
// problem, the work and the request alone, never on earlier ones; the frontier (Frontier.h) relies
// on that.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_BUDGETSEARCH_H
#define LLMMEM_LIB_PLANNING_BUDGET_BUDGETSEARCH_H

#include "ImprovingSearchers.h"
#include "LeastMemorySchedules.h"

namespace llmmem::planning {

struct MicroBatches;

class BudgetSearch {
public:
  /// `work` bounds the search of orders and of graphs that are not chains (steps visited).
  BudgetSearch(const Graph &graph, int64_t work);
  /// Searches by a chain that is known.
  BudgetSearch(const Graph &graph, Chain chain, int64_t work);
  /// Searches from another order, which is taken as it is and which a plan records by `name`.
  BudgetSearch(const Graph &graph, std::vector<OpIndex> order, llvm::StringRef name, int64_t work);
  virtual ~BudgetSearch();

  /// Returns schedules whose peak is at most `capacity`, cheapest first, or nothing where none was
  /// found. `deeply` includes the schedules of `leastMemory`. `known` is the cost of a schedule
  /// that is known already: where it is close to the bound, fewer searches run.
  virtual Candidates under(int64_t capacity, bool deeply, int64_t known = INT64_MAX);
  /// Returns the answer of a search that begins with a schedule.
  Candidates improvedBy(const ImprovingSearcher &searcher, const SearchRequest &request);
  /// Returns the steps visited for the last answer of `under` or `improvedBy`. Like the answer, it
  /// is a function of their arguments.
  int64_t workOfLast() const { return lastSpent; }

  /// Returns the schedules found on the way down to the least peak, lowest peak first. All but the
  /// first few are as they were before they are improved.
  virtual const Candidates &leastMemory() { return leastSchedules.all(); }
  /// Returns the same search from an order in which the weight gradient of the peak step runs
  /// later, or null where there is none.
  virtual std::unique_ptr<BudgetSearch> deferred();
  /// Returns the micro-batches by which schedules are searched, or null where the graph is searched
  /// as one.
  virtual const MicroBatches *microBatches() const { return nullptr; }

  /// Sets the listener, which is called with the name of the search about once a second of modelled
  /// work.
  void reportTo(SearchProgress::Listener listener) {
    shared.progress.reportTo(std::move(listener));
  }
  const Chain &mainChain() const { return shared.chain; }
  SearchContext &context() { return shared; }
  const SearchContext &context() const { return shared; }

protected:
  int64_t lastSpent = 0;

private:
  BudgetSearch(const Graph &graph, Chain chain, Candidate given, int64_t work);

  SearchContext shared;
  NestedTables tables;
  LeastMemorySchedules leastSchedules;
  std::vector<std::unique_ptr<Searcher>> searchers; // in the order of searcherTable()
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_BUDGETSEARCH_H
