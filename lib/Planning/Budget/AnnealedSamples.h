//===- AnnealedSamples.h - The plan of one sampled budget, by annealing -----------===//
//
// Samples budgets of graphs that are not chains. Schedules are annealed with many seeds to a
// capacity below the budget, whose headroom packing needs; the headroom shrinks after a packing
// that fits and grows after one that does not.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_ANNEALEDSAMPLES_H
#define LLMMEM_LIB_PLANNING_BUDGET_ANNEALEDSAMPLES_H

#include "FrontierContext.h"

namespace llmmem::planning {

class AnnealedSamples {
public:
  explicit AnnealedSamples(FrontierContext &shared) : shared(shared) {}

  Sample solve(int64_t index, const Sample &below, const Sample &above);
  /// Returns `plan`, or one without recomputation whose footprint is smaller. Orders with a
  /// slightly higher peak than the least may pack better. Adds the work to `work`.
  PlacedPlan tightened(PlacedPlan plan, int64_t &work);
  /// Returns the first headroom of a sample, where none is known.
  int64_t defaultHeadroom() const {
    return tuning::leastHeadroom + shared.graph.numOps() / tuning::opsPerHeadroom;
  }

private:
  int64_t workFor(const Sample &below, const Sample &above) const;
  PlacedPlan placeAgain(Sample &sample, const Sample &above);
  PlacedPlan placeWithHeadroom(Sample &sample, const Candidate &candidate, int64_t limit,
                               int attempt);

  FrontierContext &shared;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_ANNEALEDSAMPLES_H
