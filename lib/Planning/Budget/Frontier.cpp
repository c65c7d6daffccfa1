//===- Frontier.cpp - One plan per budget, no dearer for more ---------------------===//

#include "Frontier.h"
#include "Schedulers/DeferredOrder.h"
#include "llmmem/Support/ByteSize.h"
#include "llmmem/Planning/Allocation/Placement.h"
#include <algorithm>
#include <numeric>

using namespace llmmem;
using namespace llmmem::planning;

/// Where all sizes are multiples of one number that the alignment divides, so is every arena.
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
    : graph(graph), search(search), packWork(packWork),
      padding(std::max<int64_t>(graph.problem().alignment, 1) - 1), unit(commonUnit(graph)) {}

/// The schedules of both orders, cheapest first.
std::vector<Candidate> Frontier::under(int64_t capacity, bool deeply, int64_t &work) {
  if (!hasDeferred) {
    hasDeferred = true;
    std::vector<OpIndex> order = deferFullest(graph, search.mainChain());
    if (!order.empty())
      deferred = std::make_unique<BudgetSearch>(graph, std::move(order), search.workInAll());
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

Frontier::Placed Frontier::place(const Candidate &candidate, int64_t budget, int64_t work,
                                 int64_t ejections) const {
  search.announce("places for " + llvm::Twine(candidate.steps.size()) + " steps");
  auto plan = std::make_shared<Plan>();
  plan->steps = candidate.steps;
  PackOptions pack;
  pack.alignment = padding + 1;
  pack.work = work;
  pack.ejections = ejections;
  pack.capacity = budget - graph.residentBytes();
  placeSteps(graph.problem(), *plan, pack);
  return plan;
}

/// Steps looked at in the time of a step of the packing heuristics.
static constexpr int64_t workOfStep = 24;

/// And in that of a unit of search, which ends where the plan fits.
static constexpr int64_t workOfUnit = 4;

/// Edges that ejections look at in the time of a step looked at.
static constexpr int64_t ejectionsOfStep = 40;

/// For one plan. What is not found with some hundred ejections for each buffer, ten times as many
/// rarely find.
int64_t Frontier::mostEjections() const {
  constexpr int64_t perOp = 40000;
  return std::min(search.workInAll() / 32 * ejectionsOfStep, graph.numOps() * perOp);
}

/// For the budget of `node`. A chain packs at once, or nearly, and bears no work; of any other
/// graph all the work is spent only where a quarter of it came close.
Frontier::Placed Frontier::placeFor(Node &node, const Candidate &candidate) const {
  int64_t budget = budgetOf(node.index);
  if (!search.isAnnealed())
    return place(candidate, budget, packWork);
  constexpr int64_t nearly = 32;
  Placed plan = place(candidate, budget, packWork / 4);
  int64_t excess = need(plan) - budget;
  node.work += workOfStep * static_cast<int64_t>(candidate.steps.size());
  node.work += excess > 0 ? workOfUnit * (packWork / 4) : 0;
  if (excess <= 0 || excess > (budget - graph.residentBytes()) / nearly)
    return plan;
  node.work += workOfUnit * packWork;
  return place(candidate, budget, packWork);
}

/// Packed by the heuristics alone: what a search of offsets gains is left to the nodes below.
Frontier::Placed Frontier::given() {
  if (!givenPlan)
    givenPlan = place(search.given(), graph.residentBytes(), /*work=*/0);
  return givenPlan;
}

/// Nothing recomputed, in the better order: the top of the tree.
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

/// About the leanest order there are others that hold little more and pack better. Halves the way
/// from what is live to the least arena so far, again and again.
void Frontier::tightenFree() {
  const Candidate &order = search.annealedOrder();
  const int64_t mostWork = search.workInAll() / 4, narrow = order.peak / 400;
  Node node;
  for (int attempt = 0; node.work < mostWork && need(freePlan) - order.peak > narrow;)
    for (int64_t low = order.peak; node.work < mostWork && need(freePlan) - low > narrow;) {
      node.index = indexBelow(low + (need(freePlan) - low) / 2);
      const int64_t budget = budgetOf(node.index);
      Placed plan = placeWithRoom(node, order, order.peak + (budget - order.peak) / 2, attempt++);
      if (need(plan) <= budget)
        freePlan = std::move(plan);
      else
        low = budget;
    }
  workOfFree = node.work;
}

Frontier::Placed Frontier::flat() {
  if (!flatPlan)
    flatPlan = place(search.leanestFlat(), graph.residentBytes(), /*work=*/0);
  return flatPlan;
}

/// The ends from the top downwards, each searched with nothing known below it: `flat` where one
/// level of recomputation gains anything, then an eighth less each time, until one fails.
const Frontier::Node *Frontier::end(size_t number) {
  if (ends.empty())
    ends.push_back({indexAbove(need(free())), free(), workOfFree, usualRoom()});
  while (ends.size() <= number && !isLastEnd) {
    Node next = search.isAnnealed() ? nextByChanges(ends.back()) : nextEnd(ends.back(), 0);
    isLastEnd = !next.plan;
    workOfEnds = next.work;
    if (!isLastEnd)
      ends.push_back(std::move(next));
  }
  return number < ends.size() ? &ends[number] : nullptr;
}

/// `work` has been spent below `above` in vain.
Frontier::Node Frontier::nextEnd(const Node &above, int64_t work) {
  Node next{above.index - above.index / 8 - 1, nullptr, work};
  if (ends.size() == 1 && need(flat()) <= budgetOf(above.index - 1))
    next = {indexAbove(need(flat())), flat(), work};
  return next.index > 0 ? solve(next.index, next, above, /*deeply=*/false)
                        : Node{0, nullptr, std::max(above.work, work)};
}

/// Small changes do not lead as far in one go; what a smaller step finds is worth more than what
/// other searches do with a large one.
Frontier::Node Frontier::nextByChanges(const Node &above) {
  // The rest is left to the walk between two ends.
  const int64_t mostWork = search.workInAll() / 8 * 5;
  int64_t work = above.work;
  Node top = above; // below it packing needs more again
  top.room = std::max(above.room, usualRoom());
  for (int64_t part : {12, 24, 48, 96}) {
    Node next{above.index - above.index / part - 1, nullptr, work};
    if (next.index > 0 && work < mostWork)
      next = solveByChanges(next.index, next, top);
    if (next.plan)
      return next;
    work = next.work;
  }
  return nextEnd(above, work);
}

/// The plan for one budget of the tree: the cheapest found that costs no less than `above` and less
/// than `below`, else that of `below`.
Frontier::Node Frontier::solve(int64_t index, const Node &below, const Node &above, bool deeply) {
  if (search.isAnnealed())
    if (Node node = solveByChanges(index, below, above);
        node.plan && (!deeply || node.plan != below.plan))
      return node;
  return solveBySearch(index, below, above, deeply);
}

/// What packing loses is taken from the capacity, and the search asked again.
Frontier::Node Frontier::solveBySearch(int64_t index, const Node &below, const Node &above,
                                       bool deeply) {
  int64_t budget = budgetOf(index), target = capacityOf(budget);
  Node node{index, below.plan, std::max(below.work, above.work)};
  constexpr int mostRepairs = 3, mostPlaced = 3;
  for (int repair = 0; repair < mostRepairs; ++repair) {
    int64_t excess = INT64_MAX;
    int placed = 0;
    search.announce("schedules within " + formatByteSize(target));
    std::vector<Candidate> candidates = under(target, deeply, node.work);
    for (const Candidate &candidate : candidates) {
      if (candidate.cost < above.plan->cost)
        continue;
      if ((below.plan && candidate.cost >= below.plan->cost) || placed++ == mostPlaced)
        break;
      Placed plan = placeFor(node, candidate);
      if (need(plan) <= budget) {
        node.plan = std::move(plan);
        return node;
      }
      excess = std::min(excess, need(plan) - budget);
    }
    if (placed == 0)
      break;
    target -= excess;
  }
  return node;
}

/// What the searches by small changes for one node may spend: near the answer more than far from
/// it.
int64_t Frontier::workOfChanges(const Node &below, const Node &above) const {
  constexpr int64_t wide = 24;
  const bool isNear = below.plan && above.index - below.index <= above.index / wide;
  return search.workInAll() / (isNear ? 6 : below.plan ? 12 : 8);
}

/// Searches by small changes, again and again. What may be live follows what could be packed: a
/// little more after a packing, a little less after none. A schedule is packed only where it is
/// cheaper than what fits already.
Frontier::Node Frontier::solveByChanges(int64_t index, const Node &below, const Node &above) {
  Node node{index, below.plan, std::max(below.work, above.work), above.room};
  const int64_t budget = budgetOf(index), arena = budget - graph.residentBytes();
  const int64_t share = workOfChanges(below, above);
  const int64_t mostWork = std::min(search.workInAll(), node.work + share);
  // Parts of the arena, in thousands, to leave free. Of a large graph packing loses more at first.
  constexpr int64_t less = 5, more = 12;
  constexpr int mostVain = 4; // in a row; by then the cheapest has been found, or nothing fits
  int64_t room = below.plan ? (above.room + below.room) / 2 : above.room, unpacked = 0;
  if (Placed plan = placeAgain(node, above)) {
    node.plan = std::move(plan);
    return node;
  }
  // A node without a plan of its own is dear: what lies below it is not searched any further.
  auto isSpent = [&] {
    return node.work >= (node.plan == below.plan ? mostWork + share : mostWork);
  };
  for (int attempt = 0, vain = 0; !isSpent() && vain < mostVain; ++attempt) {
    const int64_t capacity =
        capacityOf(budget - (arena / 1000 * room + arena % 1000 * room / 1000));
    Candidate found = search.annealed(search.ordered(), capacity, above.plan->cost, attempt);
    node.work += search.workOfLast();
    if (found.peak > capacityOf(budget)) {
      // All that may be live once more; where even that is too little, the end is near.
      if (room == 0)
        break;
      room = 0;
      continue;
    }
    const bool isTooCheap = found.cost < above.plan->cost;
    if (isTooCheap || (node.plan && found.cost >= node.plan->cost)) {
      ++vain;
      room = std::max<int64_t>(0, isTooCheap ? room + more : room - less);
      continue;
    }
    vain = 0;
    Placed plan = placeWithRoom(node, std::move(found), /*limit=*/0, attempt);
    const bool fits = need(plan) <= budget;
    unpacked = fits ? 0 : unpacked + 1;
    room = std::max<int64_t>(0, fits ? room - less : room + more * std::min<int64_t>(unpacked, 2));
    node.room = room;
    if (fits)
      node.plan = std::move(plan);
    if (node.plan && node.plan->cost <= above.plan->cost)
      break;
  }
  return node;
}

/// What was made to fit a larger budget may fit the node's as well.
Frontier::Placed Frontier::placeAgain(Node &node, const Node &above) {
  const int64_t budget = budgetOf(node.index);
  const Profile usage = profile(graph, above.plan->steps);
  if (usage.peak > capacityOf(budget))
    return nullptr;
  const int64_t limit = usage.peak + (capacityOf(budget) - usage.peak) / 2;
  Placed plan = placeWithRoom(node, {above.plan->steps, usage.cost, usage.peak}, limit, 0);
  return need(plan) <= budget ? plan : nullptr;
}

/// A schedule that is as full as it may be packs badly: first, runs move to where it is less so.
Frontier::Placed Frontier::placeWithRoom(Node &node, Candidate candidate, int64_t limit,
                                         int attempt) {
  candidate = search.withRoom(std::move(candidate), limit, attempt);
  node.work += search.workOfLast();
  const int64_t budget = budgetOf(node.index);
  const int64_t ejections = mostEjections();
  Placed plan = place(candidate, budget, packWork, ejections);
  const bool fits = need(plan) <= budget;
  node.work += workOfStep * static_cast<int64_t>(candidate.steps.size());
  node.work += (workOfUnit * packWork + ejections / ejectionsOfStep) / (fits ? 2 : 1);
  return plan;
}

/// Ends where the work is spent or the costs are so close that a search costs more than it can
/// gain. Both depend on the interval alone.
Frontier::Placed Frontier::walk(int64_t index, Node below, Node above, bool deeply) {
  constexpr int32_t smallSize = 2000;
  int64_t tolerance = graph.numOps() <= smallSize ? 0 : graph.baseCost() >> 12;
  int64_t mostWork = search.isAnnealed() ? search.workInAll() : search.workInAll() / 4;
  // The walk is left what the ends did not take, and at least a part.
  const int64_t mostBefore = mostWork / 8 * 7;
  const int64_t before =
      search.isAnnealed() ? std::min(std::max(below.work, above.work), mostBefore) : 0;
  // What a search by small changes gains between budgets that are this close is luck.
  constexpr int64_t finest = 256;
  auto isNarrow = [&] {
    int64_t parts = search.isAnnealed() ? finest : INT64_MAX;
    return above.index - below.index <= std::max<int64_t>(1, below.index / parts);
  };
  below.work = above.work = before;
  while (!isNarrow() && below.plan->cost - above.plan->cost > tolerance &&
         std::max(below.work, above.work) <= mostWork) {
    int64_t middle = below.index + (above.index - below.index) / 2;
    Node node = solve(middle, below, above, deeply);
    (index < middle ? above : below) = std::move(node);
  }
  return below.plan;
}

/// From the leanest schedule down by asking for a little less, until several such steps fail.
Frontier::Placed Frontier::findLeast() {
  search.announce("the least memory");
  const std::vector<Candidate> &lean = search.leanest();
  size_t number = 0;
  while (end(number + 1))
    ++number;
  const Node &top = *end(number);
  auto isAdmitted = [&](const Candidate &candidate) { return candidate.cost >= top.plan->cost; };
  Placed best = top.plan;
  constexpr int mostPlaced = 4;
  int placed = 0;
  for (const Candidate &candidate : lean) {
    if (placed == mostPlaced || candidate.peak > need(best) + padding)
      break;
    if (!isAdmitted(candidate))
      continue;
    ++placed;
    Placed plan = place(candidate, graph.residentBytes(), packWork);
    if (std::pair(need(plan), plan->cost) < std::pair(need(best), best->cost))
      best = std::move(plan);
  }
  constexpr int32_t mostOps = 4000; // beyond, a search at the least bytes takes seconds
  if (graph.numOps() > mostOps)
    return best;
  int64_t left = search.workInAll() / 4;
  auto lower = [&](int64_t budget) {
    int64_t spent = 0;
    std::vector<Candidate> candidates = under(capacityOf(budget), /*deeply=*/true, spent);
    left -= spent;
    for (const Candidate &candidate : candidates) {
      if (!isAdmitted(candidate))
        continue;
      Placed plan = place(candidate, budget, packWork);
      left -= search.isAnnealed() ? workOfUnit * packWork : 0;
      if (std::pair(need(plan), plan->cost) >= std::pair(need(best), best->cost))
        continue;
      best = std::move(plan);
      return true;
    }
    return false;
  };
  constexpr int mostRounds = 40, coarsest = 4, finest = 12;
  int rounds = 0;
  for (int fineness = coarsest; fineness <= finest; fineness += 2)
    while (rounds++ < mostRounds && left > 0) {
      int64_t less = std::max<int64_t>((need(best) - graph.residentBytes()) >> fineness, 1);
      if (need(best) - less < graph.residentBytes() || !lower(need(best) - less))
        break;
    }
  lower(need(best)); // as lean, but cheaper
  workOfEnds += search.workInAll() / 4 - left;
  return best;
}

Frontier::Placed Frontier::least() {
  if (!leastPlan)
    leastPlan = findLeast();
  return leastPlan;
}

std::shared_ptr<const Plan> Frontier::at(int64_t budget) {
  for (Placed (Frontier::*end)() : {&Frontier::given, &Frontier::free})
    if (Placed plan = (this->*end)(); budget >= need(plan))
      return plan;
  if (budget < graph.residentBytes())
    return nullptr;
  int64_t index = indexBelow(budget);
  for (size_t number = 1; const Node *below = end(number); ++number)
    if (index >= below->index)
      return walk(index, *below, *end(number - 1), /*deeply=*/false);
  if (budget < need(least()))
    return nullptr;
  return walk(index, {indexBelow(need(least())), least(), workOfEnds}, ends.back(),
              /*deeply=*/true);
}
