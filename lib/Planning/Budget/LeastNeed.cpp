//===- LeastNeed.cpp - The least bytes that a plan was found for ------------------===//

#include "CanonicalFrontier.h"
#include "Descent.h"
#include <algorithm>

using namespace llmmem::planning;

/// Beyond, a search of all kinds at the least bytes takes seconds.
static constexpr int32_t mostOpsOfSearch = 8000;

const NeedBound &Frontier::needBound() {
  if (!provedNeed && hasNothingToChoose())
    provedNeed = needOfOneOp(graph);
  if (!provedNeed)
    provedNeed = isOfGraph() ? canonicalFrontier()->needBound()
                             : needOfEverySchedule(graph, search.leanest().front().steps);
  return *provedNeed;
}

/// Whether a coarse sample below `flat` that needs less than `bytes` may have a plan: it has none
/// where no schedule is found.
bool Frontier::mayHaveSampleBelow(int64_t bytes) {
  int64_t work = 0;
  for (int64_t index = indexOfNext(indexAbove(need(flat()))); index > 0;
       index = indexOfNext(index)) {
    const int64_t budget = budgetOf(index);
    if (budget < needBound().bytes)
      return false;
    if (budget < bytes && !under(capacityOf(budget), /*deeply=*/false, work).empty())
      return true;
  }
  return false;
}

/// Whether the plan costs no less and needs no more than that of the lowest sample, as the plan of
/// the least need does: so costs are monotone. Samples below `flat` cost no more than its own plan
/// where that is their condition, and then most least plans are compared without one.
bool Frontier::isBelowSamples(const Placed &plan) {
  if (leavesDearerSamplesOut() && plan->cost >= flat()->cost && !mayHaveSampleBelow(need(plan)))
    return true;
  const Placed &lowest = planOf(lowestSample());
  return plan->cost >= lowest->cost && need(plan) <= need(lowest);
}

Frontier::Placed Frontier::findLeast(int64_t enough) {
  search.announce("the least memory");
  needBound(); // before the samples: none is searched below it
  if (leavesDearerSamplesOut())
    if (Placed found = findLeastFrom(flat(), graph.baseCost(), enough); isBelowSamples(found))
      return found;
  const Placed &top = planOf(lowestSample());
  return findLeastFrom(top, top->cost, enough);
}

Frontier::Placed Frontier::findLeastFrom(const Placed &start, int64_t leastCost, int64_t enough) {
  cheaperThanLeast.clear();
  numRungs = 0;
  Descent descent(*this, start, leastCost, enough);
  descent.gatherLeanest(search.leanest());
  descent.gatherLowered();
  if (graph.numOps() <= mostOpsOfSearch) {
    descent.gatherSearched();
    descent.gatherAtLeanest();
  }
  descent.gatherRecreated();
  descent.placeGathered();
  descent.takeCheaperGathered();
  descent.recreate();
  descent.tighten();
  workOfSamples += descent.work();
  leastPlan = descent.found();
  for (const Candidate &candidate : descent.gatheredSchedules())
    addCheaper(candidate, /*rung=*/0);
  return leastPlan = cheapestNear(leastPlan);
}

/// Where the step runs twice again for the last bytes: what is found for a thousandth more may need
/// hardly more, at a fraction of the recomputation.
Frontier::Placed Frontier::cheapestNear(const Placed &leanest) {
  constexpr int indistinct = 14, near = 10; // parts of the arena, as powers of two
  if (leanest->cost <= 2 * graph.baseCost() || search.isAnnealed())
    return leanest;
  const int64_t least = need(leanest), leastCost = planOf(lowestSample())->cost;
  for (int part = near; part < indistinct; ++part) {
    Placed found = cheaperWithin(least + (leanest->arena >> part), leastCost, leanest->cost);
    if (found && need(found) <= least + (leanest->arena >> indistinct))
      return found;
  }
  return leanest;
}

/// Null where the problem is numbered canonically already, or not searched as one chain.
CanonicalFrontier *Frontier::canonicalFrontier() {
  if (!canonical && !isCanonical && !search.isAnnealed() && !search.microBatches())
    canonical = std::make_unique<CanonicalFrontier>(graph, search, packWork);
  return canonical.get();
}

/// The least need of the problem with canonical numbers and without labels, null where no blocks
/// repeat in it: where half of the step runs again, searches from two orders or numberings end at
/// different schedules.
Frontier::Placed Frontier::canonicalLeast() {
  CanonicalFrontier *other = canonicalFrontier();
  return other && other->hasRepeats() ? other->least() : nullptr;
}

const Frontier::Sample &Frontier::lowestSample() {
  size_t number = 0;
  while (coarseSample(number + 1))
    ++number;
  return *coarseSample(number);
}

/// Between the least need and the lowest sample a little less memory costs much more, and few of a
/// dozen schedules pack tightly: so there are more of them than a bisection would meet. Adds those
/// of all rungs up to `budget`, the cheapest first.
void Frontier::gatherCheaper(int64_t budget) {
  constexpr int64_t rungs = 32;
  const int64_t low = need(least()), high = budgetOf(lowestSample().index);
  const int64_t height = (high - low) / rungs;
  if (height <= 0 || search.isAnnealed() || graph.numOps() > mostOpsOfRungs)
    return;
  for (; numRungs < rungs - 1 && low + height * (numRungs + 1) <= budget; ++numRungs) {
    int64_t work = 0;
    const int64_t rung = low + height * (numRungs + 1);
    for (Candidate &candidate : under(capacityOf(rung), /*deeply=*/true, work))
      addCheaper(std::move(candidate), rung);
  }
}

/// For budgets from `rung` on, unless it is known.
void Frontier::addCheaper(Candidate candidate, int64_t rung) {
  if (candidate.cost >= leastPlan->cost)
    return;
  auto key = [](const Candidate &each) { return std::tie(each.cost, each.peak); };
  auto place =
      llvm::lower_bound(cheaperThanLeast, candidate, [&](const Cheaper &a, const Candidate &b) {
        return key(a.candidate) < key(b);
      });
  if (place == cheaperThanLeast.end() || key(place->candidate) != key(candidate))
    cheaperThanLeast.insert(place, {std::move(candidate), rung, nullptr});
}

/// The cheapest plan within `budget` of schedules that hold a little more than the least; none
/// where it costs less than `leastCost` or no less than `cost`. Each schedule is placed once, for a
/// number of bytes that is its own.
Frontier::Placed Frontier::cheaperWithin(int64_t budget, int64_t leastCost, int64_t cost) {
  gatherCheaper(budget);
  for (Cheaper &each : cheaperThanLeast) {
    if (each.candidate.cost >= cost)
      break;
    if (each.candidate.cost < leastCost || each.rung > budget ||
        leastNeedOf(each.candidate) > budget)
      continue;
    if (!each.placed)
      each.placed = place(each.candidate, usualNeedOf(each.candidate), packWork, /*ejections=*/0,
                          AfterCore::End, leastPlan);
    if (need(each.placed) <= budget)
      return each.placed;
  }
  return nullptr;
}

/// `plan`, or a cheaper one within `budget` that is made of what a descent to the least need has
/// gathered. Of several budgets a lower one has no other plans, and none costs less than the lowest
/// sample: so costs still never rise with the budget.
Frontier::Placed Frontier::orCheaper(Placed plan, int64_t budget) {
  const int64_t leastCost = planOf(lowestSample())->cost;
  if (Placed other = cheaperWithin(budget, leastCost, plan->cost))
    plan = std::move(other);
  if (CanonicalFrontier *other = canonicalFrontier(); other && other->hasRepeats())
    if (Placed found = other->cheaperWithin(budget, leastCost, plan->cost))
      plan = std::move(found);
  return plan;
}

/// Whether a descent from the leanest schedules, which lowers them by a hundredth or two, would end
/// above `bytes`.
bool Frontier::isBeyondDescent(int64_t bytes) {
  const int64_t leanest = search.leanest().front().peak - padding;
  constexpr int64_t part = 128;
  return leanest - bytes > (bytes - graph.residentBytes()) / part;
}

Frontier::Placed Frontier::least() {
  if (leastPlan)
    return leastPlan;
  if (hasNothingToChoose())
    return leastPlan = given();
  if (isOfGraph())
    return leastPlan = canonicalLeast();
  const Placed other = canonicalLeast();
  const bool isAdmitted = other && isBelowSamples(other);
  if (isAdmitted && graph.numOps() > mostOpsOfSearch) // a second search takes as long again
    return leastPlan = other;
  if (isAdmitted && isBeyondDescent(need(other)))
    return leastPlan = other;
  leastPlan = findLeast(isAdmitted ? need(other) : INT64_MAX);
  // A need that is lower by less than the search can tell apart is not worth a plan that hangs on
  // the numbering.
  if (isAdmitted && need(other) - need(leastPlan) <= leastPlan->arena >> Descent::finestStep)
    leastPlan = other;
  return leastPlan;
}
