//===- Reliefs.cpp - What would train where no plan fits --------------------===//

#include "InThreads.h"
#include "Trainings.h"
#include "llmmem/Fit/FitCluster.h"
#include "llmmem/Strategies/RankModel.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llmmem;

/// A report of more ranks than this would not be useful.
static constexpr int64_t kMostRanks = 4096;

/// Plans the step of a card, or of the best mesh of several.
static llvm::Expected<FitPoint> planOf(FitModel &model, const Card &card,
                                       const FitRequest &request) {
  if (card.count == 1)
    return model.under(request.batch.value_or(1), request.seq, card.budget());
  llvm::Expected<ClusterPoint> best =
      bestMesh(model, card, request.batch.value_or(card.count), request.seq);
  if (!best)
    return best.takeError();
  return best->point;
}

/// Returns nothing where the model cannot be trained in this way.
static std::optional<ReliefOutcome> outcomeOf(const FitModel &model, const Card &card,
                                              const FitRequest &request, Relief relief) {
  FitModel other = model.trainedBy(relief.options, relief.onHost);
  llvm::Expected<FitPoint> point = planOf(other, card, request);
  if (!point) {
    llvm::consumeError(point.takeError());
    return std::nullopt;
  }
  std::vector<std::string> commands = stepCommands(other, card, point->batch, request.seq);
  return ReliefOutcome{std::move(relief), *point, std::move(commands)};
}

static llvm::Expected<ReliefOutcome> onRanks(const FitModel &model, const FitAnswer &answer,
                                             int64_t ranks) {
  RankShape rank;
  rank.dp = ranks;
  rank.zeroStage = 3;
  const int64_t batch = answer.request.batch.value_or(1) * ranks;
  llvm::Expected<FitPoint> point =
      model.onRanks(rank, batch, answer.request.seq, answer.card.budget());
  if (!point)
    return point.takeError();
  Card one = answer.card;
  if (one.count > 1)
    one.name = model.device().name;
  one.count = 1;
  return ReliefOutcome{{llvm::formatv("{0} cards, ZeRO 3", ranks).str(),
                        "parameters, gradients and state are shared by the cards",
                        model.importOptions(), model.form().onHost, ranks},
                       *point,
                       stepCommands(model, one, batch, answer.request.seq,
                                    llvm::formatv(" --mesh=dp={0} --zero=3", ranks).str())};
}

/// Adds the fewest ranks, among powers of two, for which a plan was found.
static llvm::Error addRanks(const FitModel &model, FitAnswer &answer) {
  // Where resident bytes alone exceed the card, there must be at least these bytes divided by it.
  int64_t ranks = 2 * answer.card.count;
  while (ranks < kMostRanks && answer.least.residentBytes / ranks > answer.card.budget())
    ranks *= 2;
  for (; ranks <= kMostRanks; ranks *= 2) {
    llvm::Expected<ReliefOutcome> outcome = onRanks(model, answer, ranks);
    if (!outcome)
      return outcome.takeError();
    if (!outcome->point.fits() && ranks < kMostRanks)
      continue;
    answer.reliefs.push_back(std::move(*outcome));
    break;
  }
  return llvm::Error::success();
}

double llmmem::cardTimeOfToken(const ReliefOutcome &outcome, const Card &card) {
  const FitPoint &point = outcome.point;
  const int64_t cards = outcome.relief.ranks > 1 ? outcome.relief.ranks : card.count;
  return static_cast<double>(point.ns) * static_cast<double>(cards) /
         static_cast<double>(std::max<int64_t>(point.batch * point.seq, 1));
}

llvm::Error llmmem::findReliefs(const FitModel &model, FitAnswer &answer) {
  std::vector<Relief> ways = otherTrainings(model);
  // Meshes whose data lie on the host are not compared, and ranks run no weights in fewer bits.
  if (answer.card.count > 1)
    llvm::erase_if(ways, [](const Relief &way) {
      return way.onHost != HostData::None || way.options.weights;
    });
  std::vector<std::optional<ReliefOutcome>> found(ways.size());
  inThreads(ways.size(), [&](size_t number) {
    found[number] = outcomeOf(model, answer.card, answer.request, ways[number]);
  });
  for (std::optional<ReliefOutcome> &outcome : found)
    if (outcome)
      answer.reliefs.push_back(std::move(*outcome));
  if (llvm::Error error = addRanks(model, answer))
    return error;
  // Ways that train come first, the least time of a card for a token before all others.
  auto rank = [&](const ReliefOutcome &outcome) {
    return std::pair(!outcome.point.fits(),
                     outcome.point.fits() ? cardTimeOfToken(outcome, answer.card) : 0.0);
  };
  llvm::stable_sort(answer.reliefs, [&](const ReliefOutcome &a, const ReliefOutcome &b) {
    return rank(a) < rank(b);
  });
  return llvm::Error::success();
}
