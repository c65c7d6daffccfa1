//===- Reliefs.cpp - What would train where no plan fits --------------------===//

#include "llmmem/Fit/Fit.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llmmem;
using llm::GradientLifetime;
using llm::OptimizerKind;

/// A report of more ranks than this would not be useful.
static constexpr int64_t kMostRanks = 4096;

static std::vector<Relief> oneRankReliefs() {
  return {
      {"llmmem-import --gradients transient", GradientLifetime::Transient, OptimizerKind::AdamW},
      {"llmmem-import --optimizer sgd", GradientLifetime::Resident, OptimizerKind::SGD},
      {"llmmem-import --gradients transient --optimizer sgd", GradientLifetime::Transient,
       OptimizerKind::SGD},
      {"llmmem-import --optimizer-state int8", GradientLifetime::Resident, OptimizerKind::AdamW,
       importer::StateType::Int8},
  };
}

/// The device holds activations alone. Without a table the tools need to know the link.
static Relief allOnHost(const DeviceModel &device) {
  const llvm::StringRef link = device.linkTo(DeviceLink::To::Host) ? "" : " --link=25GB/s";
  return {.flags = "llmmem-import --gradients transient, llmmem-opt --optimizer-on=host "
                   "--parameters-on=host" +
                   link.str(),
          .gradients = GradientLifetime::Transient,
          .optimizer = OptimizerKind::AdamW,
          .onHost = true};
}

static llvm::Expected<ReliefOutcome> outcomeOf(const FitModel &model, const FitAnswer &answer,
                                               Relief relief) {
  llvm::Expected<FitPoint> point = model.with(relief, answer.request.batch.value_or(1),
                                              answer.request.seq, answer.card.budget());
  if (!point)
    return point.takeError();
  return ReliefOutcome{std::move(relief), *point};
}

static llvm::Expected<ReliefOutcome> onRanks(const FitModel &model, const FitAnswer &answer,
                                             int64_t ranks) {
  return outcomeOf(model, answer,
                   {.flags = llvm::formatv("llmmem-opt --mesh=dp={0} --zero=3", ranks).str(),
                    .gradients = GradientLifetime::Resident,
                    .optimizer = OptimizerKind::AdamW,
                    .ranks = ranks});
}

/// Adds the fewest ranks, among powers of two, for which a plan was found.
static llvm::Error addRanks(const FitModel &model, FitAnswer &answer) {
  // Where resident bytes alone exceed the card, there must be at least these bytes divided by it.
  int64_t ranks = 2;
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

llvm::Error llmmem::findReliefs(const FitModel &model, FitAnswer &answer) {
  for (Relief &relief : oneRankReliefs()) {
    llvm::Expected<ReliefOutcome> outcome = outcomeOf(model, answer, std::move(relief));
    if (!outcome)
      return outcome.takeError();
    answer.reliefs.push_back(std::move(*outcome));
  }
  if (llvm::Error error = addRanks(model, answer))
    return error;
  llvm::Expected<ReliefOutcome> onHost = outcomeOf(model, answer, allOnHost(model.device()));
  if (!onHost)
    return onHost.takeError();
  answer.reliefs.push_back(std::move(*onHost));
  return llvm::Error::success();
}
