//===- BudgetSearch.cpp - The cheapest schedule found under a capacity ----------===//

#include "BudgetSearch.h"
#include "../Solvers/ChainProgram.h"
#include "../Solvers/Editor.h"
#include "../Solvers/Eviction.h"
#include "../Solvers/ExactSearch.h"
#include "../Solvers/OrderSearch.h"
#include "llmmem/Planning/ByteSize.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

using namespace llmmem::planning;

/// Choices per part. More than the relaxation has at different prices is no use; each costs one
/// minimum cut.
static constexpr size_t mostChoices = 28;
/// Capacities at which the recursion is tabulated.
static constexpr int32_t nestedLevels = 160;
/// Longer chains are not tabulated: the work is quadratic in the number of parts even where they
/// are equal.
static constexpr int32_t mostNestedParts = 1200;

BudgetSearch::BudgetSearch(const Graph &graph, int64_t work)
    : graph(graph), chain(findChain(graph, givenOrder(graph))), work(work) {
  std::vector<OpIndex> order = givenOrder(graph);
  Profile usage = profile(graph, order);
  keepPeak = usage.peak;
  found.push_back({std::move(order), usage.cost, usage.peak});
}

BudgetSearch::~BudgetSearch() = default;

const Candidate *BudgetSearch::cheapest(int64_t capacity) const {
  const Candidate *best = nullptr;
  for (const Candidate &candidate : found)
    if (candidate.peak <= capacity &&
        (!best || candidate.cost < best->cost ||
         (candidate.cost == best->cost && candidate.peak < best->peak)))
      best = &candidate;
  return best;
}

/// Steps of the schedules considered are the measure of work: the clock decides nothing here.
void BudgetSearch::report(llvm::StringRef searched, int64_t capacity) {
  constexpr int64_t secondOfWork = 4000000;
  if (!progress || unreported < secondOfWork)
    return;
  unreported = 0;
  std::string message;
  llvm::raw_string_ostream os(message);
  os << searched << " under " << formatByteSize(capacity) << ": " << found.size()
     << " schedules so far, ";
  if (const Candidate *best = cheapest(capacity))
    os << llvm::format("the best recomputes %.2f %%",
                       100.0 * double(best->cost - graph.baseCost()) /
                           double(std::max<int64_t>(graph.baseCost(), 1)));
  else
    os << "none fits";
  progress(message);
}

void BudgetSearch::consider(std::vector<OpIndex> steps, int64_t capacity) {
  unreported += static_cast<int64_t>(steps.size());
  dropUselessRepeats(graph, steps);
  Profile usage = profile(graph, steps);
  if (usage.peak <= capacity) {
    keepWhatFits(graph, steps, capacity);
    usage = profile(graph, steps);
  }
  found.push_back({std::move(steps), usage.cost, usage.peak});
}

/// One level of recomputation. The options were measured in uniform plans; where a mixed one needs
/// more than they said, ask again with that much less.
void BudgetSearch::solveFlat(int64_t capacity) {
  int64_t target = capacity;
  constexpr int mostTries = 5;
  for (int attempt = 0; attempt < mostTries; ++attempt) {
    std::optional<std::vector<int32_t>> chosen = chooseOptions(*options, target);
    if (!chosen)
      return;
    consider(realizeChoices(graph, chain, *options, *chosen).steps, capacity);
    report("options per part", capacity);
    int64_t excess = found.back().peak - capacity;
    if (excess <= 0)
      return;
    target -= excess;
  }
}

/// The recursion's tables are for fixed capacities, so that what is found at one budget does not
/// hang on another's; each is as fine as its capacity is small.
size_t BudgetSearch::tableFor(int64_t capacity) {
  if (tableCapacities.empty()) {
    int64_t low = graph.residentBytes();
    constexpr int halvings = 5;
    for (int index = halvings; index >= 0; --index)
      tableCapacities.push_back(low + (((flatFloor - low) / 8 * 9) >> index));
    while (tableCapacities.back() < keepPeak)
      tableCapacities.push_back(tableCapacities.back() + (tableCapacities.back() - low) / 3 + 1);
    tables.resize(tableCapacities.size());
  }
  size_t index = llvm::lower_bound(tableCapacities, capacity) - tableCapacities.begin();
  return std::min(index, tables.size() - 1);
}

NestedProgram &BudgetSearch::table(size_t index) {
  if (!tables[index])
    tables[index] = std::make_unique<NestedProgram>(graph, chain, *options, tableCapacities[index],
                                                    nestedLevels);
  return *tables[index];
}

/// Levels from the capacity's own downwards, until a few fit: the model is near what is realized,
/// not equal.
void BudgetSearch::solveNested(int64_t capacity) {
  NestedProgram &program = table(tableFor(capacity));
  constexpr int32_t above = 2, mostTries = 20;
  int fitting = 0;
  int64_t last = -1;
  int32_t start = std::min(program.levelOf(capacity) + above, program.numLevels() - 1);
  for (int32_t level = start; level >= std::max(0, start - mostTries) && fitting < 3; --level) {
    int64_t cost = program.cost(level);
    if (cost < 0)
      return;
    if (cost == last)
      continue;
    last = cost;
    consider(program.realizeLevel(level).steps, capacity);
    report("nested recomputation", capacity);
    fitting += found.back().peak <= capacity;
  }
}

/// Every level of the leanest table that has a plan, and of the next: down to the least memory.
void BudgetSearch::solveAllNested() {
  if (hasAllNested)
    return;
  hasAllNested = true;
  size_t last = tableFor(flatFloor), index = 0;
  auto hasPlan = [&](NestedProgram &program) { return program.cost(program.numLevels() - 1) >= 0; };
  while (index < last && !hasPlan(table(index)))
    ++index;
  for (size_t end = std::min(index + 1, last); index <= end; ++index) {
    NestedProgram &program = table(index);
    int64_t lastCost = -1;
    constexpr int32_t fewLevels = 200;
    int32_t stride = std::max(1, program.numLevels() / fewLevels);
    for (int32_t level = 0; level < program.numLevels(); ++level) {
      int64_t cost = program.cost(level);
      if (cost < 0 || cost == lastCost || (lastCost >= 0 && level % stride != 0))
        continue;
      lastCost = cost;
      consider(program.realizeLevel(level).steps, 0);
      report("the least memory", tableCapacities[index]);
    }
  }
}

bool BudgetSearch::isCloseToBound(int64_t capacity) {
  const Candidate *candidate = cheapest(capacity);
  if (!candidate)
    return false;
  if (!relaxation)
    relaxation = std::make_unique<CutRelaxation>(graph, findCutOp(graph, chain));
  int64_t bound = graph.baseCost() + relaxation->costLowerBound(capacity).value_or(0);
  constexpr int64_t closeEnough = 400; // a quarter of a percent of the step
  return candidate->cost - bound <= graph.baseCost() / closeEnough;
}

/// Order first: it is free.
void BudgetSearch::solveOrder() {
  if (hasOrder)
    return;
  hasOrder = true;
  std::vector<OpIndex> order;
  ExactAnswer exact = leastPeakExactly(graph, {.repeats = false, .work = work / 4});
  if (exact.kind == ExactAnswer::Kind::Found)
    order = std::move(exact.steps);
  else
    order = improveOrder(graph, givenOrder(graph), work / 4);
  Profile usage = profile(graph, order);
  if (usage.peak < keepPeak)
    found.push_back({std::move(order), usage.cost, usage.peak});
}

const Candidate *BudgetSearch::withoutRepeats() {
  solveOrder();
  const Candidate *best = &found.front();
  for (const Candidate &candidate : found)
    if (candidate.cost == graph.baseCost() && candidate.peak < best->peak)
      best = &candidate;
  return best;
}

/// For graphs that are no chains, and for chains small enough that a second opinion costs little.
void BudgetSearch::solveByEviction(int64_t capacity) {
  constexpr int32_t cheapSize = 1200;
  if (graph.numOps() > cheapSize && cheapest(capacity))
    return;
  std::vector<std::vector<OpIndex>> starts{givenOrder(graph)};
  const Candidate *ordered = withoutRepeats();
  if (ordered->peak < keepPeak)
    starts.push_back(ordered->steps);
  for (std::vector<OpIndex> &start : starts)
    if (evictUntilFits(graph, start, capacity, work / 2)) {
      consider(std::move(start), capacity);
      report("eviction", capacity);
    }
}

const Candidate *BudgetSearch::leastFound() const {
  const Candidate *least = nullptr;
  for (const Candidate &candidate : found)
    if (!least || std::tie(candidate.peak, candidate.cost) < std::tie(least->peak, least->cost))
      least = &candidate;
  return least;
}

/// From the leanest schedule found, by eviction and small steps, down to `capacity` or as far as it
/// goes.
void BudgetSearch::descend(int64_t capacity) {
  constexpr int32_t mostSteps = 8000; // each try is a profile
  if (hasDescended || leastFound()->steps.size() > mostSteps)
    return;
  hasDescended = true;
  constexpr int64_t descents = 100;
  int64_t width = std::max<int64_t>(1, (leastFound()->peak - graph.residentBytes()) / descents);
  std::vector<OpIndex> steps = leastFound()->steps;
  int64_t left = work;
  while (left > 0) {
    int64_t target = profile(graph, steps).peak - width;
    left -= work / 16;
    if (target < graph.residentBytes() || !evictUntilFits(graph, steps, target, work / 16))
      return;
    consider(std::vector<OpIndex>(steps), target);
    report("eviction", target);
    if (target < capacity)
      return;
  }
}

/// Every way that there is, for one capacity.
void BudgetSearch::solve(int64_t capacity) {
  if (!solved.insert(capacity).second)
    return;
  solveFlat(capacity);
  if (isCloseToBound(capacity))
    return;
  if (chain.numParts <= mostNestedParts)
    solveNested(capacity);
  solveByEviction(capacity);
}

const Candidate *BudgetSearch::best(int64_t capacity) {
  if (keepPeak > capacity)
    solveOrder();
  if (const Candidate *free = cheapest(capacity); free && free->cost == graph.baseCost())
    return free;
  if (!options) {
    options = std::make_unique<ChainOptions>(findOptions(graph, chain, mostChoices));
    // The last choice holds the inputs of the parts alone.
    std::vector<int32_t> lean(chain.numParts, options->numChoices() - 1);
    flatFloor = profile(graph, realizeChoices(graph, chain, *options, lean).steps).peak;
  }
  solve(capacity);
  // Fixed capacities below: a plan for less room that happens to be cheaper is a plan for more.
  constexpr int64_t rungs = 80;
  constexpr int32_t smallSize = 3000, largeSize = 20000;
  int64_t low = graph.residentBytes();
  int64_t width = std::max<int64_t>(1, (keepPeak - low) / rungs);
  int64_t rung = capacity < low ? -1 : (capacity - low) / width;
  int64_t window = graph.numOps() <= 300         ? rungs
                   : graph.numOps() <= smallSize ? 2
                   : graph.numOps() <= largeSize ? 1
                                                 : 0;
  for (int64_t index = rung; index > std::max<int64_t>(-1, rung - window); --index)
    solve(low + index * width);
  if (!cheapest(capacity) && chain.numParts <= mostNestedParts) {
    solveAllNested();
    if (const Candidate *nested = cheapest(capacity))
      consider(std::vector<OpIndex>(nested->steps), capacity);
  }
  if (!cheapest(capacity))
    descend(capacity);
  return cheapest(capacity);
}

void BudgetSearch::charge(const Candidate *candidate, int64_t bytes) {
  Candidate &placed = found[candidate - found.data()];
  placed.peak = std::max(placed.peak, bytes);
}

const Candidate *BudgetSearch::leastPeak() {
  best(graph.residentBytes());
  if (options && chain.numParts <= mostNestedParts)
    solveAllNested();
  descend(graph.residentBytes());
  return leastFound();
}
