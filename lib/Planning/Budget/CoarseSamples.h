//===- CoarseSamples.h - The samples that a frontier is bisected between ----------===//
//
//   least ............ flat ..................... free
//   the least memory   one level of               nothing is
//   that was found     recomputation suffices     recomputed
//
// The highest sample is `free`, the next one `flat` where one level of recomputation takes fewer
// bytes, and each further one is an eighth lower, until one has no plan. Budgets between `flat` and
// `free` are answered without the search for the least memory, which is slow.
//
// Most budgets above `flat` need to know only whether their plans cost less than that of the sample
// at `flat`, and its proved bounds decide that. So that sample stays open. It is searched where a
// caller asks for more; until then it stands for any plan between its bound and `flat`.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_COARSESAMPLES_H
#define LLMMEM_LIB_PLANNING_BUDGET_COARSESAMPLES_H

#include "AnnealedSamples.h"
#include "SampleSearch.h"
#include <deque>

namespace llmmem::planning {

class CoarseSamples {
public:
  explicit CoarseSamples(FrontierContext &shared)
      : shared(shared), searched(shared), annealed(shared) {}

  /// Returns the program order, packed by the heuristics alone.
  PlacedPlan given();
  /// Returns the plan without recomputation in the better order: the top of the frontier.
  PlacedPlan free();
  /// Returns the plan that holds only the inputs of the stages.
  PlacedPlan flat();

  /// Returns the samples by number, the highest budget first, and null after the last one.
  const Sample *sample(size_t number);
  const Sample &lowest();
  /// Returns the work of all samples, a failed last one included.
  int64_t work() const { return workOfSamples; }
  void addWork(int64_t more) { workOfSamples += more; }

  /// Returns the plan of a sampled budget between two that are known, clamped to their costs.
  Sample solve(int64_t index, const Sample &below, const Sample &above, bool deeply);
  const PlacedPlan &planOf(const Sample &sample);
  /// Says whether `cost` is less than the sample's.
  bool costsLess(int64_t cost, const Sample &sample);
  /// Says whether the costs of two samples differ by more than `tolerance`.
  bool differByMore(const Sample &below, const Sample &above, int64_t tolerance);

  /// Says whether samples below `flat` that cost more than its own plan are left to the least
  /// memory and the levels above it, which take little time then. So where the plan of the least
  /// memory costs as much as that at `flat`, it costs as much as all samples.
  bool leavesDearerSamplesOut();

private:
  bool isFlatSampled();
  bool isDearerThanFlat(const PlacedPlan &plan);
  bool isBeatenByLeast(const Sample &sample);
  Sample openSample(const Sample &flat);
  Sample nextSample(const Sample &above, int64_t work);
  Sample nextSampleByAnnealing(const Sample &above);

  FrontierContext &shared;
  SampleSearch searched;
  AnnealedSamples annealed;
  PlacedPlan givenPlan, freePlan, flatPlan;
  PlacedPlan openPlan;         // what the open sample's search found, once it was needed
  int64_t leastCostOfOpen = 0; // proved
  std::deque<Sample> samples;
  bool isLastSample = false;
  int64_t workOfFree = 0, workOfSamples = 0;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_COARSESAMPLES_H
