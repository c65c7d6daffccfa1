//===- BudgetSearch.h - The cheapest schedule found under a capacity ------------===//
//
// Everything that does not depend on the budget is found once: the chain, the options, the
// recursion's tables. `best` may be asked for any number of capacities: what was found for less is
// offered for more, and rungs of a fixed ladder below each capacity are solved too, so that more
// room does not cost more.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGETSEARCH_H
#define LLMMEM_LIB_PLANNING_BUDGETSEARCH_H

#include "../Solvers/NestedProgram.h"
#include <functional>
#include <memory>
#include <set>

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
  ~BudgetSearch();

  /// The cheapest candidate known whose peak is at most `capacity`, nullptr where none is.
  const Candidate *best(int64_t capacity);
  /// Says what a candidate needs once it is placed: it is not offered for less any more.
  void charge(const Candidate *candidate, int64_t bytes);
  /// The least-peak order found with nothing recomputed.
  const Candidate *withoutRepeats();
  /// The candidate of the least peak that can be found.
  const Candidate *leastPeak();

  /// Called with what is searched and the best found, about once a second of modelled work.
  void reportTo(std::function<void(llvm::StringRef)> listener) { progress = std::move(listener); }

  const Chain &mainChain() const { return chain; }
  int64_t keepingPeak() const { return keepPeak; }

private:
  void report(llvm::StringRef searched, int64_t capacity);
  void consider(std::vector<OpIndex> steps, int64_t capacity);
  void solveFlat(int64_t capacity);
  void solveNested(int64_t capacity);
  void solveAllNested();
  size_t tableFor(int64_t capacity);
  NestedProgram &table(size_t index);
  bool isCloseToBound(int64_t capacity);
  void solve(int64_t capacity);
  void descend(int64_t capacity);
  const Candidate *leastFound() const;
  void solveByEviction(int64_t capacity);
  void solveOrder();
  const Candidate *cheapest(int64_t capacity) const;

  const Graph &graph;
  Chain chain;
  int64_t keepPeak = 0;
  std::unique_ptr<ChainOptions> options;
  std::vector<Candidate> found;
  bool hasAllNested = false, hasOrder = false;
  std::set<int64_t> solved;
  bool hasDescended = false;
  std::unique_ptr<CutRelaxation> relaxation;
  std::vector<int64_t> tableCapacities; // growing
  std::vector<std::unique_ptr<NestedProgram>> tables;
  int64_t work;
  std::function<void(llvm::StringRef)> progress;
  int64_t unreported = 0; // steps looked at since the last report
  int64_t flatFloor = 0;  // peak of the leanest choice without nested recomputation
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGETSEARCH_H
