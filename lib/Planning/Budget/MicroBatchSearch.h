//===- MicroBatchSearch.h - Schedules of steps with micro-batches -----------------===//
//
// This class searches schedules of one micro-batch (MicroBatches/MicroBatches.h) as BudgetSearch
// does those of the whole graph, and writes each answer out for all. That gives a family of
// schedules that does not depend on the capacity. Each is measured as a whole, so the measures
// include how many micro-batches are in flight. Under a capacity the cheapest that fits is taken;
// where a cheaper one does not, some micro-batches in turn take the one and some the other; and
// what still fits is held.
//
// Example: 4 micro-batches in flight, schedules of peaks 10, 8 and 6 at costs 0, 5 and 9. Under 7
// three micro-batches of four run as the third and one as the second.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_MICROBATCHSEARCH_H
#define LLMMEM_LIB_PLANNING_BUDGET_MICROBATCHSEARCH_H

#include "BudgetSearch.h"
#include "MicroBatches/MicroBatches.h"

namespace llmmem::planning {

class MicroBatchSearch : public BudgetSearch {
public:
  MicroBatchSearch(const Graph &graph, MicroBatches microBatches, int64_t work);
  ~MicroBatchSearch() override;

  Candidates under(int64_t capacity, bool deeply, int64_t known = INT64_MAX) override;
  const Candidates &leastMemory() override;
  /// Returns null: the schedules are of the better orders already.
  std::unique_ptr<BudgetSearch> deferred() override { return nullptr; }
  const MicroBatches *microBatches() const override { return &found; }

private:
  /// A schedule of one micro-batch, and the schedule that it gives for all.
  struct Member {
    std::vector<OpIndex> steps;
    Candidate all;
  };
  bool searchesWhole() const;
  void addMember(const Candidate &ofOne);
  void addMembers(BudgetSearch &search);
  void addMembersThatHoldLess();
  const std::vector<Member> &family();
  Candidate forAll(llvm::ArrayRef<llvm::ArrayRef<OpIndex>> schedules) const;
  Candidate orderedOfAll();
  Candidate stageInputsOfAll();
  void addMixed(const Member &fitting, const Member &cheaper, int64_t capacity,
                Candidates &candidates, int64_t &spent);

  const Graph &graph;
  MicroBatches found;
  MicroBatchProblem problemOfOne;
  Graph graphOfOne;
  BudgetSearch one;
  std::vector<Member> members; // cheapest first
  bool hasFamily = false;
  Candidates leastOfAll;
};

/// Returns the search for `graph`. It searches by micro-batches where the graph has some.
std::unique_ptr<BudgetSearch> makeBudgetSearch(const Graph &graph, int64_t work);

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_MICROBATCHSEARCH_H
