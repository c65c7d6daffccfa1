//===- Reversals.h - The dynamic program over the chains of a graph ------------------===//
//
// Holds what ReversalProgram.h finds for a graph: for the chain that is found from the graph alone,
// and for the chain by which the graph is searched, both cut into the shortest stages. Nothing here
// depends on a capacity. Each part is made when it is first needed.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_REVERSALS_H
#define LLMMEM_LIB_PLANNING_BUDGET_REVERSALS_H

#include "Schedulers/ReversalProgram.h"
#include "SearchContext.h"
#include "Tuning/Constants.h"

namespace llmmem::planning {

class Reversals {
public:
  explicit Reversals(SearchContext &context) : context(context) {}

  /// Returns the least cost of what runs again that was found for bytes without resident ones. The
  /// decisions of its steps are those of `realize`.
  llvm::ArrayRef<CostStep> steps();
  /// Returns the last step whose schedule holds at most `capacity`, resident bytes included, or
  /// null.
  const CostStep *within(int64_t capacity);
  /// Returns the schedule of one of these steps.
  std::vector<OpIndex> realize(const CostStep &step) const;
  /// Says whether the graph is a chain to the byte, and no schedule was left out to save work: then
  /// no persistent schedule costs less than `steps`.
  bool isExact();

private:
  struct Reversal {
    ReversalStages stages;
    ReversalProgram program;
    Reversal(const Graph &graph, const Chain &chain, HeldChoices held, int64_t mostBytes,
             int64_t work)
        : stages(graph, chain, held), program(stages, mostBytes, work, tuning::leastReversalSteps) {
    }
  };
  void make();
  void add(const std::optional<Chain> &chain);

  SearchContext &context;
  bool isMade = false;
  std::vector<std::unique_ptr<Reversal>> reversals;
  CostSteps lowest; // a decision is a step's index and its program
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_REVERSALS_H
