//===- Fit.cpp - Does a model train on a card, and how ----------------------===//

#include "llmmem/Fit/Fit.h"
#include "LargestSearch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llmmem;

/// Whether the least need leaves so little of the budget that the plan of that need is taken: what
/// a search between the two takes longest for is what it finds least of.
static bool isTight(const FitPoint &least, int64_t budget) {
  constexpr double kLittle = 0.02;
  return least.fits() && least.neededBytes <= budget &&
         static_cast<double>(budget - least.neededBytes) <
             kLittle * static_cast<double>(budget - least.residentBytes);
}

/// What is asked of the batch that is shown. The plan of a budget is another search than that of
/// the least need; what is promised is what it finds.
static llvm::Expected<FitModel::Question> questionOfShown(FitModel &model, const FitAnswer &answer,
                                                          int64_t batch) {
  const int64_t seq = answer.request.seq, budget = answer.card.budget();
  llvm::Expected<FitPoint> least = model.least(batch, seq);
  if (!least)
    return least.takeError();
  if (isTight(*least, budget))
    return FitModel::Question{batch, seq};
  return FitModel::Question{batch, seq, budget};
}

/// Powers of two below the largest, of four or sixteen where these are many; the largest first.
static std::vector<int64_t> shownBatches(int64_t largest) {
  constexpr int64_t kMany = 64, kVeryMany = 128;
  const int64_t factor = largest > kVeryMany ? 16 : largest > kMany ? 4 : 2;
  std::vector<int64_t> batches;
  for (int64_t batch = 1; batch < largest; batch *= factor)
    batches.insert(batches.begin(), batch);
  return batches;
}

/// What both tables show: batches from the largest down, since a plan that nearly fills the card
/// takes the longest, then measures.
static llvm::Expected<std::vector<FitModel::Question>> questionsOfTables(FitModel &model,
                                                                         const FitAnswer &answer) {
  const FitRequest &request = answer.request;
  llvm::Expected<FitModel::Question> largest = questionOfShown(model, answer, answer.largestBatch);
  if (!largest)
    return largest.takeError();
  std::vector<FitModel::Question> questions{*largest};
  for (int64_t batch : shownBatches(answer.largestBatch))
    questions.push_back({batch, request.seq, answer.card.budget()});
  for (const Measure &measure : measures())
    questions.push_back(
        model.questionOf(measure, request.batch.value_or(answer.largestBatch), request.seq));
  return questions;
}

static llvm::Error fillTables(FitModel &model, FitAnswer &answer) {
  llvm::Expected<std::vector<FitModel::Question>> questions = questionsOfTables(model, answer);
  if (!questions)
    return questions.takeError();
  llvm::Expected<std::vector<FitPoint>> points = model.ask(*questions);
  if (!points)
    return points.takeError();
  llvm::ArrayRef<FitPoint> all = *points;
  for (const FitPoint &point : llvm::reverse(all.drop_back(measures().size())))
    answer.batches.push_back(point);
  for (auto [measure, point] : llvm::zip_equal(measures(), all.take_back(measures().size())))
    answer.measures.push_back({measure.name, point});
  return llvm::Error::success();
}

static llvm::Error fillCommands(FitModel &model, FitAnswer &answer, int64_t batch) {
  llvm::Expected<FitModel::Question> shown = questionOfShown(model, answer, batch);
  if (!shown)
    return shown.takeError();
  const importer::ImportOptions &options = model.importOptions();
  std::string import = "llmmem-import " + model.facts().file + " --batch " + std::to_string(batch) +
                       " --seq " + std::to_string(answer.request.seq);
  if (options.dtype)
    import += (" --dtype " + dtypeName(*options.dtype)).str();
  const std::string budget = shown->budget ? std::to_string(*shown->budget) : "min";
  answer.commands = {import + " -o model.mlir",
                     "llmmem-opt --checkpoint-budget=" + budget +
                         (answer.card.hasRates ? " --checkpoint-device=" + answer.card.name : "") +
                         llvm::formatv(" --checkpoint-seconds={0}", model.searchSeconds()).str() +
                         " model.mlir -o step.mlir"};
  return llvm::Error::success();
}

/// At the sequence that is asked for. Where the search under the budget finds no plan of what needs
/// less, a smaller batch is the largest; that is rare, so what the tables show is planned beside
/// it.
static llvm::Error findLargestBatch(FitModel &model, FitAnswer &answer, int64_t batch) {
  auto stepOf = [&](int64_t size) { return FitModel::Question{size, answer.request.seq}; };
  LargestSearch search(model, stepOf, answer.card.budget(), kMostBatches);
  search.take(batch, answer.least);
  llvm::Expected<int64_t> largest = search.run();
  if (!largest)
    return largest.takeError();
  // Another search found a plan of the batch that is asked for.
  answer.largestBatch = std::max(*largest, answer.fits ? batch : 0);
  for (; answer.largestBatch > 0; --answer.largestBatch) {
    llvm::Expected<std::vector<FitModel::Question>> questions = questionsOfTables(model, answer);
    if (!questions)
      return questions.takeError();
    if (!answer.fits) // then no table is shown
      questions->resize(1);
    llvm::Expected<std::vector<FitPoint>> points = model.ask(*questions);
    if (!points)
      return points.takeError();
    if (points->front().fits())
      break;
  }
  return llvm::Error::success();
}

/// An image's sequence is no one's choice.
static llvm::Error findLongestSequence(FitModel &model, FitAnswer &answer, int64_t batch) {
  if (model.facts().image) {
    answer.longestSequence = answer.fits ? answer.request.seq : 0;
    return llvm::Error::success();
  }
  auto stepOf = [&](int64_t size) { return FitModel::Question{batch, size * kSequenceStep}; };
  LargestSearch search(model, stepOf, answer.card.budget(),
                       model.longestSequence() / kSequenceStep);
  if (answer.request.seq % kSequenceStep == 0)
    search.take(answer.request.seq / kSequenceStep, answer.least);
  llvm::Expected<int64_t> longest = search.run();
  if (!longest)
    return longest.takeError();
  answer.longestSequence = *longest * kSequenceStep;
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
    // A smaller batch or a shorter sequence is the way, where there is one.
    if (answer.largestBatch == 0 && answer.longestSequence == 0)
      if (llvm::Error error = findReliefs(model, answer))
        return std::move(error);
    return answer;
  }
  if (llvm::Error error = fillTables(model, answer))
    return std::move(error);
  if (llvm::Error error = fillCommands(model, answer, request.batch.value_or(answer.largestBatch)))
    return std::move(error);
  return answer;
}
