//===- Frontier.h - One plan per budget, with monotone costs ----------------------===//
//
// Each budget is answered by bisection in one binary tree of sampled budgets that does not depend
// on the query. Each sample is searched on its own. Its plan is used if its cost lies between those
// of the two ends of its interval; else the plan of the lower end is used in its place. So costs
// never rise with the budget, whatever the searches return (docs/Design/Planning.md has the proof).
//
//   least ............ flat ..................... free
//   the least need     one level of               nothing is
//   that was found     recomputation suffices     recomputed
//
// Budgets between `flat` and `free` are answered without the search for the least need, which is
// slow.
//
// Example: budgets 0..16, free at 16, least at 4 at a cost of 50. Query 11: the sample at 10 costs
// 7, so the answer is between 10 and 16. The sample at 13 costs 8, more than that at 10, so it gets
// the plan of 10. Between 10 and 13 all costs are now equal, and the plan of 10 is the answer.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_FRONTIER_H
#define LLMMEM_LIB_PLANNING_BUDGET_FRONTIER_H

#include "Bounds/NeedBound.h"
#include "BudgetSearch.h"
#include "llmmem/Planning/Allocation/Placement.h"
#include "llmmem/Planning/Model/Plan.h"
#include <deque>

namespace llmmem::planning {

class CanonicalFrontier;

class Frontier {
public:
  /// `packWork` bounds the search for offsets of each plan (Placement.h).
  Frontier(const Graph &graph, BudgetSearch &search, int64_t packWork);
  /// The same where the problem is numbered canonically already (Structure/CanonicalProblem.h).
  static Frontier ofCanonical(const Graph &graph, BudgetSearch &search, int64_t packWork);
  Frontier(Frontier &&other);
  ~Frontier();

  /// The placed plan for `budget`, nullptr where even the least need does not fit.
  std::shared_ptr<const Plan> at(int64_t budget);
  /// The plan of the least need that was found.
  std::shared_ptr<const Plan> least();
  std::shared_ptr<const Plan> cheaperWithin(int64_t budget, int64_t leastCost, int64_t cost);
  /// What every plan needs at least, as far as it is proved.
  const NeedBound &needBound();

private:
  using Placed = std::shared_ptr<const Plan>;
  /// A sampled budget and the plan that answers it.
  struct Sample {
    int64_t index = 0;
    Placed plan;
    int64_t work = 0;     // of the searches on the path to it
    int64_t headroom = 0; // thousandths of the arena that packing needed beside the live bytes
    bool isOpen = false;  // its plan is the open one (`openSample`): what `plan` costs at most
  };
  /// Heuristics alone, for `budget`.
  PackOptions packOptions(int64_t budget) const;
  Placed place(const Candidate &candidate, int64_t budget, int64_t work, int64_t ejections = 0,
               AfterCore afterCore = AfterCore::Search, const Placed &like = nullptr) const;
  int64_t mostEjections() const;
  /// The first `headroom` of a sample, where none is known.
  int64_t usualHeadroom() const { return 5 + graph.numOps() / 50; }
  Placed placeFor(Sample &sample, const Candidate &candidate) const;
  std::vector<Candidate> under(int64_t capacity, bool deeply, int64_t &work);
  Placed given();
  Placed free();
  Placed flat();
  const Sample *coarseSample(size_t number);
  Sample solve(int64_t index, const Sample &below, const Sample &above, bool deeply);
  bool isKnownToFail(const Sample &below, int64_t capacity) const;
  Sample solveBySearch(int64_t index, const Sample &below, const Sample &above, bool deeply);
  Placed placeAgain(Sample &sample, const Sample &above);
  Placed placeWithHeadroom(Sample &sample, Candidate candidate, int64_t limit, int attempt);
  void tightenFree();
  int64_t workOfAnnealing(const Sample &below, const Sample &above) const;
  bool isFlatSampled();
  bool leavesDearerSamplesOut();
  bool isDearerThanFlat(const Placed &plan) {
    return leavesDearerSamplesOut() && plan->cost > flat()->cost;
  }
  bool isBeatenByLeanest(const Sample &sample);
  Sample openSample(const Sample &flat);
  const Placed &planOf(const Sample &sample);
  bool costsLess(int64_t cost, const Sample &sample);
  bool differByMore(const Sample &below, const Sample &above, int64_t tolerance);
  Sample nextSample(const Sample &above, int64_t work);
  Sample nextSampleByAnnealing(const Sample &above);
  Sample solveByAnnealing(int64_t index, const Sample &below, const Sample &above);
  class Descent;
  Placed findLeast(int64_t enough);
  Placed findLeastFrom(const Placed &start, int64_t leastCost, int64_t enough);
  Placed cheapestNear(const Placed &leanest);
  CanonicalFrontier *canonicalFrontier();
  Placed canonicalLeast();
  bool isBeyondDescent(int64_t bytes);
  /// Of more ops a rung takes a tenth of a second.
  static constexpr int32_t mostOpsOfRungs = 2000;
  void gatherCheaper(int64_t budget);
  void addCheaper(Candidate candidate, int64_t rung);
  Placed orCheaper(Placed plan, int64_t budget);
  /// Whether the chain hangs on the graph alone, so that plans are those of the canonical problem.
  bool isOfGraph() const {
    return !isCanonical && !search.microBatches() && search.mainChain().isOfGraph;
  }
  const Sample &lowestSample();
  bool mayHaveSampleBelow(int64_t bytes);
  bool isBelowSamples(const Placed &plan);
  Placed bisect(int64_t index, Sample below, Sample above, bool deeply);

  /// Without ops there is one plan, and no chain to search along.
  bool hasNothingToChoose() const { return graph.numOps() == 0; }
  int64_t need(const Placed &plan) const { return graph.residentBytes() + plan->arena; }
  /// No packing needs less than the live bytes, but for the padding of the topmost buffer.
  int64_t leastNeedOf(const Candidate &candidate) const { return candidate.peak - padding; }
  /// What it is placed for, a four-thousandth more.
  int64_t usualNeedOf(const Candidate &candidate) const {
    const int64_t least = leastNeedOf(candidate);
    return least + ((least - graph.residentBytes()) >> 12);
  }
  int64_t budgetOf(int64_t index) const { return graph.residentBytes() + index * unit; }
  int64_t indexBelow(int64_t budget) const { return (budget - graph.residentBytes()) / unit; }
  int64_t indexAbove(int64_t budget) const { return indexBelow(budget + unit - 1); }
  /// The coarse samples are an eighth apart.
  static int64_t indexOfNext(int64_t index) { return index - index / 8 - 1; }
  int64_t capacityOf(int64_t budget) const { return budget + padding; }

  /// Steps visited in the time of one unit of the packing search, which ends where the plan fits.
  static constexpr int64_t workOfUnit = 4;

  const Graph &graph;
  BudgetSearch &search;
  std::unique_ptr<BudgetSearch>
      deferred; // the same with the weight gradient of the peak step deferred
  bool hasDeferred = false;
  bool isCanonical = false;
  std::unique_ptr<CanonicalFrontier> canonical;
  int64_t packWork;
  int64_t padding;  // of the topmost buffer, which an arena does not hold
  int64_t unit = 1; // divides all sizes: budgets between two multiples are equal
  Placed givenPlan, freePlan, flatPlan, leastPlan;
  /// A schedule that costs less than the least need's, and its plan where one was asked for.
  struct Cheaper {
    Candidate candidate;
    int64_t rung; // for budgets from here on
    Placed placed;
  };
  std::vector<Cheaper> cheaperThanLeast; // the cheapest first
  int64_t numRungs = 0;                  // whose schedules are among them
  Placed openPlan;                       // what the open sample's search found, once it was needed
  int64_t leastCostOfOpen = 0;           // proved
  std::deque<Sample> samples;            // the coarse ones, highest budget first
  bool isLastSample = false;
  std::optional<NeedBound> provedNeed;
  int64_t workOfFree = 0;
  int64_t workOfSamples = 0; // of all coarse samples, a failed last one included
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_FRONTIER_H
