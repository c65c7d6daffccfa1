//===- Fit.cpp - Does a model train on a card, and how ----------------------===//

#include "llmmem/Fit/Fit.h"
#include "FastestBatch.h"
#include "LargestSearch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
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
  std::vector<FitModel::Question> questions;
  for (int64_t batch : batches)
    questions.push_back({batch, seq, answer.card.budget()});
  for (const Measure &measure : measures())
    questions.push_back(model.questionOf(measure, answer.recommended.batch, seq));
  llvm::Expected<std::vector<FitPoint>> points = model.ask(questions);
  if (!points)
    return points.takeError();
  llvm::ArrayRef<FitPoint> all = *points;
  for (const FitPoint &point : llvm::reverse(all.drop_back(measures().size())))
    answer.batches.push_back(point);
  for (auto [measure, point] : llvm::zip_equal(measures(), all.take_back(measures().size())))
    answer.measures.push_back({measure.name, point});
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

std::string llmmem::fewestBytesFlag() { return "--checkpoint-budget=min"; }

std::string llmmem::budgetFlag(const Card &card) {
  return "--checkpoint-budget=" + std::to_string(card.budget());
}

std::string llmmem::importCommand(const FitModel &model) {
  const std::string &file = model.facts().file;
  return "llmmem-import " + (file == "<stdin>" ? "-" : file);
}

std::string llmmem::planCommand(const FitModel &model, const Card &card, const std::string &file,
                                const std::string &planned) {
  return "llmmem-opt " + budgetFlag(card) +
         (card.hasRates ? " --checkpoint-device=" + card.name : "") +
         llvm::formatv(" --checkpoint-seconds={0}", model.searchSeconds()).str() + " " + file +
         ".mlir -o " + planned + ".mlir";
}

static std::vector<std::string> commandsOf(const FitModel &model, const FitAnswer &answer,
                                           int64_t batch) {
  const importer::ImportOptions &options = model.importOptions();
  std::string import = importCommand(model) + " --batch " + std::to_string(batch) + " --seq " +
                       std::to_string(answer.request.seq);
  if (options.dtype)
    import += (" --dtype " + dtypeName(*options.dtype)).str();
  return {import + " -o model.mlir", planCommand(model, answer.card, "model", "step")};
}

static void fillCommands(const FitModel &model, FitAnswer &answer) {
  answer.commands = commandsOf(model, answer, answer.recommended.batch);
  if (answer.largest.batch != answer.recommended.batch)
    answer.largestCommands = commandsOf(model, answer, answer.largest.batch);
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
  fillCommands(model, answer);
  return answer;
}
