//===- StrategySearch.cpp - The strategy of the least modelled time --------===//

#include "llmmem/Strategies/StrategySearch.h"
#include "StrategyCosts.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Strategies/EqualBlocks.h"
#include "llmmem/Transforms/Parallelize.h"
#include <queue>

using namespace mlir;
using namespace llmmem;
using State = StrategyOutcome::State;

/// Limits how many strategies are reported.
static constexpr size_t kBest = 10;
/// Every program is made with this number of blocks: two outer ones and one between them.
static constexpr int64_t kFewBlocks = 3;

namespace {
class Search {
public:
  Search(ModuleOp few, const ModelFacts &facts, const SearchRequest &request)
      : facts(facts), request(request), costs(few, facts, request) {}

  SearchResult run();

private:
  /// Holds what is known about a strategy: the least time that it can have, and how far the search
  /// got.
  struct Entry {
    int64_t ns;
    size_t number;
    int level;
    bool operator>(const Entry &other) const {
      return std::tie(ns, number, level) > std::tie(other.ns, other.number, other.level);
    }
  };
  void start(std::vector<Strategy> strategies);
  void lookAt(const Entry &entry);
  void refuse(StrategyOutcome &outcome, llvm::Error error);
  llvm::Error modelIfBelow(StrategyOutcome &outcome, int64_t ns);
  bool isNew(size_t number) const;
  void keepBest(std::vector<size_t> numbers);
  void compareLayouts();
  bool planWhole(StrategyOutcome &outcome);
  void planWhole();
  void conclude();
  int64_t findDividing();

  const ModelFacts &facts;
  const SearchRequest &request;
  StrategyCosts costs;
  std::vector<StrategyOutcome> outcomes;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  std::vector<size_t> best; // In the order of their times.
  bool leavesOut = false;   // Some mesh has more stages than groups of blocks.
  int64_t opsLeft = 0;
  SearchResult result;
};
} // namespace

void Search::refuse(StrategyOutcome &outcome, llvm::Error error) {
  outcome.state = State::Refused;
  outcome.why = llvm::toString(std::move(error));
  ++result.refused[outcome.why];
}

void Search::start(std::vector<Strategy> strategies) {
  for (Strategy &strategy : strategies) {
    StrategyOutcome &outcome = outcomes.emplace_back();
    outcome.strategy = strategy;
    llvm::Expected<int64_t> bound = costs.boundByProducts(strategy);
    if (!bound) {
      refuse(outcome, bound.takeError());
      continue;
    }
    outcome.timeBound = *bound;
    open.push({*bound, outcomes.size() - 1, 1});
  }
}

/// Returns whether `other` is no other way to run the step: it differs in what tp leaves whole
/// alone, or in a schedule that has no effect.
static bool isSame(const StrategyOutcome &outcome, const StrategyOutcome &other) {
  Strategy one = outcome.strategy, two = other.strategy;
  one.whole = two.whole;
  if (outcome.time() == other.time() && outcome.bytes == other.bytes) {
    one.schedule = two.schedule;
    one.chunks = two.chunks;
  }
  return one == two;
}

/// Returns whether none of the best is the same.
bool Search::isNew(size_t number) const {
  return llvm::none_of(best,
                       [&](size_t other) { return isSame(outcomes[other], outcomes[number]); });
}

/// Keeps the fastest of `numbers`, and of those that are the same only the fastest.
void Search::keepBest(std::vector<size_t> numbers) {
  llvm::stable_sort(numbers,
                    [&](size_t a, size_t b) { return outcomes[a].time() < outcomes[b].time(); });
  best.clear();
  for (size_t number : numbers)
    if (best.size() < kBest && isNew(number))
      best.push_back(number);
}

void Search::lookAt(const Entry &entry) {
  StrategyOutcome &outcome = outcomes[entry.number];
  if (entry.level == 3) {
    if (isNew(entry.number))
      best.push_back(entry.number);
    return;
  }
  int64_t before = outcome.timeBound;
  if (llvm::Error error = entry.level == 1 ? costs.bound(outcome) : costs.model(outcome))
    return refuse(outcome, std::move(error));
  outcome.timeBound = std::max(outcome.timeBound, before);
  if (entry.level == 1 && outcome.bytesBound > request.budget.value_or(costs.mostBudget())) {
    outcome.state = State::TooLarge;
    return;
  }
  if (outcome.state == State::OverBudget)
    return;
  open.push({entry.level == 1 ? outcome.timeBound : std::max(outcome.ns, outcome.timeBound),
             entry.number, entry.level + 1});
}

/// Measuring what blocks hold takes a planner's time, so a layout whose ops once are already too
/// long is left out without it.
llvm::Error Search::modelIfBelow(StrategyOutcome &outcome, int64_t ns) {
  llvm::Expected<int64_t> least = costs.leastModelled(outcome);
  if (!least)
    return least.takeError();
  return *least < ns ? costs.model(outcome) : llvm::Error::success();
}

/// What tp splits in a block and outside of the blocks is one more choice, group by group. It is
/// compared only for the best strategies, because elsewhere it would multiply the programs.
void Search::compareLayouts() {
  const auto masks = static_cast<uint32_t>((1U << request.settings.groups.size()) - 1);
  std::vector<size_t> found = best;
  for (size_t number : best) {
    if (outcomes[number].strategy.tp == 1)
      continue;
    for (uint32_t whole = 1; whole < masks; ++whole) {
      StrategyOutcome outcome;
      outcome.strategy = outcomes[number].strategy;
      outcome.strategy.whole = whole;
      ++result.layouts;
      llvm::Error error = costs.bound(outcome);
      if (!error && outcome.bytesBound <= request.budget.value_or(costs.mostBudget()) &&
          outcome.timeBound < outcomes[number].ns)
        error = modelIfBelow(outcome, outcomes[number].ns);
      // What the passes refuse is no layout.
      llvm::consumeError(std::move(error));
      if (outcome.state != State::Modelled || outcome.ns >= outcomes[number].ns)
        continue;
      found.push_back(outcomes.size());
      outcomes.push_back(std::move(outcome));
    }
  }
  keepBest(std::move(found));
}

bool Search::planWhole(StrategyOutcome &outcome) {
  int64_t ops = costs.countOps(outcome.strategy);
  if (ops > std::min(request.mostOpsOfStep, opsLeft))
    return false;
  opsLeft -= ops;
  llvm::Expected<WholePlan> plan = request.planWhole(outcome.strategy);
  if (!plan) {
    outcome.state = State::OverBudget;
    outcome.why = llvm::toString(plan.takeError());
    return true;
  }
  if (!plan->refusal.empty()) {
    refuse(outcome, llvm::createStringError(plan->refusal));
    return true;
  }
  outcome.state = State::Whole;
  outcome.whole = *plan;
  return true;
}

/// The model knows fewer ways to recompute than the planner, so what it finds slow or too large may
/// not be. First the best ones are planned, then whatever has a bound below the best plan. Where
/// the work limit suffices for all of them, no strategy has a better plan.
void Search::planWhole() {
  // All strategies have about the same number of ops for a micro-batch.
  if (!request.planWhole || costs.leastOps() > request.mostOpsOfStep)
    return;
  opsLeft = request.mostOps;
  std::vector<size_t> order = best;
  auto boundOf = [&](size_t number) { return outcomes[number].timeBound; };
  std::vector<size_t> others;
  for (size_t number = 0; number < outcomes.size(); ++number)
    if (!llvm::is_contained(best, number) && outcomes[number].state != State::TooLarge &&
        outcomes[number].state != State::Refused)
      others.push_back(number);
  llvm::stable_sort(others, [&](size_t a, size_t b) { return boundOf(a) < boundOf(b); });
  llvm::append_range(order, others);
  int64_t least = INT64_MAX;
  result.isDecided = !leavesOut;
  for (size_t number : order) {
    StrategyOutcome &outcome = outcomes[number];
    bool isNear = least > boundOf(number);
    if (isNear && !planWhole(outcome))
      result.isDecided = false;
    if (outcome.state == State::Whole)
      least = std::min(least, outcome.whole.ns);
  }
  llvm::erase_if(order, [&](size_t number) {
    return outcomes[number].state != State::Whole && outcomes[number].state != State::Modelled;
  });
  keepBest(std::move(order));
}

/// No plan exists only where each strategy was proved too large, and none was left out that
/// build-stages could cut; or where no rank of any strategy can hold its part.
void Search::conclude() {
  result.timeBound = INT64_MAX;
  result.leastFound = INT64_MAX;
  bool isProved = !leavesOut;
  for (const StrategyOutcome &outcome : outcomes) {
    if (outcome.state == State::Refused)
      continue;
    if (outcome.state == State::OverBudget && outcome.bytes > 0)
      result.leastFound = std::min(result.leastFound, outcome.bytes);
    if (outcome.state == State::TooLarge)
      continue;
    isProved = false;
    result.timeBound = std::min(result.timeBound, outcome.timeBound);
  }
  for (size_t number : best)
    result.best.push_back(outcomes[number]);
  isProved |= result.bytesBound > result.mostBudget;
  const bool isRefused = llvm::all_of(
      outcomes, [](const StrategyOutcome &outcome) { return outcome.state == State::Refused; });
  if (isRefused)
    result.dividing = findDividing();
  result.status = !best.empty()            ? planning::Status::Feasible
                  : isProved && !isRefused ? planning::Status::Infeasible
                                           : planning::Status::Unknown;
  std::vector<bool> isBest(outcomes.size(), false);
  for (size_t number : best)
    isBest[number] = true;
  for (auto [number, outcome] : llvm::enumerate(outcomes))
    if (!isBest[number])
      result.others.push_back(std::move(outcome));
  result.groups = request.settings.groups;
  result.shapes = costs.numShapes();
}

/// Returns the largest half, quarter, ... of the devices over which a strategy is not refused.
int64_t Search::findDividing() {
  int64_t devices = request.devices / 2;
  for (; devices > 0; devices /= 2) {
    Enumeration fewer = enumerateStrategies(facts, devices, request.pins, request.refuse);
    if (llvm::any_of(fewer.strategies, [&](const Strategy &strategy) {
          StrategyOutcome outcome;
          outcome.strategy = strategy;
          llvm::Error error = costs.bound(outcome);
          const bool isRefused = static_cast<bool>(error);
          llvm::consumeError(std::move(error));
          return !isRefused;
        }))
      break;
  }
  return devices;
}

SearchResult Search::run() {
  Enumeration enumeration =
      enumerateStrategies(facts, request.devices, request.pins, request.refuse);
  result.refused = std::move(enumeration.refused);
  leavesOut = enumeration.leavesOut;
  result.devices = request.devices;
  result.budget = costs.leastBudget();
  result.reserve = INT64_MAX;
  for (const DeviceKind &kind : request.topology.kinds) {
    result.reserve = std::min(result.reserve, kind.reserve);
    result.hasNccl |= kind.table.gpu.has_value();
  }
  result.mostBudget = request.budget.value_or(costs.mostBudget());
  start(std::move(enumeration.strategies));
  if (llvm::Expected<int64_t> bytes = costs.bytesOfAny())
    result.bytesBound = *bytes;
  else
    llvm::consumeError(bytes.takeError());
  while (!open.empty() && best.size() < kBest) {
    Entry entry = open.top();
    open.pop();
    lookAt(entry);
  }
  compareLayouts();
  planWhole();
  conclude();
  return std::move(result);
}

static int64_t numBlocks(func::FuncOp loss) {
  llvm::SmallDenseSet<int64_t> labels;
  for (Operation &op : loss.getBody().front())
    if (std::optional<int64_t> block = getBlock(&op))
      labels.insert(*block);
  return static_cast<int64_t>(labels.size());
}

/// The rows of the first input are the sequences of a step.
static FailureOr<RankedTensorType> firstInputOf(func::FuncOp loss) {
  for (BlockArgument argument : loss.getArguments())
    if (auto type = dyn_cast<RankedTensorType>(argument.getType());
        type && type.getRank() > 0 && getRole(argument) == llm::Role::Input)
      return type;
  return loss.emitError("has no input whose rows could be shared by ranks");
}

llvm::FailureOr<SearchResult> llmmem::searchStrategies(ModuleOp module,
                                                       const SearchRequest &request) {
  auto loss = module.lookupSymbol<func::FuncOp>("loss");
  if (!loss || !module->hasAttr(llm::LlmDialect::kTraining))
    return emitError(module.getLoc()) << "has no " << (loss ? "llm.training" : "function @loss")
                                      << " to choose a strategy for; start from the imported model";
  OwningOpRef<ModuleOp> few = module.clone();
  auto fewLoss = few->lookupSymbol<func::FuncOp>("loss");
  const BlockPattern pattern = findBlockPattern(loss);
  labelGroups(fewLoss, pattern);
  FailureOr<RankedTensorType> input = firstInputOf(loss);
  FailureOr<int64_t> blocks = countEqualBlocks(fewLoss);
  if (failed(input) || failed(blocks))
    return failure();
  if (*blocks < kFewBlocks)
    return loss.emitError() << "has " << *blocks << " blocks; strategies are compared on models of "
                            << kFewBlocks << " equal blocks or more: name the mesh, as in "
                            << "--mesh=dp=" << request.devices;
  if (failed(keepBlocks(fewLoss, kFewBlocks)))
    return failure();
  ModelFacts facts{input->getDimSize(0), *blocks,
                   pattern.period,       numBlocks(loss),
                   countExperts(loss),   input->getRank() == 2 ? input->getDimSize(1) : 1};
  SearchRequest withLayouts = request;
  constexpr int64_t fewRanks = 2;
  // Layouts are those of equal blocks.
  if (request.devices >= fewRanks && request.comparesLayouts && !facts.hasCutsWithinGroups())
    withLayouts.settings.groups = findLayoutGroups(*few, fewRanks);
  return Search(*few, facts, withLayouts).run();
}
