//===- SchedulePlacer.cpp - Offsets for the schedules of a frontier ---------------===//

#include "SchedulePlacer.h"
#include <algorithm>

using namespace llmmem::planning;

PackOptions SchedulePlacer::packOptions(int64_t budget) const {
  PackOptions pack;
  pack.alignment = std::max<int64_t>(graph.problem().alignment, 1);
  pack.capacity = budget - graph.residentBytes();
  pack.cancellation = graph.cancellation();
  return pack;
}

PlacedPlan SchedulePlacer::place(const Candidate &candidate, int64_t budget,
                                 const PlacingEffort &effort) const {
  search.context().progress.announce("offsets for " + llvm::Twine(candidate.steps.size()) +
                                     " steps");
  auto plan = std::make_shared<Plan>();
  plan->steps = candidate.steps;
  plan->searcher = candidate.searcher;
  const auto steps = static_cast<int64_t>(candidate.steps.size());
  PackOptions pack = packOptions(budget);
  // The search over many shapes of micro-batches takes seconds and finds little.
  const bool isSearched = !search.microBatches() || steps <= tuning::mostStepsOfMicroBatchPacking;
  // A node of the search visits every buffer, so with more buffers fewer nodes take as long.
  pack.work = isSearched ? std::min(effort.work, effort.work / std::max<int64_t>(steps, 1) *
                                                     tuning::stepsOfFullPackWork)
                         : 0;
  pack.ejections = effort.ejections;
  pack.afterCore = effort.afterCore;
  placeSteps(graph.problem(), *plan, pack, {}, effort.like);
  return plan;
}

int64_t SchedulePlacer::firstFootprintOf(const Candidate &candidate) const {
  PackOptions pack = packOptions(footprintWithHeadroomOf(candidate));
  pack.isFirstTry = true;
  Plan plan;
  plan.steps = candidate.steps;
  placeSteps(graph.problem(), plan, pack);
  return footprintOf(plan);
}

/// Where some hundred ejections per buffer find no packing, ten times as many rarely do.
int64_t SchedulePlacer::mostEjections() const {
  return std::min(search.context().work / tuning::ejectionWorkPart * tuning::ejectionsOfStep,
                  graph.numOps() * tuning::ejectionsPerOp);
}
