//===- FrontierContext.h - What the parts of one frontier share -------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_FRONTIERCONTEXT_H
#define LLMMEM_LIB_PLANNING_BUDGET_FRONTIERCONTEXT_H

#include "Bounds/FootprintBound.h"
#include "Sample.h"

namespace llmmem::planning {

class CanonicalFrontier;

/// Says whether a problem is numbered canonically already (Structure/CanonicalProblem.h).
enum class Numbering { AsGiven, Canonical };

class FrontierContext {
public:
  FrontierContext(const Graph &graph, BudgetSearch &search, int64_t packWork, Numbering numbering);
  ~FrontierContext();

  /// Returns the schedules of both orders within `capacity`, cheapest first. Adds the work to
  /// `work`.
  Candidates under(int64_t capacity, bool deeply, int64_t &work);
  /// Returns the proved lower bound on the footprint of every plan.
  const FootprintBound &footprintBound();
  /// Says whether a proof that was made anyway shows that no schedule holds so little.
  bool isKnownToFail(int64_t capacity) const {
    return provedFootprint && capacity < provedFootprint->bytes;
  }

  /// Returns the canonical frontier, or null where the problem is numbered canonically already or
  /// is not searched as one chain.
  CanonicalFrontier *canonicalFrontier();
  /// Returns the same where equal blocks repeat in the canonical problem.
  CanonicalFrontier *repeatingFrontier();
  /// Returns the plan of the least memory of the canonical problem, or null where no blocks repeat
  /// in it.
  PlacedPlan canonicalLeast();
  /// Says whether the chain depends on the graph alone, so that plans are those of the canonical
  /// problem.
  bool isOfGraph() const;
  /// Says whether there is one plan only, and no chain to search along: there are no ops.
  bool hasNothingToChoose() const { return graph.numOps() == 0; }
  bool isAnnealed() const { return search.context().isAnnealed(); }
  int64_t footprintOf(const PlacedPlan &plan) const { return placer.footprintOf(*plan); }

  const Graph &graph;
  BudgetSearch &search;
  const SchedulePlacer placer;
  const BudgetGrid grid;

private:
  const Numbering numbering;
  std::unique_ptr<BudgetSearch> deferred; // with the weight gradient of the peak step deferred
  bool hasDeferred = false;
  std::unique_ptr<CanonicalFrontier> canonical;
  std::optional<FootprintBound> provedFootprint;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_FRONTIERCONTEXT_H
