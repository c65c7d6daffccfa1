//===- BudgetSearch.cpp - Schedules worth trying under a capacity ----------------===//

#include "BudgetSearch.h"
#include "Schedulers/Annealing.h"
#include "Schedulers/Editor.h"
#include "Schedulers/Eviction.h"
#include "Schedulers/ExactSearch.h"
#include "Schedulers/OrderSearch.h"
#include "Schedulers/SeriesParallel.h"
#include "llmmem/Support/ByteSize.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

using namespace llmmem;
using namespace llmmem::planning;

/// Steps looked at in the time of one change of a schedule (Annealing.h).
static constexpr int64_t workOfChange = 4;
/// Choices per part. More than the relaxation has at different prices is no use; each costs one
/// minimum cut.
static constexpr size_t mostChoices = 28;
/// Capacities at which the recursion is tabulated.
static constexpr int32_t nestedLevels = 160;
/// Longer chains are not tabulated: the work is quadratic in the number of parts even where they
/// are equal.
static constexpr int32_t mostNestedParts = 1200;

static bool isCheaper(const Candidate &a, const Candidate &b) {
  return std::tie(a.cost, a.peak) < std::tie(b.cost, b.peak);
}

static bool isLeaner(const Candidate &a, const Candidate &b) {
  return std::tie(a.peak, a.cost) < std::tie(b.peak, b.cost);
}

static bool anyFits(llvm::ArrayRef<Candidate> found, int64_t capacity) {
  return llvm::any_of(found, [&](const Candidate &other) { return other.peak <= capacity; });
}

BudgetSearch::BudgetSearch(const Graph &graph, int64_t work)
    : graph(graph), chain(findChain(graph, givenOrder(graph))), work(work),
      givenCandidate(measured(givenOrder(graph))) {}

BudgetSearch::BudgetSearch(const Graph &graph, std::vector<OpIndex> order, int64_t work)
    : graph(graph), chain(findChain(graph, order)), work(work),
      givenCandidate(measured(std::move(order))), orderedCandidate(givenCandidate) {}

BudgetSearch::~BudgetSearch() = default;

Candidate BudgetSearch::measured(std::vector<OpIndex> steps) const {
  Profile usage = profile(graph, steps);
  return {std::move(steps), usage.cost, usage.peak};
}

/// Steps of the schedules considered are the measure of work: the clock decides nothing here.
void BudgetSearch::report(llvm::StringRef searched, int64_t capacity) {
  constexpr int64_t secondOfWork = 4000000;
  if (!progress || unreported < secondOfWork)
    return;
  unreported = 0;
  std::string message;
  llvm::raw_string_ostream(message) << searched << " under " << formatByteSize(capacity);
  progress(message);
}

Candidate BudgetSearch::improved(std::vector<OpIndex> steps, int64_t capacity) {
  constexpr int64_t passes = 4; // over the steps, of about the same price
  spent += passes * static_cast<int64_t>(steps.size());
  unreported += static_cast<int64_t>(steps.size());
  dropUselessRepeats(graph, steps);
  Candidate candidate = measured(std::move(steps));
  if (candidate.peak > capacity)
    return candidate;
  keepWhatFits(graph, candidate.steps, capacity);
  return measured(std::move(candidate.steps));
}

const ChainOptions &BudgetSearch::chainOptions() {
  if (!options)
    options = std::make_unique<ChainOptions>(findOptions(graph, chain, mostChoices));
  return *options;
}

const Candidate &BudgetSearch::leanestFlat() {
  if (!flatCandidate) {
    // The last choice holds the inputs of the parts alone.
    std::vector<int32_t> inputs(chain.numParts, chainOptions().numChoices() - 1);
    flatCandidate = measured(realizeChoices(graph, chain, chainOptions(), inputs).steps);
  }
  return *flatCandidate;
}

/// One level of recomputation. The options were measured in uniform plans; where a mixed one needs
/// more than they said, ask again with that much less.
void BudgetSearch::addFlat(int64_t capacity, Candidates &found) {
  if (!program)
    program = std::make_unique<ChainProgram>(chainOptions(), givenCandidate.peak);
  int64_t target = capacity;
  constexpr int mostTries = 5;
  for (int attempt = 0; attempt < mostTries; ++attempt) {
    std::optional<std::vector<int32_t>> chosen = program->choose(target);
    if (!chosen)
      return;
    found.push_back(improved(realizeChoices(graph, chain, *options, *chosen).steps, capacity));
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
    int64_t low = graph.residentBytes(), floor = leanestFlat().peak;
    constexpr int halvings = 5;
    for (int index = halvings; index >= 0; --index)
      tableCapacities.push_back(low + (((floor - low) / 8 * 9) >> index));
    while (tableCapacities.back() < givenCandidate.peak)
      tableCapacities.push_back(tableCapacities.back() + (tableCapacities.back() - low) / 3 + 1);
    tables.resize(tableCapacities.size());
  }
  size_t index = llvm::lower_bound(tableCapacities, capacity) - tableCapacities.begin();
  return std::min(index, tables.size() - 1);
}

NestedProgram &BudgetSearch::table(size_t index) {
  if (!tables[index])
    tables[index] = std::make_unique<NestedProgram>(graph, chain, chainOptions(),
                                                    tableCapacities[index], nestedLevels);
  return *tables[index];
}

/// Levels from the capacity's own downwards, until a few fit: the model is near what is realized,
/// not equal.
void BudgetSearch::addNested(int64_t capacity, Candidates &found) {
  if (chain.numParts > mostNestedParts)
    return;
  NestedProgram &nested = table(tableFor(capacity));
  // A small problem's levels cost next to nothing, and far below one may realize better.
  constexpr int32_t above = 2, smallSize = 300;
  const int32_t mostTries = graph.numOps() <= smallSize ? nested.numLevels() : 20;
  const int32_t mostFitting = graph.numOps() <= smallSize ? 40 : 3;
  int32_t fitting = 0;
  int64_t last = -1;
  int32_t start = std::min(nested.levelOf(capacity) + above, nested.numLevels() - 1);
  for (int32_t level = start; level >= std::max(0, start - mostTries) && fitting < mostFitting;
       --level) {
    int64_t cost = nested.cost(level);
    if (cost < 0)
      return;
    if (cost == last)
      continue;
    last = cost;
    found.push_back(improved(nested.realizeLevel(level).steps, capacity));
    report("nested recomputation", capacity);
    fitting += found.back().peak <= capacity;
  }
}

bool BudgetSearch::isCloseToBound(int64_t capacity, const Candidates &found, int64_t best) {
  for (const Candidate &candidate : found)
    if (candidate.peak <= capacity)
      best = std::min(best, candidate.cost);
  if (best == INT64_MAX)
    return false;
  if (!relaxation)
    relaxation = std::make_unique<CutRelaxation>(graph, findCutOp(graph, chain));
  int64_t bound = graph.baseCost() + relaxation->costLowerBound(capacity).value_or(0);
  constexpr int64_t closeEnough = 400; // a quarter of a percent of the step
  return best - bound <= graph.baseCost() / closeEnough;
}

/// Exact where the graph is small or series-parallel, else searched.
std::vector<OpIndex> BudgetSearch::findOrder() const {
  ExactAnswer exact = leastPeakExactly(graph, {.repeats = false, .work = work / 4});
  if (exact.kind == ExactAnswer::Kind::Found)
    return std::move(exact.steps);
  if (std::optional<std::vector<OpIndex>> order = leastPeakSeriesParallel(graph))
    return *std::move(order);
  return improveOrder(graph, givenOrder(graph), work / 4);
}

const Candidate &BudgetSearch::ordered() {
  if (!orderedCandidate) {
    announce("an order that holds less");
    orderedCandidate = measured(findOrder());
    if (orderedCandidate->peak >= givenCandidate.peak)
      orderedCandidate = givenCandidate;
  }
  return *orderedCandidate;
}

const Candidate &BudgetSearch::annealedOrder() {
  if (!annealedCandidate) {
    annealedCandidate = ordered();
    if (isAnnealed()) {
      std::vector<OpIndex> order = ordered().steps;
      annealOrder(graph, order, graph.residentBytes(), work / workOfChange / 16);
      annealedCandidate = measured(std::move(order));
    }
  }
  return *annealedCandidate;
}

/// Many short searches find more than a long one: where each ends is luck.
int64_t BudgetSearch::changesOfAttempt() const {
  constexpr int64_t perOp = 300, shares = 20;
  return std::min(work / workOfChange / shares, perOp * graph.numOps());
}

Candidate BudgetSearch::annealed(const Candidate &start, int64_t capacity, int64_t enough,
                                 int attempt) {
  announce("small changes under " + formatByteSize(capacity));
  const int64_t changes = changesOfAttempt();
  lastSpent = changes * workOfChange;
  Candidate candidate = start;
  annealSchedule(graph, candidate.steps, capacity, enough, changes, attempt);
  return measured(std::move(candidate.steps));
}

Candidate BudgetSearch::withRoom(Candidate candidate, int64_t limit, int attempt) {
  const int64_t changes = changesOfAttempt() / 4;
  lastSpent = changes * workOfChange;
  makeRoom(graph, candidate.steps, limit, changes, attempt);
  return measured(std::move(candidate.steps));
}

/// How many ops in a row may run again for one value. In a chain the way back to what is held leads
/// through whole blocks, and at the least memory it must be gone; in other graphs long ways never
/// paid.
int BudgetSearch::evictionDepth() const {
  constexpr int shallow = 12, deep = 2000;
  return chain.isGuess ? shallow : deep;
}

/// For graphs that are no chains, and for chains small enough that a second opinion costs little.
void BudgetSearch::addEvicted(int64_t capacity, Candidates &found) {
  constexpr int32_t cheapSize = 1200;
  if (graph.numOps() > cheapSize && anyFits(found, capacity))
    return;
  std::vector<std::vector<OpIndex>> starts{givenCandidate.steps};
  if (ordered().peak < givenCandidate.peak)
    starts.push_back(ordered().steps);
  if (annealedOrder().peak < ordered().peak)
    starts.push_back(annealedOrder().steps);
  for (std::vector<OpIndex> &start : starts) {
    announce("eviction under " + formatByteSize(capacity));
    int64_t left = work / 8;
    bool fits = evictUntilFits(graph, start, capacity, evictionDepth(), left);
    spent += work / 8 - left;
    report("eviction", capacity);
    if (fits)
      found.push_back(improved(std::move(start), capacity));
  }
}

std::vector<Candidate> BudgetSearch::under(int64_t capacity, bool deeply, int64_t known) {
  lastSpent = 0;
  // Order first: it is free.
  if (givenCandidate.peak <= capacity)
    return {givenCandidate};
  if (ordered().peak <= capacity)
    return {ordered()};
  if (deeply)
    leanest();
  int64_t before = spent; // what is made once does not count as this capacity's
  Candidates found;
  addFlat(capacity, found);
  if (!isCloseToBound(capacity, found, known)) {
    addNested(capacity, found);
    addEvicted(capacity, found);
  }
  if (deeply) {
    const Candidate *best = nullptr;
    for (const Candidate &candidate : leanest())
      if (candidate.peak <= capacity && (!best || isCheaper(candidate, *best)))
        best = &candidate;
    if (best)
      found.push_back(improved(best->steps, capacity));
  }
  llvm::erase_if(found, [&](const Candidate &candidate) { return candidate.peak > capacity; });
  llvm::stable_sort(found, isCheaper);
  lastSpent = spent - before;
  return found;
}

/// Every level of the leanest table that has a plan, and of the next: down to the least memory.
void BudgetSearch::addEveryLevel() {
  size_t last = tableFor(leanestFlat().peak), index = 0;
  auto hasPlan = [&](NestedProgram &nested) { return nested.cost(nested.numLevels() - 1) >= 0; };
  while (index < last && !hasPlan(table(index)))
    ++index;
  for (size_t end = std::min(index + 1, last); index <= end; ++index) {
    NestedProgram &nested = table(index);
    int64_t lastCost = -1;
    constexpr int32_t fewLevels = 200;
    int32_t stride = std::max(1, nested.numLevels() / fewLevels);
    for (int32_t level = 0; level < nested.numLevels(); ++level) {
      int64_t cost = nested.cost(level);
      if (cost < 0 || cost == lastCost || (lastCost >= 0 && level % stride != 0))
        continue;
      lastCost = cost;
      lean.push_back(improved(nested.realizeLevel(level).steps, 0));
      report("the least memory", tableCapacities[index]);
    }
  }
}

/// From the leanest schedule found, by eviction and small steps, as far down as it goes.
void BudgetSearch::descend() {
  constexpr size_t mostSteps = 8000; // each try is a profile
  std::vector<OpIndex> steps = llvm::min_element(lean, isLeaner)->steps;
  if (steps.size() > mostSteps)
    return;
  constexpr int64_t descents = 100;
  int64_t peak = profile(graph, steps).peak;
  int64_t width = std::max<int64_t>(1, (peak - graph.residentBytes()) / descents);
  for (int64_t left = work / 4; left > 0;) {
    int64_t target = profile(graph, steps).peak - width;
    if (target < graph.residentBytes() ||
        !evictUntilFits(graph, steps, target, evictionDepth(), left))
      return;
    lean.push_back(improved(std::vector<OpIndex>(steps), target));
    report("eviction", target);
  }
}

const std::vector<Candidate> &BudgetSearch::leanest() {
  if (!lean.empty())
    return lean;
  lean = {givenCandidate, ordered(), leanestFlat()};
  if (chain.numParts <= mostNestedParts)
    addEveryLevel();
  descend();
  llvm::stable_sort(lean, isLeaner);
  return lean;
}
