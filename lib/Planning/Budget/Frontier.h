//===- Frontier.h - One plan per budget, no dearer for more -----------------------===//
//
// Each budget is answered by a walk down one binary tree of budgets that does not depend on the
// question. A node of the tree is searched on its own; its plan counts if its cost lies between
// those of the ends of the node's interval, else the lower end's plan stands in. So costs never
// rise with the budget, whatever the searches do (the proof is in docs/Design/Planning.md).
//
//   least ............ flat ..................... free
//   the least need     one level of               nothing is
//   that was found     recomputation suffices     recomputed
//
// The tree between `flat` and `free` does without the search for the least need, which is slow.
//
// Example: budgets 0..16, free at 16, least at 4 for 50 more. Asked for 11: the node at 10 costs 7,
// so the answer is between 10 and 16; the node at 13 costs 8: dearer than 10 is, so it gets 10's
// plan; between 10 and 13 all costs are equal, and 10's plan is the answer.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_FRONTIER_H
#define LLMMEM_LIB_PLANNING_BUDGET_FRONTIER_H

#include "BudgetSearch.h"
#include "llmmem/Planning/Model/Plan.h"
#include <deque>

namespace llmmem::planning {

class Frontier {
public:
  /// `packWork` bounds the search for offsets of each plan (Placement.h).
  Frontier(const Graph &graph, BudgetSearch &search, int64_t packWork);

  /// The placed plan for `budget`, nullptr where even the least does not fit.
  std::shared_ptr<const Plan> at(int64_t budget);
  /// The plan of the least need that was found.
  std::shared_ptr<const Plan> least();

private:
  using Placed = std::shared_ptr<const Plan>;
  /// A budget of the tree and the plan that answers it.
  struct Node {
    int64_t index = 0;
    Placed plan;
    int64_t work = 0; // of the searches on the way to it
    int64_t room = 0; // thousandths of the arena that packing needed beside what was live
  };
  Placed place(const Candidate &candidate, int64_t budget, int64_t work,
               int64_t ejections = 0) const;
  int64_t mostEjections() const;
  /// Of the nodes' `room`, where nothing is known.
  int64_t usualRoom() const { return 5 + graph.numOps() / 50; }
  Placed placeFor(Node &node, const Candidate &candidate) const;
  std::vector<Candidate> under(int64_t capacity, bool deeply, int64_t &work);
  Placed given();
  Placed free();
  Placed flat();
  const Node *end(size_t number);
  Node solve(int64_t index, const Node &below, const Node &above, bool deeply);
  Node solveBySearch(int64_t index, const Node &below, const Node &above, bool deeply);
  Placed placeAgain(Node &node, const Node &above);
  Placed placeWithRoom(Node &node, Candidate candidate, int64_t limit, int attempt);
  void tightenFree();
  int64_t workOfChanges(const Node &below, const Node &above) const;
  Node nextEnd(const Node &above, int64_t work);
  Node nextByChanges(const Node &above);
  Node solveByChanges(int64_t index, const Node &below, const Node &above);
  Placed findLeast();
  Placed walk(int64_t index, Node below, Node above, bool deeply);

  int64_t need(const Placed &plan) const { return graph.residentBytes() + plan->arena; }
  int64_t budgetOf(int64_t index) const { return graph.residentBytes() + index * unit; }
  int64_t indexBelow(int64_t budget) const { return (budget - graph.residentBytes()) / unit; }
  int64_t indexAbove(int64_t budget) const { return indexBelow(budget + unit - 1); }
  int64_t capacityOf(int64_t budget) const { return budget + padding; }

  const Graph &graph;
  BudgetSearch &search;
  std::unique_ptr<BudgetSearch> deferred; // the same with the fullest weight gradient later
  bool hasDeferred = false;
  int64_t packWork;
  int64_t padding;  // of the topmost buffer, which an arena does not hold
  int64_t unit = 1; // divides all sizes, so that the tree's budgets are all that matter
  Placed givenPlan, freePlan, flatPlan, leastPlan;
  std::deque<Node> ends; // from the top downwards
  bool isLastEnd = false;
  int64_t workOfFree = 0;
  int64_t workOfEnds = 0; // what failed at the last of them included
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_FRONTIER_H
