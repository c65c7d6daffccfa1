//===- Fit.cpp - Does a model train on a card, and how ----------------------===//

#include "llmmem/Fit/Fit.h"
#include "FastestBatch.h"
#include "LargestSearch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <set>

using namespace llmmem;

/// Returns powers of two below the largest, or of four or sixteen where these are many; the largest
/// first.
static std::vector<int64_t> shownBatches(int64_t largest) {
  constexpr int64_t kMany = 64, kVeryMany = 128;
  const int64_t factor = largest > kVeryMany ? 16 : largest > kMany ? 4 : 2;
  std::vector<int64_t> batches;
  for (int64_t batch = 1; batch < largest; batch *= factor)
    batches.insert(batches.begin(), batch);
  return batches;
}

/// Fills both tables: batches from the largest down, because a plan that nearly fills the card
/// takes the longest, then measures.
static llvm::Error fillTables(FitModel &model, FitAnswer &answer) {
  const int64_t seq = answer.request.seq;
  std::set<int64_t, std::greater<>> batches{answer.largest.batch, answer.recommended.batch};
  llvm::copy(shownBatches(answer.largest.batch), std::inserter(batches, batches.end()));
  // Gradients that are transient anyway are no measure.
  llvm::SmallVector<const Measure *> taken;
  for (const Measure &measure : measures())
    if (measure.gradients == llm::GradientLifetime::Resident ||
        model.importOptions().training.gradients == llm::GradientLifetime::Resident)
      taken.push_back(&measure);
  std::vector<FitModel::Question> questions;
  for (int64_t batch : batches)
    questions.push_back({batch, seq, answer.card.budget()});
  for (const Measure *measure : taken)
    questions.push_back(model.questionOf(*measure, answer.recommended.batch, seq));
  llvm::Expected<std::vector<FitPoint>> points = model.ask(questions);
  if (!points)
    return points.takeError();
  llvm::ArrayRef<FitPoint> all = *points;
  for (const FitPoint &point : llvm::reverse(all.drop_back(taken.size())))
    answer.batches.push_back(point);
  for (auto [measure, point] : llvm::zip_equal(taken, all.take_back(taken.size())))
    answer.measures.push_back({measure->name, point});
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

static void fillCommands(const FitModel &model, FitAnswer &answer) {
  const int64_t seq = answer.request.seq;
  answer.commands = stepCommands(model, answer.card, answer.recommended.batch, seq);
  if (answer.largest.batch != answer.recommended.batch)
    answer.largestCommands = stepCommands(model, answer.card, answer.largest.batch, seq);
}

/// Plans a mixture with the places that routing fills, and a quarter more (Fedus et al. 2021, the
/// capacity factor 1.25), where it has one for each token.
static llvm::Error fillCapacity(const FitModel &model, FitAnswer &answer) {
  const importer::ModelFacts &facts = model.facts();
  if (model.importOptions().expertCapacity || facts.experts <= facts.chosenExperts)
    return llvm::Error::success();
  constexpr int64_t kNumerator = 5, kDenominator = 4;
  const int64_t seq = answer.request.seq;
  const int64_t places = std::min<int64_t>(
      seq, llvm::divideCeil(seq * facts.chosenExperts * kNumerator, facts.experts * kDenominator));
  importer::ImportOptions options = model.importOptions();
  options.expertCapacity = places;
  llvm::Expected<FitPoint> point = model.trainedBy(options, model.form().onHost)
                                       .under(answer.recommended.batch, seq, answer.card.budget());
  if (!point)
    return point.takeError();
  answer.capacity = CapacityOutcome{places, *point};
  return llvm::Error::success();
}

static llvm::Error fillPhases(const FitModel &model, FitAnswer &answer) {
  if (!answer.request.phases)
    return llvm::Error::success();
  llvm::Expected<StepPhases> phases =
      model.phasesOf(answer.recommended.batch, answer.request.seq, answer.card.budget());
  if (!phases)
    return phases.takeError();
  answer.phases = std::move(*phases);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// The largest, the longest and the fastest
//===----------------------------------------------------------------------===//

/// Searches at the requested sequence.
static llvm::Error findLargestBatch(FitModel &model, FitAnswer &answer, int64_t batch) {
  auto stepOf = [&](int64_t size) { return FitModel::Question{size, answer.request.seq}; };
  LargestSearch search(model, stepOf, answer.card.budget(), kMostBatches);
  search.take(batch, answer.least);
  llvm::Expected<int64_t> found = search.run();
  if (!found)
    return found.takeError();
  const int64_t largest = std::max(*found, answer.fits ? batch : 0);
  if (largest == 0)
    return llvm::Error::success();
  llvm::Expected<FitPoint> point = model.under(largest, answer.request.seq, answer.card.budget());
  if (!point)
    return point.takeError();
  answer.largest = *point;
  return llvm::Error::success();
}

/// The config sets an image's sequence.
static llvm::Error findLongestSequence(FitModel &model, FitAnswer &answer, int64_t batch) {
  if (model.facts().image) {
    answer.longestSequence = answer.fits ? answer.request.seq : 0;
    return llvm::Error::success();
  }
  auto stepOf = [&](int64_t size) { return FitModel::Question{batch, size * kSequenceStep}; };
  LargestSearch search(model, stepOf, answer.card.budget(),
                       model.longestSequence() / kSequenceStep);
  const bool isStep = answer.request.seq % kSequenceStep == 0;
  if (isStep)
    search.take(answer.request.seq / kSequenceStep, answer.least);
  llvm::Expected<int64_t> longest = search.run();
  if (!longest)
    return longest.takeError();
  // The search goes by least-memory plans, which another search finds than the one under the
  // budget.
  answer.longestSequence =
      std::max(*longest * kSequenceStep, isStep && answer.fits ? answer.request.seq : 0);
  return llvm::Error::success();
}

llvm::Expected<FitAnswer> llmmem::fit(FitModel &model, const Card &card,
                                      const FitRequest &request) {
  FitAnswer answer;
  answer.card = card;
  answer.request = request;
  const int64_t batch = request.batch.value_or(1), budget = card.budget();
  llvm::Expected<FitPoint> asked = model.under(batch, request.seq, budget);
  if (!asked)
    return asked.takeError();
  answer.fits = asked->fits();
  answer.least = *asked;
  if (asked->residentBytes > budget) {
    if (llvm::Error error = findReliefs(model, answer))
      return std::move(error);
    return answer;
  }
  llvm::Expected<FitPoint> least = model.least(batch, request.seq);
  if (!least)
    return least.takeError();
  answer.least = *least;
  if (llvm::Error error = findLargestBatch(model, answer, batch))
    return std::move(error);
  if (llvm::Error error = findLongestSequence(model, answer, batch))
    return std::move(error);
  if (!answer.fits) {
    // Where a smaller batch or a shorter sequence has a plan, that is the way.
    if (answer.largest.batch == 0 && answer.longestSequence == 0)
      if (llvm::Error error = findReliefs(model, answer))
        return std::move(error);
    return answer;
  }
  llvm::Expected<FitPoint> recommended =
      request.batch ? std::move(asked) : findFastest(model, budget, answer.largest);
  if (!recommended)
    return recommended.takeError();
  answer.recommended = *recommended;
  if (llvm::Error error = fillTables(model, answer))
    return std::move(error);
  if (llvm::Error error = fillCapacity(model, answer))
    return std::move(error);
  if (llvm::Error error = fillPhases(model, answer))
    return std::move(error);
  fillCommands(model, answer);
  return answer;
}
