//===- BudgetSearch.cpp - Candidate schedules under a capacity -------------------===//

#include "BudgetSearch.h"
#include "Schedulers/Annealing.h"
#include "Schedulers/DeferredOrder.h"
#include "Schedulers/Editor.h"
#include "Schedulers/ExactSearch.h"
#include "Schedulers/LaterRuns.h"
#include "Schedulers/OrderSearch.h"
#include "Schedulers/Recreate.h"
#include "Schedulers/SeriesParallel.h"
#include "Structure/StepChain.h"
#include "llmmem/Support/ByteSize.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

using namespace llmmem;
using namespace llmmem::planning;

/// Steps visited in the time of one annealing move (Annealing.h).
static constexpr int64_t workOfMove = 4;
/// Choices per stage. The relaxation has few more at different prices, and each costs one minimum
/// cut.
static constexpr size_t mostChoices = 28;
/// Levels (capacities) at which the recursion is tabulated.
static constexpr int32_t nestedLevels = 160;
/// Longer chains are not tabulated: the work is quadratic in the number of stages even where they
/// are all equal.
static constexpr int32_t mostNestedStages = 1200;

/// Up to so many ops, searching in more ways than one takes little time.
static constexpr int32_t smallSize = 300;

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
    : BudgetSearch(graph, chooseChain(graph), work) {}

BudgetSearch::BudgetSearch(const Graph &graph, Chain known, int64_t work)
    : graph(graph), chain(std::move(known)), work(work),
      givenCandidate(measured(givenOrder(graph))), chainCandidate(measured(chain.order)) {}

BudgetSearch::BudgetSearch(const Graph &graph, std::vector<OpIndex> order, int64_t work)
    : graph(graph), chain(findChain(graph, order)), work(work),
      givenCandidate(measured(std::move(order))), chainCandidate(givenCandidate),
      orderedCandidate(givenCandidate) {}

BudgetSearch::~BudgetSearch() = default;

std::unique_ptr<BudgetSearch> BudgetSearch::deferred() {
  std::vector<OpIndex> order = deferFullest(graph, chain);
  return order.empty() ? nullptr : std::make_unique<BudgetSearch>(graph, std::move(order), work);
}

Candidate BudgetSearch::measured(std::vector<OpIndex> steps) const {
  Profile usage = profile(graph, steps);
  return {std::move(steps), usage.cost, usage.peak};
}

/// Work is counted in steps of the schedules considered, never in time.
void BudgetSearch::report(llvm::StringRef searched, int64_t capacity) {
  graph.poll();
  constexpr int64_t secondOfWork = 4000000;
  if (!progress || unreported < secondOfWork)
    return;
  unreported = 0;
  std::string message;
  llvm::raw_string_ostream(message) << searched << " under " << formatByteSize(capacity);
  progress(message);
}

Candidate BudgetSearch::improved(std::vector<OpIndex> steps, int64_t capacity) {
  constexpr int64_t passes = 4; // over the steps, each of about the same time
  spent += passes * static_cast<int64_t>(steps.size());
  unreported += static_cast<int64_t>(steps.size());
  dropUselessRepeats(graph, steps);
  Candidate candidate = measured(std::move(steps));
  if (candidate.peak > capacity)
    return candidate;
  if (keepWhatFits(graph, candidate.steps, capacity))
    return measured(std::move(candidate.steps));
  return candidate;
}

const ChainOptions &BudgetSearch::chainOptions() {
  if (!options)
    options = std::make_unique<ChainOptions>(findOptions(graph, chain, mostChoices));
  return *options;
}

const Candidate &BudgetSearch::leanestFlat() {
  if (!flatCandidate) {
    // The last choice holds the inputs of the stages alone.
    std::vector<int32_t> inputs(chain.numStages, chainOptions().numChoices() - 1);
    flatCandidate = measured(realizeChoices(graph, chain, chainOptions(), inputs).steps);
  }
  return *flatCandidate;
}

/// One level of recomputation. The options were measured in uniform plans. Where a mixed plan needs
/// more than measured, the choice is repeated with the target lowered by the excess.
void BudgetSearch::addFlat(int64_t capacity, Candidates &found) {
  if (!program)
    program = std::make_unique<ChainProgram>(chainOptions(), chainCandidate.peak);
  int64_t target = capacity;
  constexpr int mostTries = 5;
  for (int attempt = 0; attempt < mostTries; ++attempt) {
    std::optional<std::vector<int32_t>> chosen = program->choose(target);
    if (!chosen)
      return;
    found.push_back(improved(realizeChoices(graph, chain, *options, *chosen).steps, capacity));
    report("options per stage", capacity);
    int64_t excess = found.back().peak - capacity;
    if (excess <= 0)
      return;
    target -= excess;
  }
}

/// The recursion's tables have fixed capacities, so that the result at one budget does not depend
/// on another; smaller capacities have finer tables.
size_t BudgetSearch::tableFor(int64_t capacity) {
  if (tableCapacities.empty()) {
    int64_t low = graph.residentBytes(), flatPeak = leanestFlat().peak;
    constexpr int halvings = 5;
    for (int index = halvings; index >= 0; --index)
      tableCapacities.push_back(low + (((flatPeak - low) / 8 * 9) >> index));
    while (tableCapacities.back() < chainCandidate.peak)
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

/// Realizes levels from that of the capacity downwards until a few fit: the modelled peak is close
/// to the real one but not equal.
void BudgetSearch::addNested(int64_t capacity, Candidates &found) {
  if (chain.numStages > mostNestedStages)
    return;
  NestedProgram &nested = table(tableFor(capacity));
  // A small problem's levels take little time, and one far below may give a better schedule.
  constexpr int32_t above = 2;
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

int64_t BudgetSearch::leastCostUnder(int64_t budget) {
  if (!relaxation)
    relaxation = std::make_unique<CutRelaxation>(graph, findCutOp(graph, chain));
  return graph.baseCost() + relaxation->costLowerBound(budget).value_or(0);
}

int64_t BudgetSearch::costBound(int64_t capacity) {
  if (lastBound.first != capacity)
    lastBound = {capacity, leastCostUnder(capacity)};
  return lastBound.second;
}

bool BudgetSearch::isCloseToBound(int64_t capacity, const Candidates &found, int64_t best) {
  for (const Candidate &candidate : found)
    if (candidate.peak <= capacity)
      best = std::min(best, candidate.cost);
  constexpr int64_t closeEnough = 400; // a quarter of a percent of the step
  return best != INT64_MAX && best - costBound(capacity) <= graph.baseCost() / closeEnough;
}

/// An exact order where the graph is small or series-parallel, else the best one found.
std::vector<OpIndex> BudgetSearch::findOrder() const {
  ExactAnswer exact = leastPeakExactly(graph, {.repeats = false, .work = work / 4});
  if (exact.kind == ExactAnswer::Kind::Found)
    return std::move(exact.steps);
  if (std::optional<std::vector<OpIndex>> order = leastPeakSeriesParallel(graph))
    return *std::move(order);
  return improveOrder(
      graph, isLeaner(chainCandidate, givenCandidate) ? chain.order : givenOrder(graph), work / 4);
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
      annealOrder(graph, order, graph.residentBytes(), work / workOfMove / 16);
      annealedCandidate = measured(std::move(order));
    }
  }
  return *annealedCandidate;
}

/// Many short searches with different seeds find more than a long one.
int64_t BudgetSearch::movesOfAttempt() const {
  constexpr int64_t perOp = 300, attempts = 20;
  return std::min(work / workOfMove / attempts, perOp * graph.numOps());
}

Candidate BudgetSearch::annealed(const Candidate &start, int64_t capacity, int64_t enough,
                                 int attempt) {
  announce("annealing under " + formatByteSize(capacity));
  const int64_t moves = movesOfAttempt();
  lastSpent = moves * workOfMove;
  Candidate candidate = start;
  annealSchedule(graph, candidate.steps, capacity, enough, moves, attempt);
  return measured(std::move(candidate.steps));
}

Candidate BudgetSearch::withHeadroom(Candidate candidate, int64_t limit, int attempt) {
  const int64_t moves = movesOfAttempt() / 4;
  lastSpent = moves * workOfMove;
  makeHeadroom(graph, candidate.steps, limit, moves, attempt);
  return measured(std::move(candidate.steps));
}

std::vector<Candidate> BudgetSearch::recreated(const Candidate &start, int64_t capacity,
                                               int64_t rounds) {
  lastSpent = 0;
  std::vector<Candidate> found;
  if (start.peak > capacity || start.cost == graph.baseCost() || isAnnealed())
    return found;
  announce("cheaper recomputation under " + formatByteSize(capacity));
  const int64_t mostWork = std::min(work / 40, rounds * graph.numOps());
  int64_t left = mostWork;
  for (std::vector<OpIndex> &steps : recreate(graph, start.steps, capacity, evictionDepth(), left))
    found.push_back(measured(std::move(steps)));
  std::reverse(found.begin(), found.end());
  lastSpent = mostWork - left;
  return found;
}

std::optional<Candidate> BudgetSearch::lowered(const Candidate &start, int64_t capacity,
                                               int64_t rounds) {
  lastSpent = 0;
  if (isAnnealed())
    return std::nullopt;
  announce("the least memory, below " + formatByteSize(capacity));
  const int64_t mostWork = std::min(work / 40, rounds * graph.numOps());
  int64_t left = mostWork;
  std::optional<std::vector<OpIndex>> steps =
      recreateLower(graph, laterRuns(start.steps), capacity, evictionDepth(), left);
  lastSpent = mostWork - left;
  return steps ? std::optional(measured(*std::move(steps))) : std::nullopt;
}

/// How many ancestors in a row may run again for one value. In a chain the path back to a held
/// value leads through whole blocks, and the least memory needs it; in other graphs long paths
/// never helped.
int BudgetSearch::evictionDepth() const {
  constexpr int shallow = 12, deep = 2000;
  return chain.isGuess ? shallow : deep;
}

/// The schedule that eviction from an order is at when it gets to `capacity`. Rungs lie at fixed
/// capacities, so that the result at one budget does not depend on another.
EvictionPath &BudgetSearch::rungAbove(EvictionLadder &ladder, int64_t capacity) {
  const int64_t resident = graph.residentBytes();
  size_t rung = 0;
  for (int64_t limit = ladder.peak;;) {
    limit = resident + (limit - resident) / 8 * 7;
    if (limit < capacity || limit == resident)
      return ladder.rungs[rung];
    if (++rung < ladder.rungs.size())
      continue;
    std::vector<OpIndex> steps;
    if (ladder.left <= 0 ||
        !evictUntilFits(graph, ladder.rungs.back(), limit, evictionDepth(), ladder.left, steps)) {
      ladder.left = 0;
      return ladder.rungs.back();
    }
    ladder.rungs.emplace_back(std::move(steps));
  }
}

/// From each order that holds less than those before it.
void BudgetSearch::makeLadders() {
  std::vector<const Candidate *> starts{&chainCandidate};
  if (givenCandidate.peak < chainCandidate.peak)
    starts.push_back(&givenCandidate);
  if (ordered().peak < givenCandidate.peak)
    starts.push_back(&ordered());
  if (annealedOrder().peak < ordered().peak)
    starts.push_back(&annealedOrder());
  for (const Candidate *start : starts)
    if (llvm::none_of(ladders, [&](const EvictionLadder &other) {
          return other.rungs.front().start() == start->steps;
        }))
      ladders.push_back({start->peak, work / 8, {EvictionPath(start->steps)}});
}

bool BudgetSearch::addEvictedFrom(EvictionPath &path, int64_t capacity, Candidates &found) {
  announce("eviction under " + formatByteSize(capacity));
  int64_t left = work / 8;
  std::vector<OpIndex> steps;
  const bool fits = evictUntilFits(graph, path, capacity, evictionDepth(), left, steps);
  spent += work / 8 - left;
  report("eviction", capacity);
  if (fits)
    found.push_back(improved(std::move(steps), capacity));
  return fits;
}

/// For graphs that are not chains, and for chains small enough that another search costs little.
void BudgetSearch::addEvicted(int64_t capacity, Candidates &found) {
  constexpr int32_t cheapSize = 1200;
  if (graph.numOps() > cheapSize && anyFits(found, capacity))
    return;
  if (ladders.empty())
    makeLadders();
  for (EvictionLadder &ladder : ladders) {
    EvictionPath &rung = rungAbove(ladder, capacity);
    const bool fits = addEvictedFrom(rung, capacity, found);
    // What was evicted for a rung may be in the way, and few ops take little time.
    if (&rung != &ladder.rungs.front() && (!fits || graph.numOps() <= smallSize))
      addEvictedFrom(ladder.rungs.front(), capacity, found);
  }
}

std::vector<Candidate> BudgetSearch::under(int64_t capacity, bool deeply, int64_t known) {
  lastSpent = 0;
  // A better order costs nothing, so it is tried first.
  if (givenCandidate.peak <= capacity)
    return {givenCandidate};
  if (ordered().peak <= capacity)
    return {ordered()};
  if (deeply)
    leanest();
  int64_t before = spent; // results computed once for all capacities do not count
  Candidates found;
  addFlat(capacity, found);
  // Nearer to the bound the longer searches found nothing that is cheaper by a tenth of a percent.
  auto isFar = [&] { return !isCloseToBound(capacity, found, known); };
  // Guessed stages are many and unequal: their table takes longer than eviction, which seldom finds
  // less.
  if (!chain.isGuess && isFar())
    addNested(capacity, found);
  if (isFar())
    addEvicted(capacity, found);
  if (chain.isGuess && !anyFits(found, capacity))
    addNested(capacity, found);
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

/// Realizes every level of the smallest table that has a plan, and of the next table, down to the
/// least memory.
void BudgetSearch::addEveryLevel() {
  size_t last = tableFor(leanestFlat().peak), index = 0;
  while (index < last && !table(index).hasPlan())
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

/// Each attempt to lower a peak computes profiles, or looks for readers from each run on.
static constexpr size_t mostSteps = 8000;

/// Of the same peak or a lower one.
std::vector<OpIndex> BudgetSearch::laterRuns(const std::vector<OpIndex> &steps) const {
  if (steps.size() > mostSteps)
    return steps;
  std::vector<OpIndex> later = runLater(graph, steps);
  return profile(graph, later).peak <= profile(graph, steps).peak ? later : steps;
}

/// Lowers the least peak found by eviction, in small steps, until eviction fails.
void BudgetSearch::descend() {
  const Candidate *start = nullptr;
  for (const Candidate &candidate : lean)
    if (candidate.steps.size() <= mostSteps && (!start || isLeaner(candidate, *start)))
      start = &candidate;
  if (!start)
    return;
  std::vector<OpIndex> steps = start->steps;
  constexpr int64_t descents = 100;
  int64_t peak = start->peak;
  const int64_t width = std::max<int64_t>(1, (peak - graph.residentBytes()) / descents);
  bool hasRunLater = false; // since anything was evicted
  std::vector<int64_t> targets;
  for (int64_t left = work / 4; left > 0;) {
    const int64_t target = peak - width;
    if (target < graph.residentBytes())
      break;
    if (!evictUntilFits(graph, steps, target, evictionDepth(), left)) {
      // What may not run again is not evicted: it stays in the way unless it runs later. Once, as
      // runs that pass each other would do so forever.
      if (hasRunLater)
        break;
      std::vector<OpIndex> later = laterRuns(steps);
      if (later == steps)
        break;
      steps = std::move(later);
      peak = profile(graph, steps).peak;
      hasRunLater = true;
      continue;
    }
    hasRunLater = false;
    lean.push_back(measured(steps));
    peak = lean.back().peak;
    targets.push_back(target);
    report("eviction", target);
  }
  improveLast(targets);
}

/// The leanest alone are placed as they are: whoever takes others improves them then.
void BudgetSearch::improveLast(llvm::ArrayRef<int64_t> targets) {
  constexpr size_t most = 4;
  targets = targets.take_back(most);
  for (size_t at = 0; at < targets.size(); ++at) {
    Candidate &candidate = lean[lean.size() - targets.size() + at];
    candidate = improved(std::move(candidate.steps), targets[at]);
  }
}

const std::vector<Candidate> &BudgetSearch::leanest() {
  if (!lean.empty())
    return lean;
  lean = {givenCandidate, chainCandidate, ordered(), leanestFlat()};
  if (chain.numStages <= mostNestedStages)
    addEveryLevel();
  descend();
  llvm::stable_sort(lean, isLeaner);
  return lean;
}
