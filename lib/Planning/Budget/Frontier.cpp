//===- Frontier.cpp - One plan per budget, with monotone costs --------------------===//

#include "CanonicalFrontier.h"
#include "llmmem/Planning/Allocation/Placement.h"
#include "llmmem/Planning/Bounds/Bounds.h"
#include "llmmem/Support/ByteSize.h"
#include <algorithm>
#include <numeric>

using namespace llmmem;
using namespace llmmem::planning;

/// A divisor of every arena: the common divisor of all sizes where the alignment divides it, else
/// the common divisor of these two.
static int64_t commonUnit(const Graph &graph) {
  const Problem &problem = graph.problem();
  int64_t unit = 0, alignment = std::max<int64_t>(problem.alignment, 1);
  for (const Value &value : problem.values)
    if (!value.resident)
      unit = std::gcd(unit, value.bytes);
  for (const Op &op : problem.ops)
    unit = std::gcd(unit, op.workspace);
  if (unit % alignment != 0)
    unit = std::gcd(unit, alignment);
  return std::max<int64_t>(unit, 1);
}

Frontier::Frontier(const Graph &graph, BudgetSearch &search, int64_t packWork)
    : graph(graph), search(search), packWork(packWork), padding(graph.topPadding()),
      unit(commonUnit(graph)) {}

Frontier::Frontier(Frontier &&other) = default;

Frontier::~Frontier() = default;

Frontier Frontier::ofCanonical(const Graph &graph, BudgetSearch &search, int64_t packWork) {
  Frontier frontier(graph, search, packWork);
  frontier.isCanonical = true;
  return frontier;
}

/// The schedules of both orders, cheapest first.
std::vector<Candidate> Frontier::under(int64_t capacity, bool deeply, int64_t &work) {
  if (!hasDeferred) {
    hasDeferred = true;
    deferred = search.deferred();
  }
  if (!deferred) {
    std::vector<Candidate> found = search.under(capacity, deeply);
    work += search.workOfLast();
    return found;
  }
  std::vector<Candidate> found = deferred->under(capacity, /*deeply=*/false);
  int64_t known = found.empty() ? INT64_MAX : found.front().cost;
  for (Candidate &candidate : search.under(capacity, deeply, known))
    found.push_back(std::move(candidate));
  work += deferred->workOfLast() + search.workOfLast();
  llvm::stable_sort(found, [](const Candidate &a, const Candidate &b) {
    return std::tie(a.cost, a.peak) < std::tie(b.cost, b.peak);
  });
  return found;
}

PackOptions Frontier::packOptions(int64_t budget) const {
  PackOptions pack;
  pack.alignment = std::max<int64_t>(graph.problem().alignment, 1);
  pack.capacity = budget - graph.residentBytes();
  pack.cancellation = graph.cancellation();
  return pack;
}

Frontier::Placed Frontier::place(const Candidate &candidate, int64_t budget, int64_t work,
                                 int64_t ejections, AfterCore afterCore, const Placed &like) const {
  search.announce("offsets for " + llvm::Twine(candidate.steps.size()) + " steps");
  auto plan = std::make_shared<Plan>();
  plan->steps = candidate.steps;
  PackOptions pack = packOptions(budget);
  // The search over many shapes of micro-batches takes seconds and finds little.
  constexpr size_t mostSearched = 1500;
  const bool isSearched = !search.microBatches() || candidate.steps.size() <= mostSearched;
  // A node of the search visits every buffer, so of more buffers fewer nodes take as long.
  constexpr int64_t usualSteps = 1500;
  pack.work = isSearched
                  ? std::min(work, work / std::max<int64_t>(candidate.steps.size(), 1) * usualSteps)
                  : 0;
  pack.ejections = ejections;
  pack.afterCore = afterCore;
  placeSteps(graph.problem(), *plan, pack, {}, like.get());
  return plan;
}

/// Steps visited in the time of one step of the packing heuristics.
static constexpr int64_t workOfStep = 24;

/// Edges that ejection chains visit in the time of one visited step.
static constexpr int64_t ejectionsOfStep = 40;

/// The work of ejection chains for one plan. Where some hundred ejections per buffer find no
/// packing, ten times as many rarely do.
int64_t Frontier::mostEjections() const {
  constexpr int64_t perOp = 40000;
  return std::min(search.workInAll() / 32 * ejectionsOfStep, graph.numOps() * perOp);
}

/// Places `candidate` for the budget of `sample`. Schedules of chains pack almost at once and count
/// no work; for other graphs all the work is spent only where a quarter of it came close.
Frontier::Placed Frontier::placeFor(Sample &sample, const Candidate &candidate) const {
  int64_t budget = budgetOf(sample.index);
  if (!search.isAnnealed())
    return place(candidate, budget, search.microBatches() ? packWork : packWork / 4,
                 /*ejections=*/0, AfterCore::SearchNear);
  constexpr int64_t nearly = 32;
  Placed plan = place(candidate, budget, packWork / 4);
  int64_t excess = need(plan) - budget;
  sample.work += workOfStep * static_cast<int64_t>(candidate.steps.size());
  sample.work += excess > 0 ? workOfUnit * (packWork / 4) : 0;
  if (excess <= 0 || excess > (budget - graph.residentBytes()) / nearly)
    return plan;
  sample.work += workOfUnit * packWork;
  return place(candidate, budget, packWork);
}

/// Packed by the heuristics alone; the samples below use the packing search.
Frontier::Placed Frontier::given() {
  if (!givenPlan)
    givenPlan = place(search.given(), graph.residentBytes(), /*work=*/0);
  return givenPlan;
}

/// Nothing recomputed, in the better order: the top of the frontier.
Frontier::Placed Frontier::free() {
  if (!freePlan) {
    freePlan = given();
    int64_t last = search.given().peak;
    for (const Candidate *candidate : {&search.ordered(), &search.annealedOrder()})
      if (candidate->peak < last) {
        last = candidate->peak;
        if (Placed plan = place(*candidate, graph.residentBytes(), 0); need(plan) < need(freePlan))
          freePlan = std::move(plan);
      }
    if (search.isAnnealed())
      tightenFree();
  }
  return freePlan;
}

/// Orders with a slightly higher peak than the least may pack better. Bisects between the least
/// peak and the smallest arena so far.
void Frontier::tightenFree() {
  const Candidate &order = search.annealedOrder();
  const int64_t mostWork = search.workInAll() / 4, narrow = order.peak / 400;
  Sample sample;
  for (int attempt = 0; sample.work < mostWork && need(freePlan) - order.peak > narrow;)
    for (int64_t low = order.peak; sample.work < mostWork && need(freePlan) - low > narrow;) {
      sample.index = indexBelow(low + (need(freePlan) - low) / 2);
      const int64_t budget = budgetOf(sample.index);
      Placed plan =
          placeWithHeadroom(sample, order, order.peak + (budget - order.peak) / 2, attempt++);
      if (need(plan) <= budget)
        freePlan = std::move(plan);
      else
        low = budget;
    }
  workOfFree = sample.work;
}

Frontier::Placed Frontier::flat() {
  if (!flatPlan)
    flatPlan = place(search.leanestFlat(), graph.residentBytes(), /*work=*/0);
  return flatPlan;
}

/// The coarse samples, highest budget first, each searched without a known plan below it: `flat`
/// where one level of recomputation needs less, then budgets an eighth lower each, until one fails.
const Frontier::Sample *Frontier::coarseSample(size_t number) {
  if (samples.empty())
    samples.push_back({indexAbove(need(free())), free(), workOfFree, usualHeadroom()});
  while (samples.size() <= number && !isLastSample) {
    Sample next =
        search.isAnnealed() ? nextSampleByAnnealing(samples.back()) : nextSample(samples.back(), 0);
    isLastSample = !next.plan || isDearerThanFlat(next.plan) || isBeatenByLeanest(next);
    workOfSamples = next.work;
    if (!isLastSample)
      samples.push_back(std::move(next));
  }
  return number < samples.size() ? &samples[number] : nullptr;
}

/// Whether the second sample is that at `flat`.
bool Frontier::isFlatSampled() { return need(flat()) <= budgetOf(indexAbove(need(free())) - 1); }

/// Whether samples below `flat` that cost more than its own plan are left to the least need and the
/// rungs above it, which take little time then. So where the least need's plan costs as much as
/// that at `flat` it costs as much as all samples.
bool Frontier::leavesDearerSamplesOut() {
  return graph.numOps() <= mostOpsOfRungs && !search.isAnnealed() && !search.microBatches() &&
         isFlatSampled();
}

/// A sample that runs half of the step again may cost more than what the search for the least
/// memory finds at fewer bytes, which monotone costs would then forbid below it.
bool Frontier::isBeatenByLeanest(const Sample &sample) {
  const int64_t half = graph.baseCost() + graph.baseCost() / 2;
  if (search.isAnnealed() || sample.plan->cost < half || planOf(sample)->cost < half)
    return false;
  const Placed &plan = planOf(sample);
  if (const Placed least = canonicalLeast();
      least && least->cost < plan->cost && need(least) <= need(plan))
    return true;
  return llvm::any_of(search.leanest(), [&](const Candidate &candidate) {
    return candidate.cost < plan->cost && candidate.peak <= need(plan);
  });
}

/// Most budgets above `flat` ask only whether their plans cost less than that of the sample at
/// `flat`, which what is proved of it decides. So that sample is searched where somebody asks for
/// more, and until then stands for any plan between its bound and `flat`.
Frontier::Sample Frontier::openSample(const Sample &flat) {
  const int64_t budget = budgetOf(flat.index);
  leastCostOfOpen = search.leastCostUnder(budget);
  // The fullest moment of the given order may prove more than the end of the forward.
  const std::vector<OpIndex> &given = search.given().steps;
  if (const int32_t step = profile(graph, given).peakStep; step >= 0)
    leastCostOfOpen = std::max(
        leastCostOfOpen,
        graph.baseCost() + CutRelaxation(graph, given[step]).costLowerBound(budget).value_or(0));
  Sample open = flat;
  open.isOpen = true;
  return open;
}

const Frontier::Placed &Frontier::planOf(const Sample &sample) {
  if (!sample.isOpen)
    return sample.plan;
  if (!openPlan) {
    const Sample flatSample{indexAbove(need(flat())), flat()};
    openPlan = solve(flatSample.index, flatSample, samples.front(), /*deeply=*/false).plan;
    leastCostOfOpen = openPlan->cost;
  }
  return openPlan;
}

/// Whether `cost` is less than the sample's.
bool Frontier::costsLess(int64_t cost, const Sample &sample) {
  if (sample.isOpen && cost < leastCostOfOpen)
    return true;
  return cost < sample.plan->cost && cost < planOf(sample)->cost;
}

bool Frontier::differByMore(const Sample &below, const Sample &above, int64_t tolerance) {
  if (below.isOpen && !above.isOpen && leastCostOfOpen - above.plan->cost > tolerance)
    return true;
  return planOf(below)->cost - planOf(above)->cost > tolerance;
}

/// The next coarse sample below `above`; `work` has been spent there without a plan.
Frontier::Sample Frontier::nextSample(const Sample &above, int64_t work) {
  Sample next{indexOfNext(above.index), nullptr, work};
  if (samples.size() == 1 && isFlatSampled()) {
    next = {indexAbove(need(flat())), flat(), work};
    if (!search.isAnnealed() && !search.microBatches())
      return openSample(next);
  }
  return next.index > 0 ? solve(next.index, next, above, /*deeply=*/false)
                        : Sample{0, nullptr, std::max(above.work, work)};
}

/// Annealing finds plans only a little below `above`, but these cost less than the plans that other
/// searches find farther down. So smaller distances are tried in turn.
Frontier::Sample Frontier::nextSampleByAnnealing(const Sample &above) {
  // The remaining work is for the bisection between two coarse samples.
  const int64_t mostWork = search.workInAll() / 8 * 5;
  int64_t work = above.work;
  Sample top = above; // at lower budgets packing needs more headroom
  top.headroom = std::max(above.headroom, usualHeadroom());
  for (int64_t divisor : {12, 24, 48, 96}) {
    Sample next{above.index - above.index / divisor - 1, nullptr, work};
    if (next.index > 0 && work < mostWork)
      next = solveByAnnealing(next.index, next, top);
    if (next.plan)
      return next;
    work = next.work;
  }
  return nextSample(above, work);
}

/// Searches one sampled budget: the cheapest plan found that costs at least as much as `above` and
/// less than `below`, else the plan of `below`.
Frontier::Sample Frontier::solve(int64_t index, const Sample &below, const Sample &above,
                                 bool deeply) {
  if (search.isAnnealed())
    if (Sample sample = solveByAnnealing(index, below, above);
        sample.plan && (!deeply || sample.plan != below.plan))
      return sample;
  return solveBySearch(index, below, above, deeply);
}

/// Whether a proof that was asked for anyway says that no schedule holds so little. Of coarse
/// samples alone, whose work counts nowhere but by annealing: so no answer hangs on earlier
/// queries.
bool Frontier::isKnownToFail(const Sample &below, int64_t capacity) const {
  return !below.plan && !search.isAnnealed() && provedNeed && capacity < provedNeed->bytes;
}

/// Where packing exceeds the budget, the capacity is lowered by the excess and the search repeated.
Frontier::Sample Frontier::solveBySearch(int64_t index, const Sample &below, const Sample &above,
                                         bool deeply) {
  int64_t budget = budgetOf(index), target = capacityOf(budget);
  Sample sample = below;
  sample.index = index;
  sample.work = std::max(below.work, above.work);
  // Alike steps fragment alike, so a little less may be needed several times.
  constexpr int mostRepairs = 6;
  constexpr int mostPlaced = 3;
  for (int repair = 0; repair < mostRepairs && !isKnownToFail(below, target); ++repair) {
    int64_t excess = INT64_MAX, leastPeak = INT64_MAX;
    int placed = 0;
    search.announce("schedules within " + formatByteSize(target));
    std::vector<Candidate> candidates = under(target, deeply, sample.work);
    if (deeply && !candidates.empty()) {
      std::vector<Candidate> cheaper = search.recreated(candidates.front(), target, /*rounds=*/100);
      sample.work += search.workOfLast();
      candidates.insert(candidates.begin(), cheaper.begin(), cheaper.end());
    }
    for (const Candidate &candidate : candidates) {
      if (costsLess(candidate.cost, above))
        continue;
      if ((below.plan && !costsLess(candidate.cost, below)) || placed++ == mostPlaced)
        break;
      Placed plan = placeFor(sample, candidate);
      if (need(plan) <= budget) {
        sample.plan = std::move(plan);
        sample.isOpen = false;
        return sample;
      }
      excess = std::min(excess, need(plan) - budget);
      leastPeak = std::min(leastPeak, candidate.peak);
    }
    if (placed == 0)
      break;
    target = std::min(target - excess, leastPeak - 1); // lest the same be placed again
  }
  return sample;
}

/// The work that annealing may spend on one sample: more in narrow intervals, near the answer.
int64_t Frontier::workOfAnnealing(const Sample &below, const Sample &above) const {
  constexpr int64_t nearFraction = 24;
  const bool isNear = below.plan && above.index - below.index <= above.index / nearFraction;
  return search.workInAll() / (isNear ? 6 : below.plan ? 12 : 8);
}

/// Anneals with many seeds. The headroom adapts: it shrinks after a successful packing and grows
/// after a failed one. A schedule is packed only if it costs less than the best plan so far.
Frontier::Sample Frontier::solveByAnnealing(int64_t index, const Sample &below,
                                            const Sample &above) {
  Sample sample{index, below.plan, std::max(below.work, above.work), above.headroom};
  const int64_t budget = budgetOf(index), arena = budget - graph.residentBytes();
  const int64_t quota = workOfAnnealing(below, above);
  const int64_t mostWork = std::min(search.workInAll(), sample.work + quota);
  // Changes of the headroom, in thousandths of the arena.
  constexpr int64_t less = 5, more = 12;
  constexpr int mostFailures = 4; // in a row; by then the cheapest has been found, or nothing fits
  int64_t headroom = below.plan ? (above.headroom + below.headroom) / 2 : above.headroom,
          unpacked = 0;
  if (Placed plan = placeAgain(sample, above)) {
    sample.plan = std::move(plan);
    return sample;
  }
  // A sample without a plan of its own may spend twice as much: with the plan of `below`, no budget
  // between the two is searched any further.
  auto isSpent = [&] {
    return sample.work >= (sample.plan == below.plan ? mostWork + quota : mostWork);
  };
  for (int attempt = 0, failures = 0; !isSpent() && failures < mostFailures; ++attempt) {
    const int64_t capacity =
        capacityOf(budget - (arena / 1000 * headroom + arena % 1000 * headroom / 1000));
    Candidate found = search.annealed(search.ordered(), capacity, above.plan->cost, attempt);
    sample.work += search.workOfLast();
    if (found.peak > capacityOf(budget)) {
      // Retry with no headroom; where even that does not fit, stop.
      if (headroom == 0)
        break;
      headroom = 0;
      continue;
    }
    const bool isTooCheap = found.cost < above.plan->cost;
    if (isTooCheap || (sample.plan && found.cost >= sample.plan->cost)) {
      ++failures;
      headroom = std::max<int64_t>(0, isTooCheap ? headroom + more : headroom - less);
      continue;
    }
    failures = 0;
    Placed plan = placeWithHeadroom(sample, std::move(found), /*limit=*/0, attempt);
    const bool fits = need(plan) <= budget;
    unpacked = fits ? 0 : unpacked + 1;
    headroom = std::max<int64_t>(0, fits ? headroom - less
                                         : headroom + more * std::min<int64_t>(unpacked, 2));
    sample.headroom = headroom;
    if (fits)
      sample.plan = std::move(plan);
    if (sample.plan && sample.plan->cost <= above.plan->cost)
      break;
  }
  return sample;
}

/// The schedule of the larger budget may be packed within the sample's budget as well.
Frontier::Placed Frontier::placeAgain(Sample &sample, const Sample &above) {
  const int64_t budget = budgetOf(sample.index);
  const Profile usage = profile(graph, above.plan->steps);
  if (usage.peak > capacityOf(budget))
    return nullptr;
  const int64_t limit = usage.peak + (capacityOf(budget) - usage.peak) / 2;
  Placed plan = placeWithHeadroom(sample, {above.plan->steps, usage.cost, usage.peak}, limit, 0);
  return need(plan) <= budget ? plan : nullptr;
}

/// A schedule that is full at many steps packs badly, so its runs are first moved for headroom.
Frontier::Placed Frontier::placeWithHeadroom(Sample &sample, Candidate candidate, int64_t limit,
                                             int attempt) {
  candidate = search.withHeadroom(std::move(candidate), limit, attempt);
  sample.work += search.workOfLast();
  const int64_t budget = budgetOf(sample.index);
  const int64_t ejections = mostEjections();
  Placed plan = place(candidate, budget, packWork, ejections);
  const bool fits = need(plan) <= budget;
  sample.work += workOfStep * static_cast<int64_t>(candidate.steps.size());
  sample.work += (workOfUnit * packWork + ejections / ejectionsOfStep) / (fits ? 2 : 1);
  return plan;
}

/// Stops where the work is spent, or where the costs or budgets are so close that a search cannot
/// gain much. All of it depends only on the interval.
Frontier::Placed Frontier::bisect(int64_t index, Sample below, Sample above, bool deeply) {
  constexpr int32_t smallSize = 128; // a search of so few ops takes no time
  int64_t tolerance = graph.numOps() <= smallSize ? 0 : graph.baseCost() >> 12;
  int64_t mostWork = search.isAnnealed() ? search.workInAll() : search.workInAll() / 4;
  // The bisection has the work that the coarse samples left, and at least an eighth.
  const int64_t mostBefore = mostWork / 8 * 7;
  const int64_t before =
      search.isAnnealed() ? std::min(std::max(below.work, above.work), mostBefore) : 0;
  // Between budgets this close, the gain of annealing is noise.
  constexpr int64_t finest = 256;
  auto isNarrow = [&] {
    int64_t divisor = search.isAnnealed() ? finest : INT64_MAX;
    return above.index - below.index <= std::max<int64_t>(1, below.index / divisor);
  };
  below.work = above.work = before;
  if (index == below.index) // every middle is above it
    return planOf(below);
  while (!isNarrow() && differByMore(below, above, tolerance) &&
         std::max(below.work, above.work) <= mostWork) {
    int64_t middle = below.index + (above.index - below.index) / 2;
    Sample sample = solve(middle, below, above, deeply);
    (index < middle ? above : below) = std::move(sample);
  }
  return planOf(below);
}

std::shared_ptr<const Plan> Frontier::at(int64_t budget) {
  if (isOfGraph())
    return budget >= need(given()) ? given() : canonicalFrontier()->at(budget);
  for (Placed (Frontier::*candidate)() : {&Frontier::given, &Frontier::free})
    if (Placed plan = (this->*candidate)(); budget >= need(plan))
      return plan;
  if (budget < graph.residentBytes() || hasNothingToChoose())
    return nullptr;
  int64_t index = indexBelow(budget);
  for (size_t number = 1; const Sample *below = coarseSample(number); ++number)
    if (index >= below->index)
      return bisect(index, *below, *coarseSample(number - 1), /*deeply=*/false);
  if (budget <= need(least()))
    return budget == need(least()) ? least() : nullptr;
  return orCheaper(bisect(index, {indexBelow(need(least())), least(), workOfSamples},
                          samples.back(), /*deeply=*/true),
                   budget);
}
