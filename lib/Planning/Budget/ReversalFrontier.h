//===- ReversalFrontier.h - Placed plans of the dynamic program over chains ----------===//
//
// Answers a budget with the cheapest schedule of ReversalProgram.h that can be placed within it,
// where the graph is a chain to the byte. Which schedule that is depends on no search: the steps of
// the least cost are tried from the cheapest one that the budget may hold to dearer ones, and what
// footprint a step gets does not depend on the budget. So more budget never costs more.
//
// Example: steps at 3, 5 and 7 bytes of which that at 5 takes an arena of 6: budgets of 3, 4 and 5
// get the first one, 6 the second, 7 the third.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_REVERSALFRONTIER_H
#define LLMMEM_LIB_PLANNING_BUDGET_REVERSALFRONTIER_H

#include "FrontierContext.h"
#include "Schedulers/ReversalProgram.h"
#include <map>

namespace llmmem::planning {

class ReversalFrontier {
public:
  explicit ReversalFrontier(FrontierContext &shared) : shared(shared) {}

  /// Returns the plan for `budget`, or null where there is none.
  PlacedPlan at(int64_t budget);
  /// Returns the same where no schedule within `budget` costs less, or null where that is not
  /// known.
  PlacedPlan cheapestAt(int64_t budget);
  /// Returns the plan of the smallest footprint, or null where there is none.
  PlacedPlan least();
  /// Returns the same where no schedule holds fewer bytes, or null where that is not known.
  PlacedPlan leastOfAll();

private:
  struct Reversal {
    ReversalStages stages;
    int64_t mostBytes; // of the given order, resident bytes left out
    /// Per halving of these bytes, a program that is made when it is first needed. What programs
    /// say of the same bytes is the same, and that for few bytes takes less work.
    std::vector<std::unique_ptr<ReversalProgram>> programs;
    Reversal(const Graph &graph, const Chain &chain) : stages(graph, chain) {}
  };
  void make();
  /// Returns the program of the fewest bytes that are enough for `bytes`, or null where the graph
  /// is no chain to the byte.
  const ReversalProgram *programFor(int64_t bytes);
  const ReversalProgram &programOf(size_t halvings);
  /// Returns the program of the fewest bytes that has a schedule, or null where none has.
  const ReversalProgram *leastProgram();
  int64_t bytesWithin(int64_t budget) const {
    return shared.placer.capacityOf(budget) - shared.graph.residentBytes();
  }
  const PlacedPlan &placed(const ReversalProgram &program, const CostStep &step);

  FrontierContext &shared;
  bool isMade = false;
  std::unique_ptr<Reversal> reversal;  // null where the graph is no chain to the byte
  std::map<int64_t, PlacedPlan> plans; // by the bytes of a step
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_REVERSALFRONTIER_H
