//===- SearchContext.h - What the searchers of one graph share --------------------===//
//
// The context holds the orders, the chain, the options of its stages and the bound on the cost. All
// of it depends on the graph and the work allowed, never on a capacity, and is computed when it is
// first needed. So the order in which capacities are searched changes no answer; the frontier
// (Frontier.h) relies on that.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_SEARCHCONTEXT_H
#define LLMMEM_LIB_PLANNING_BUDGET_SEARCHCONTEXT_H

#include "Candidate.h"
#include "Schedulers/ChainOptions.h"
#include "llvm/ADT/Twine.h"
#include <functional>
#include <memory>

namespace llmmem::planning {

/// Says what a search does, about once a second of modelled work. Work is counted in steps of the
/// schedules considered, never in time. Every report also checks whether the plan is cancelled.
class SearchProgress {
public:
  using Listener = std::function<void(llvm::StringRef)>;

  explicit SearchProgress(const Graph &graph) : graph(graph) {}

  void reportTo(Listener listener) { this->listener = std::move(listener); }
  const Listener &target() const { return listener; }
  /// Reports the beginning of a stage of the search.
  void announce(const llvm::Twine &stage) const;
  void count(int64_t steps) { unreported += steps; }
  /// Reports `searched` where a second's work has been counted since the last report.
  void report(llvm::StringRef searched, int64_t capacity);

private:
  const Graph &graph;
  Listener listener;
  int64_t unreported = 0;
};

/// What no plan of a graph costs less than.
class CostBound {
public:
  /// The bound comes from a cut at one op of the chain.
  CostBound(const Graph &graph, const Chain &chain) : graph(graph), chain(chain) {}

  /// Returns a proved bound: no plan whose resident values and arena are within `budget` costs
  /// less.
  int64_t under(int64_t budget);
  /// Says whether `cost` is so little above the bound at `capacity` that a longer search is not
  /// worth it.
  bool isClose(int64_t capacity, int64_t cost);

private:
  const Graph &graph;
  const Chain &chain;
  std::unique_ptr<CutRelaxation> relaxation;
  std::pair<int64_t, int64_t> last{-1, 0}; // a capacity and its bound
};

class SearchContext {
public:
  /// Says how a least-memory order is found, and how the schedule that holds the inputs of the
  /// stages alone. By default both come from the chain.
  struct Sources {
    std::function<Candidate()> ordered, stageInputs;
  };

  /// `work` bounds the search of orders and of graphs that are not chains, in steps visited.
  SearchContext(const Graph &graph, Chain chain, Candidate given, int64_t work);

  /// Replaces the sources. Those of `others` that are empty leave the present ones as they are.
  void replaceSources(Sources others);

  /// Returns the given order.
  const Candidate &given() const { return givenCandidate; }
  const Candidate &ofChain() const { return chainCandidate; }
  /// Returns the order of the least peak that was found without recomputation.
  const Candidate &ordered();
  /// Returns that order with a peak that annealing has lowered, where the graph is searched that
  /// way. Many of its steps are nearly as full as the peak, so it may pack worse.
  const Candidate &annealedOrder();
  /// Returns the schedule that holds only the inputs of the stages: the least peak of one level of
  /// recomputation.
  const Candidate &stageInputs();
  const ChainOptions &options();

  /// Returns the schedule without useless repeats. Where its peak is within `capacity`, it also
  /// drops the repeats whose value it can hold instead. Adds the steps visited to `spent`.
  Candidate improved(std::vector<OpIndex> steps, int64_t capacity, llvm::StringRef searcher,
                     int64_t &spent);
  /// Says whether the graph is searched by annealing because it has no chain structure.
  bool isAnnealed() const;
  /// Returns how many ancestors in a row may run again for one value.
  int evictionDepth() const;

  const Graph &graph;
  const Chain chain;
  const int64_t work;
  SearchProgress progress;
  CostBound bound;

private:
  Candidate findOrder();

  Candidate givenCandidate, chainCandidate;
  Sources sources;
  std::optional<Candidate> orderedCandidate, annealedCandidate, inputsCandidate;
  std::unique_ptr<ChainOptions> chainOptions;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_SEARCHCONTEXT_H
