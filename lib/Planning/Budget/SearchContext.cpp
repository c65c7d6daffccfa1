//===- SearchContext.cpp - What the searchers of one graph share ------------------===//

#include "SearchContext.h"
#include "Schedulers/Annealing.h"
#include "Schedulers/Editor.h"
#include "Schedulers/ExactSearch.h"
#include "Schedulers/OrderSearch.h"
#include "Schedulers/SeriesParallel.h"
#include "Tuning/Constants.h"
#include "llmmem/Support/ByteSize.h"
#include "llvm/Support/raw_ostream.h"

using namespace llmmem;
using namespace llmmem::planning;

void SearchProgress::announce(const llvm::Twine &stage) const {
  graph.poll();
  if (listener)
    listener(stage.str());
}

void SearchProgress::report(llvm::StringRef searched, int64_t capacity) {
  graph.poll();
  constexpr int64_t secondOfWork = 4000000;
  if (!listener || unreported < secondOfWork)
    return;
  unreported = 0;
  std::string message;
  llvm::raw_string_ostream(message) << searched << " under " << formatByteSize(capacity);
  listener(message);
}

SearchContext::SearchContext(const Graph &graph, Chain known, Candidate given, int64_t work)
    : graph(graph), chain(std::move(known)), work(work), progress(graph), bound(graph, chain),
      givenCandidate(std::move(given)), chainCandidate(measured(graph, chain.order, "chain")) {
  sources.ordered = [this] { return findOrder(); };
  sources.stageInputs = [this] {
    // The last choice holds the inputs of the stages alone.
    std::vector<int32_t> inputs(chain.numStages, options().numChoices() - 1);
    return measured(this->graph, realizeChoices(this->graph, chain, options(), inputs).steps,
                    "inputs of stages");
  };
}

void SearchContext::replaceSources(Sources others) {
  if (others.ordered)
    sources.ordered = std::move(others.ordered);
  if (others.stageInputs)
    sources.stageInputs = std::move(others.stageInputs);
}

/// Returns an exact order where the graph is small or series-parallel, else the best one found.
Candidate SearchContext::findOrder() {
  progress.announce("an order that holds less");
  ExactAnswer exact =
      leastPeakExactly(graph, {.repeats = false, .work = work / tuning::orderWorkPart});
  if (exact.kind == ExactAnswer::Kind::Found && !tuning::isOff("every order"))
    return measured(graph, std::move(exact.steps), "every order");
  if (std::optional<std::vector<OpIndex>> order = leastPeakSeriesParallel(graph);
      order && !tuning::isOff("series-parallel order"))
    return measured(graph, *std::move(order), "series-parallel order");
  const bool beginsWithChain = holdsLess(chainCandidate, givenCandidate);
  return measured(graph,
                  improveOrder(graph, beginsWithChain ? chain.order : givenOrder(graph),
                               work / tuning::orderWorkPart),
                  "order");
}

const Candidate &SearchContext::ordered() {
  if (!orderedCandidate) {
    orderedCandidate = sources.ordered();
    if (orderedCandidate->peak >= givenCandidate.peak)
      orderedCandidate = givenCandidate;
  }
  return *orderedCandidate;
}

const Candidate &SearchContext::annealedOrder() {
  if (!annealedCandidate) {
    annealedCandidate = ordered();
    if (isAnnealed() && !tuning::isOff("annealed order")) {
      std::vector<OpIndex> order = ordered().steps;
      annealOrder(graph, order, graph.residentBytes(),
                  work / tuning::workOfMove / tuning::annealedOrderWorkPart);
      annealedCandidate = measured(graph, std::move(order), "annealed order");
    }
  }
  return *annealedCandidate;
}

const ChainOptions &SearchContext::options() {
  if (!chainOptions)
    chainOptions =
        std::make_unique<ChainOptions>(findOptions(graph, chain, tuning::mostChoicesPerStage));
  return *chainOptions;
}

const Candidate &SearchContext::stageInputs() {
  if (!inputsCandidate)
    inputsCandidate = sources.stageInputs();
  return *inputsCandidate;
}

Candidate SearchContext::improved(std::vector<OpIndex> steps, int64_t capacity,
                                  llvm::StringRef searcher, int64_t &spent) {
  constexpr int64_t passes = 4; // over the steps, each of about the same time
  spent += passes * static_cast<int64_t>(steps.size());
  progress.count(static_cast<int64_t>(steps.size()));
  dropUselessRepeats(graph, steps);
  Candidate candidate = measured(graph, std::move(steps), searcher);
  if (candidate.peak > capacity)
    return candidate;
  if (keepWhatFits(graph, candidate.steps, capacity))
    return measured(graph, std::move(candidate.steps), searcher);
  return candidate;
}

int64_t CostBound::under(int64_t budget) {
  if (!relaxation)
    relaxation = std::make_unique<CutRelaxation>(graph, findCutOp(graph, chain));
  return graph.baseCost() + relaxation->costLowerBound(budget).value_or(0);
}

bool CostBound::isClose(int64_t capacity, int64_t cost) {
  if (cost == INT64_MAX)
    return false;
  if (last.first != capacity)
    last = {capacity, under(capacity)};
  return cost - last.second <= graph.baseCost() / tuning::closeToBoundPart;
}

bool SearchContext::isAnnealed() const {
  return chain.isGuess && !chain.isInTurn && graph.numOps() <= tuning::mostAnnealedOps &&
         !tuning::isOff("annealing");
}

/// Returns the depth of eviction. In a chain the path back to a held value leads through whole
/// blocks, and the least memory depends on it; in other graphs long paths never helped.
int SearchContext::evictionDepth() const {
  return chain.isGuess ? tuning::evictionDepthOfGraph : tuning::evictionDepthOfChain;
}
