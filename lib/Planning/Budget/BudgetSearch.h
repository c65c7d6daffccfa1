//===- BudgetSearch.h - Schedules worth trying under a capacity ------------------===//
//
// Everything that does not depend on the budget is found once: the order, the chain, the options,
// the tables. What `under` answers depends on the problem, the work and the capacity alone, never
// on what was asked before: the frontier (Frontier.h) builds on that.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_BUDGETSEARCH_H
#define LLMMEM_LIB_PLANNING_BUDGET_BUDGETSEARCH_H

#include "Schedulers/ChainProgram.h"
#include "Schedulers/NestedProgram.h"
#include <functional>
#include <memory>

namespace llmmem::planning {

struct Candidate {
  std::vector<OpIndex> steps;
  int64_t cost = 0;
  int64_t peak = 0; // sizes rounded to the alignment, resident included
};

class BudgetSearch {
public:
  /// `work` bounds what may be spent on orders and on general graphs (steps looked at).
  BudgetSearch(const Graph &graph, int64_t work);
  /// The same from another order, which it takes as it is.
  BudgetSearch(const Graph &graph, std::vector<OpIndex> order, int64_t work);
  ~BudgetSearch();

  /// Schedules whose peak is at most `capacity`, cheapest first; empty where none was found.
  /// `deeply` offers what `leanest` found, too; `known` is the cost of a schedule that is known
  /// already: where that is close to the bound, little is tried.
  std::vector<Candidate> under(int64_t capacity, bool deeply, int64_t known = INT64_MAX);
  /// For graphs that are no chains: a schedule of at most `capacity` that is cheaper than `start`
  /// if that fits, but no cheaper than `enough`; where none was found, one of a little more.
  /// Each `attempt` leads elsewhere.
  Candidate annealed(const Candidate &start, int64_t capacity, int64_t enough, int attempt);
  /// The same cost with room for packing and a peak of at most the candidate's or `limit`.
  Candidate withRoom(Candidate candidate, int64_t limit, int attempt);
  /// Is that how the graph is searched, for want of a chain's structure?
  bool isAnnealed() const { return chain.isGuess && graph.numOps() <= mostAnnealedOps; }
  /// Steps looked at for the last answer of `under`, `annealed` or `withRoom`: a function of its
  /// arguments, as the answer is.
  int64_t workOfLast() const { return lastSpent; }
  int64_t workInAll() const { return work; }
  /// The given order.
  const Candidate &given() const { return givenCandidate; }
  /// The least-peak order found with nothing recomputed.
  const Candidate &ordered();
  /// The same made leaner by small changes, where the graph is searched that way. It holds less,
  /// but as it is as full as can be at many steps, it may pack worse.
  const Candidate &annealedOrder();
  /// Every part's input kept and nothing else: one level of recomputation takes no less.
  const Candidate &leanestFlat();
  /// Schedules on the way down to the least peak that can be found; leanest first.
  const std::vector<Candidate> &leanest();

  /// Called with what is searched, about once a second of modelled work.
  void reportTo(std::function<void(llvm::StringRef)> listener) { progress = std::move(listener); }
  /// Says what begins, for whoever watches.
  void announce(const llvm::Twine &stage) const {
    if (progress)
      progress(stage.str());
  }

  const Chain &mainChain() const { return chain; }

private:
  using Candidates = std::vector<Candidate>;
  Candidate measured(std::vector<OpIndex> steps) const;
  Candidate improved(std::vector<OpIndex> steps, int64_t capacity);
  void report(llvm::StringRef searched, int64_t capacity);
  int64_t changesOfAttempt() const;
  std::vector<OpIndex> findOrder() const;
  const ChainOptions &chainOptions();
  void addFlat(int64_t capacity, Candidates &found);
  void addNested(int64_t capacity, Candidates &found);
  void addEvicted(int64_t capacity, Candidates &found);
  bool isCloseToBound(int64_t capacity, const Candidates &found, int64_t known);
  void addEveryLevel();
  void descend();
  int evictionDepth() const;
  size_t tableFor(int64_t capacity);
  NestedProgram &table(size_t index);

  static constexpr int32_t mostAnnealedOps = 1500;
  const Graph &graph;
  Chain chain;
  int64_t work;
  Candidate givenCandidate;
  std::optional<Candidate> orderedCandidate, annealedCandidate, flatCandidate;
  std::unique_ptr<ChainOptions> options;
  std::unique_ptr<ChainProgram> program;
  std::unique_ptr<CutRelaxation> relaxation;
  std::vector<int64_t> tableCapacities; // growing
  std::vector<std::unique_ptr<NestedProgram>> tables;
  Candidates lean;
  std::function<void(llvm::StringRef)> progress;
  int64_t spent = 0, lastSpent = 0;
  int64_t unreported = 0; // steps looked at since the last report
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_BUDGETSEARCH_H
