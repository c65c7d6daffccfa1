//===- BudgetSearch.h - Candidate schedules under a capacity ---------------------===//
//
// Everything that does not depend on the budget is computed once: the order, the chain, the
// options, the tables. The result of `under` depends only on the problem, the work and the
// capacity, never on earlier queries; the frontier (Frontier.h) relies on that.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_BUDGETSEARCH_H
#define LLMMEM_LIB_PLANNING_BUDGET_BUDGETSEARCH_H

#include "Schedulers/ChainProgram.h"
#include "Schedulers/Eviction.h"
#include "Schedulers/NestedProgram.h"
#include "llvm/ADT/Twine.h"
#include <functional>
#include <memory>

namespace llmmem::planning {

struct MicroBatches;

struct Candidate {
  std::vector<OpIndex> steps;
  int64_t cost = 0;
  int64_t peak = 0; // sizes rounded to the alignment, resident included
};

class BudgetSearch {
public:
  /// `work` bounds the search of orders and of graphs that are not chains (steps visited).
  BudgetSearch(const Graph &graph, int64_t work);
  /// The same by a chain that is known.
  BudgetSearch(const Graph &graph, Chain chain, int64_t work);
  /// The same from another order, which it takes as it is.
  BudgetSearch(const Graph &graph, std::vector<OpIndex> order, int64_t work);
  virtual ~BudgetSearch();

  /// Schedules whose peak is at most `capacity`, cheapest first; empty where none was found.
  /// `deeply` includes the schedules of `leanest`. `known` is the cost of a schedule that is known
  /// already: where it is close to the bound, fewer searches run.
  virtual std::vector<Candidate> under(int64_t capacity, bool deeply, int64_t known = INT64_MAX);
  /// For graphs that are not chains: a schedule within `capacity` that costs less than `start` if
  /// that fits, but no less than `enough`; where none was found, one slightly above the capacity.
  /// `attempt` is the seed.
  Candidate annealed(const Candidate &start, int64_t capacity, int64_t enough, int attempt);
  /// A schedule of the same cost with headroom for packing, whose peak is at most the larger of the
  /// candidate's and `limit`.
  Candidate withHeadroom(Candidate candidate, int64_t limit, int attempt);
  /// Schedules within `capacity` that are cheaper than `start`, which fits it; cheapest first.
  /// `rounds`: how often the search may visit every op.
  std::vector<Candidate> recreated(const Candidate &start, int64_t capacity, int64_t rounds);
  /// A schedule within `capacity` made of `start`, which needs more; `rounds` as above.
  std::optional<Candidate> lowered(const Candidate &start, int64_t capacity, int64_t rounds);
  /// Without useless repeats, and where that is within `capacity`, without those whose value it can
  /// hold instead.
  Candidate improved(std::vector<OpIndex> steps, int64_t capacity);
  /// Proved: no plan whose resident values and arena are within `budget` costs less.
  int64_t leastCostUnder(int64_t budget);
  /// Whether the graph is searched by annealing because it has no chain structure.
  bool isAnnealed() const {
    return chain.isGuess && !chain.isInTurn && graph.numOps() <= mostAnnealedOps;
  }
  /// Steps visited for the last answer of `under`, `annealed` or `withHeadroom`: a function of its
  /// arguments, as the answer is.
  int64_t workOfLast() const { return lastSpent; }
  int64_t workInAll() const { return work; }
  /// The given order.
  const Candidate &given() const { return givenCandidate; }
  /// The least-peak order found with nothing recomputed.
  virtual const Candidate &ordered();
  /// The same with a lower peak by annealing, where the graph is searched that way. Many of its
  /// steps are nearly as full as the peak, so it may pack worse.
  const Candidate &annealedOrder();
  /// Only the inputs of the stages are kept: the least peak of one level of recomputation.
  virtual const Candidate &leanestFlat();
  /// Schedules found on the way down to the least peak, lowest peak first; but for the first few,
  /// before they are `improved`.
  virtual const std::vector<Candidate> &leanest();
  /// The same search from an order in which the weight gradient of the peak step runs later; null
  /// where there is none.
  virtual std::unique_ptr<BudgetSearch> deferred();
  /// Those that schedules are searched by; null where the graph is searched as one.
  virtual const MicroBatches *microBatches() const { return nullptr; }

  /// Called with the name of the search, about once a second of modelled work.
  void reportTo(std::function<void(llvm::StringRef)> listener) { progress = std::move(listener); }
  const std::function<void(llvm::StringRef)> &listener() const { return progress; }
  /// Reports the beginning of a stage of the search.
  void announce(const llvm::Twine &stage) const {
    graph.poll();
    if (progress)
      progress(stage.str());
  }

  const Chain &mainChain() const { return chain; }

protected:
  using Candidates = std::vector<Candidate>;
  Candidate measured(std::vector<OpIndex> steps) const;

  const Graph &graph;
  int64_t spent = 0, lastSpent = 0;

private:
  void report(llvm::StringRef searched, int64_t capacity);
  int64_t movesOfAttempt() const;
  std::vector<OpIndex> findOrder() const;
  const ChainOptions &chainOptions();
  void addFlat(int64_t capacity, Candidates &found);
  void addNested(int64_t capacity, Candidates &found);
  void addEvicted(int64_t capacity, Candidates &found);
  /// Eviction from one order, to lower and lower capacities.
  struct EvictionLadder {
    int64_t peak; // of the order
    int64_t left; // work for rungs
    std::vector<EvictionPath> rungs;
  };
  EvictionPath &rungAbove(EvictionLadder &ladder, int64_t capacity);
  void makeLadders();
  bool addEvictedFrom(EvictionPath &path, int64_t capacity, Candidates &found);
  /// The same within `capacity`, the last answer being remembered.
  int64_t costBound(int64_t capacity);
  /// Whether the cheapest of `found` that fits, or `known`, costs little more than the bound.
  bool isCloseToBound(int64_t capacity, const Candidates &found, int64_t known);
  void addEveryLevel();
  std::vector<OpIndex> laterRuns(const std::vector<OpIndex> &steps) const;
  void descend();
  void improveLast(llvm::ArrayRef<int64_t> targets);
  int evictionDepth() const;
  size_t tableFor(int64_t capacity);
  NestedProgram &table(size_t index);

  static constexpr int32_t mostAnnealedOps = 1500;
  Chain chain;
  int64_t work;
  Candidate givenCandidate, chainCandidate;
  std::optional<Candidate> orderedCandidate, annealedCandidate, flatCandidate;
  std::unique_ptr<ChainOptions> options;
  std::unique_ptr<ChainProgram> program;
  std::unique_ptr<CutRelaxation> relaxation;
  std::pair<int64_t, int64_t> lastBound{-1, 0}; // capacity and its bound
  std::vector<int64_t> tableCapacities;         // increasing
  std::vector<std::unique_ptr<NestedProgram>> tables;
  std::vector<EvictionLadder> ladders;
  Candidates lean;
  std::function<void(llvm::StringRef)> progress;
  int64_t unreported = 0; // steps visited since the last report
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_BUDGETSEARCH_H
