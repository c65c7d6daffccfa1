//===- Fit.cpp - Does a model train on a card, and how ----------------------===//

#include "llmmem/Fit/Fit.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llmmem;

namespace {
/// The largest number from 1 to `most` whose least need is within the budget. Bytes grow almost in
/// proportion to the number, so a line through two least needs says where to look; plans decide, of
/// the answer and of the number behind it.
class LargestSearch {
public:
  using Least = llvm::function_ref<llvm::Expected<FitPoint>(int64_t)>;
  LargestSearch(Least least, int64_t budget, int64_t most)
      : least(least), budget(budget), fails{most + 1, std::nullopt} {}

  llvm::Expected<int64_t> run();

private:
  struct Tried {
    int64_t number;
    std::optional<int64_t> need; // none: not planned, or no plan was found
  };

  int64_t next() const;
  int64_t middle() const { return fits.number + (fails.number - fits.number) / 2; }

  Least least;
  int64_t budget;
  Tried below{0, std::nullopt}; // what `fits` was before
  Tried fits{0, std::nullopt};  // the largest that does
  Tried fails;                  // the smallest that does not, or is not allowed
  int64_t sameSide = 0;         // guesses in a row, after the first, that moved the same end
};
} // namespace

/// Where the line through the two nearest needs meets the budget. A line that moves one end alone
/// is not where the needs are: then the middle.
int64_t LargestSearch::next() const {
  if (fits.number < 2)
    return fits.number + 1;
  if (sameSide > 1)
    return middle();
  const Tried &other = fails.need ? fails : below;
  if (!other.need || *other.need == *fits.need)
    return middle();
  const double slope = static_cast<double>(*other.need - *fits.need) /
                       static_cast<double>(other.number - fits.number);
  return fits.number +
         static_cast<int64_t>(static_cast<double>(budget - *fits.need) / std::max(slope, 1.0));
}

llvm::Expected<int64_t> LargestSearch::run() {
  std::optional<bool> last;
  while (fits.number + 1 < fails.number) {
    const int64_t asked = std::clamp(next(), fits.number + 1, fails.number - 1);
    llvm::Expected<FitPoint> point = least(asked);
    if (!point)
      return point.takeError();
    const bool isEnough = point->fits() && point->neededBytes <= budget;
    sameSide = last == isEnough ? sameSide + 1 : 0;
    last = isEnough;
    if (isEnough)
      below = std::exchange(fits, Tried{asked, point->neededBytes});
    else
      fails = {asked, point->fits() ? std::optional(point->neededBytes) : std::nullopt};
  }
  return fits.number;
}

static llvm::Error fillMeasures(const FitModel &model, FitAnswer &answer, int64_t batch) {
  llvm::Expected<std::vector<FitPoint>> points = model.with(measures(), batch, answer.request.seq);
  if (!points)
    return points.takeError();
  for (auto [measure, point] : llvm::zip_equal(measures(), *points))
    answer.measures.push_back({measure.name, point});
  return llvm::Error::success();
}

/// The plan of a budget is another search than that of the least need; what is promised is what it
/// finds.
static llvm::Error keepWhatFits(FitModel &model, FitAnswer &answer) {
  for (; answer.largestBatch > 0; --answer.largestBatch) {
    llvm::Expected<FitPoint> point =
        model.under(answer.largestBatch, answer.request.seq, answer.card.budget());
    if (!point)
      return point.takeError();
    if (point->fits())
      break;
  }
  return llvm::Error::success();
}

/// Powers of two up to the largest, of four where these are many.
static llvm::Error fillBatches(FitModel &model, FitAnswer &answer) {
  constexpr int64_t kManyBatches = 64;
  const int64_t factor = answer.largestBatch > kManyBatches ? 4 : 2;
  std::vector<FitModel::Question> questions;
  for (int64_t batch = 1; batch < answer.largestBatch; batch *= factor)
    questions.push_back({batch, answer.request.seq, answer.card.budget()});
  questions.push_back({answer.largestBatch, answer.request.seq, answer.card.budget()});
  if (llvm::Error error = model.askAll(questions))
    return error;
  for (auto [batch, seq, budget] : questions) {
    llvm::Expected<FitPoint> point = model.under(batch, seq, *budget);
    if (!point)
      return point.takeError();
    answer.batches.push_back(*point);
  }
  return llvm::Error::success();
}

static void fillCommands(const FitModel &model, FitAnswer &answer, int64_t batch) {
  const importer::ImportOptions &options = model.importOptions();
  std::string import = "llmmem-import " + model.facts().file + " --batch " + std::to_string(batch) +
                       " --seq " + std::to_string(answer.request.seq);
  if (options.dtype)
    import += (" --dtype " + dtypeName(*options.dtype)).str();
  answer.commands = {import + " -o model.mlir",
                     "llmmem-opt --checkpoint-budget=" + std::to_string(answer.card.budget()) +
                         (answer.card.hasRates ? " --checkpoint-device=" + answer.card.name : "") +
                         llvm::formatv(" --checkpoint-seconds={0}", model.searchSeconds()).str() +
                         " model.mlir -o step.mlir"};
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
  constexpr int64_t kMostBatches = 1 << 16;
  llvm::Expected<int64_t> largest =
      LargestSearch([&](int64_t size) { return model.least(size, request.seq); }, budget,
                    kMostBatches)
          .run();
  if (!largest)
    return largest.takeError();
  answer.largestBatch = *largest;
  if (llvm::Error error = keepWhatFits(model, answer))
    return std::move(error);
  const int64_t steps = model.longestSequence() / kSequenceStep;
  llvm::Expected<int64_t> longest =
      LargestSearch([&](int64_t size) { return model.least(batch, size * kSequenceStep); }, budget,
                    steps)
          .run();
  if (!longest)
    return longest.takeError();
  answer.longestSequence = *longest * kSequenceStep;
  if (!answer.fits) {
    // A smaller batch or a shorter sequence is the way, where there is one.
    if (answer.largestBatch == 0 && answer.longestSequence == 0)
      if (llvm::Error error = findReliefs(model, answer))
        return std::move(error);
    return answer;
  }
  const int64_t shown = request.batch.value_or(answer.largestBatch);
  if (llvm::Error error = fillBatches(model, answer))
    return std::move(error);
  if (llvm::Error error = fillMeasures(model, answer, shown))
    return std::move(error);
  fillCommands(model, answer, shown);
  return answer;
}
