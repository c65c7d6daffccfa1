//===- FitCluster.cpp - Does a model train on several cards -----------------===//

#include "llmmem/Fit/FitCluster.h"
#include "FastestBatch.h"
#include "Trainings.h"
#include "llmmem/Device/Topology.h"
#include "llmmem/Strategies/RankProgram.h"
#include "llmmem/Strategies/StrategySearch.h"
#include "llmmem/Targets/Targets.h"

using namespace mlir;
using namespace llmmem;

/// Stages of a pipeline and micro-batches multiply the programs that are compared. What they bring,
/// `--mesh=auto` says.
static std::optional<std::string> refuseStages(const Strategy &strategy) {
  if (strategy.pp > 1)
    return "llmmem-fit compares no stages of pipelines";
  return std::nullopt;
}

/// Returns strategies that fit by their blocks, the fastest first.
static llvm::Expected<std::vector<StrategyOutcome>>
searchMeshes(const FitModel &model, const Card &card, int64_t batch, int64_t seq) {
  llvm::Expected<Topology> topology = loadTopology(card.name);
  if (!topology)
    return topology.takeError();
  DialectRegistry registry;
  registerTargets(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  llvm::Expected<OwningOpRef<ModuleOp>> module = model.buildGraph(context, batch, seq);
  if (!module)
    return module.takeError();
  DiagnosticText diagnostics(&context);
  SearchRequest request;
  request.topology = std::move(*topology);
  request.devices = card.count;
  request.budget = card.budget();
  request.pins.microBatches = 1;
  request.comparesLayouts = false; // They multiply the programs, too.
  request.settings.usesLibrary = model.device().libraryWorkspace > 0;
  request.refuse = refuseStages;
  FailureOr<SearchResult> result = searchStrategies(**module, request);
  if (failed(result))
    return diagnostics.toError();
  return std::move(result->best);
}

/// Returns the first of `outcomes` that has a plan as a whole.
static llvm::Expected<ClusterPoint> planFirst(const FitModel &model, const Card &card,
                                              llvm::ArrayRef<StrategyOutcome> outcomes,
                                              int64_t batch, int64_t seq) {
  constexpr size_t kMostTries = 3;
  ClusterPoint best;
  best.point.batch = batch;
  best.point.seq = seq;
  for (const StrategyOutcome &outcome : outcomes.take_front(kMostTries)) {
    llvm::Expected<FitPoint> point =
        model.onRanks(RankShape::of(outcome.strategy), batch, seq, card.budget());
    if (!point)
      return point.takeError();
    best = {outcome.strategy, *point, true};
    if (point->fits())
      break;
  }
  return best;
}

/// Returns whether no mesh can fit: ranks share at most all that one card would hold for the whole
/// step, so the fullest holds an equal share or more. `alone` becomes the point of that card.
static llvm::Expected<bool> exceedsAllCards(const FitModel &model, const Card &card, int64_t seq,
                                            FitPoint &alone) {
  FitModel one = model.trainedBy(model.importOptions(), model.form().onHost);
  llvm::Expected<FitPoint> point = one.under(1, seq, card.budget());
  if (!point)
    return point.takeError();
  alone = *point;
  return alone.residentBytes / card.count > card.budget();
}

llvm::Expected<ClusterPoint> llmmem::bestMesh(const FitModel &model, const Card &card,
                                              int64_t batch, int64_t seq) {
  ClusterPoint none;
  llvm::Expected<bool> exceeds = exceedsAllCards(model, card, seq, none.point);
  if (!exceeds)
    return exceeds.takeError();
  if (*exceeds) {
    none.point.batch = batch;
    return none;
  }
  llvm::Expected<std::vector<StrategyOutcome>> outcomes = searchMeshes(model, card, batch, seq);
  if (!outcomes)
    return outcomes.takeError();
  return planFirst(model, card, *outcomes, batch, seq);
}

namespace {
/// Compares batches by what blocks promise, and plans the best one as a whole.
class ClusterSearch {
public:
  ClusterSearch(const FitModel &model, const Card &card, int64_t seq)
      : model(model), card(card), seq(seq) {}

  llvm::Error addBatches();
  llvm::Error add(int64_t batch);
  llvm::Error planFastest(ClusterAnswer &answer);

private:
  struct Batch {
    ClusterPoint point;
    std::vector<StrategyOutcome> outcomes;
  };
  const FitModel &model;
  const Card &card;
  int64_t seq;
  std::vector<Batch> batches; // In increasing order; those that some strategy fits.
};
} // namespace

llvm::Error ClusterSearch::add(int64_t batch) {
  llvm::Expected<std::vector<StrategyOutcome>> outcomes = searchMeshes(model, card, batch, seq);
  if (!outcomes)
    return outcomes.takeError();
  if (outcomes->empty())
    return llvm::Error::success();
  const StrategyOutcome &best = outcomes->front();
  ClusterPoint point{best.strategy, {}, false};
  point.point.batch = batch;
  point.point.seq = seq;
  point.point.status = planning::Status::Feasible;
  point.point.neededBytes = best.bytes;
  point.point.ns = best.time();
  batches.push_back({point, std::move(*outcomes)});
  return llvm::Error::success();
}

/// Doubles the batch as long as tokens take less time. Fewer sequences than cards may have no mesh.
llvm::Error ClusterSearch::addBatches() {
  constexpr int64_t kMostOfCard = 64;
  constexpr double kGain = 1.02;
  for (int64_t batch = 1; batch <= kMostOfCard * card.count; batch *= 2) {
    const size_t before = batches.size();
    if (llvm::Error error = add(batch))
      return error;
    const bool isAdded = batches.size() > before;
    if (!isAdded && (before > 0 || batch >= card.count))
      break;
    if (isAdded && before > 0 && batch > card.count &&
        tokensPerNs(batches.back().point.point) <
            kGain * tokensPerNs(batches[before - 1].point.point))
      break;
  }
  return llvm::Error::success();
}

llvm::Error ClusterSearch::planFastest(ClusterAnswer &answer) {
  std::vector<Batch *> order;
  for (Batch &it : batches)
    order.push_back(&it);
  llvm::stable_sort(order, [](const Batch *a, const Batch *b) {
    return tokensPerNs(a->point.point) > tokensPerNs(b->point.point);
  });
  for (Batch *it : order) {
    const int64_t batch = it->point.point.batch;
    llvm::Expected<ClusterPoint> planned = planFirst(model, card, it->outcomes, batch, seq);
    if (!planned)
      return planned.takeError();
    answer.fastest = it->point = *planned;
    if (planned->point.fits())
      break;
  }
  for (const Batch &it : batches)
    if (it.point.point.fits())
      answer.batches.push_back(it.point);
  return llvm::Error::success();
}

llvm::Expected<ClusterAnswer> llmmem::fitCluster(FitModel &model, const Card &card,
                                                 const FitRequest &request) {
  ClusterAnswer answer;
  FitAnswer &common = answer.common;
  common.card = card;
  common.request = request;
  llvm::Expected<bool> exceeds = exceedsAllCards(model, card, request.seq, common.least);
  if (!exceeds)
    return exceeds.takeError();
  ClusterSearch search(model, card, request.seq);
  if (!*exceeds)
    if (llvm::Error error = request.batch ? search.add(*request.batch) : search.addBatches())
      return std::move(error);
  if (llvm::Error error = search.planFastest(answer))
    return std::move(error);
  common.fits = answer.fastest.point.fits();
  common.recommended = answer.fastest.point;
  if (common.fits) {
    common.commands = stepCommands(model, card, common.recommended.batch, request.seq);
    return answer;
  }
  if (llvm::Error error = findReliefs(model, common))
    return std::move(error);
  return answer;
}
