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
  /// The least needs of several numbers, which are planned beside each other.
  using Least = llvm::function_ref<llvm::Expected<std::vector<FitPoint>>(llvm::ArrayRef<int64_t>)>;
  LargestSearch(Least least, int64_t budget, int64_t most)
      : least(least), budget(budget), fails{most + 1, std::nullopt} {}

  llvm::Expected<int64_t> run();

private:
  struct Tried {
    int64_t number;
    std::optional<int64_t> need; // none: not planned, or no plan was found
  };

  std::vector<int64_t> next() const;
  int64_t guess() const;
  void take(int64_t number, const FitPoint &point);

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
int64_t LargestSearch::guess() const {
  const int64_t middle = fits.number + (fails.number - fits.number) / 2;
  const Tried &other = fails.need ? fails : below;
  if (sameSide > 1 || !fits.need || !other.need || *other.need == *fits.need)
    return middle;
  const double slope = static_cast<double>(*other.need - *fits.need) /
                       static_cast<double>(other.number - fits.number);
  return fits.number +
         static_cast<int64_t>(static_cast<double>(budget - *fits.need) / std::max(slope, 1.0));
}

/// The guess and the number behind it, which together may be the answer; at first two through which
/// there is a line.
std::vector<int64_t> LargestSearch::next() const {
  constexpr int64_t kFar = 16;
  const bool isFirst = fits.number == 0;
  const int64_t first = isFirst ? 1 : std::clamp(guess(), fits.number + 1, fails.number - 1);
  const int64_t second = std::min(isFirst ? kFar : first + 1, fails.number - 1);
  return second > first ? std::vector{first, second} : std::vector{first};
}

void LargestSearch::take(int64_t number, const FitPoint &point) {
  if (number >= fails.number)
    return;
  if (point.fits() && point.neededBytes <= budget)
    below = std::exchange(fits, Tried{number, point.neededBytes});
  else
    fails = {number, point.fits() ? std::optional(point.neededBytes) : std::nullopt};
}

llvm::Expected<int64_t> LargestSearch::run() {
  std::optional<bool> last; // whether the last guess fitted
  while (fits.number + 1 < fails.number) {
    const std::vector<int64_t> asked = next();
    llvm::Expected<std::vector<FitPoint>> points = least(asked);
    if (!points)
      return points.takeError();
    const int64_t before = fits.number;
    for (auto [number, point] : llvm::zip_equal(asked, *points))
      take(number, point);
    const bool moved = fits.number > before;
    sameSide = last == moved ? sameSide + 1 : 0;
    last = moved;
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

/// Whether the least need leaves so little of the budget that the plan of that need is taken: what
/// a search between the two takes longest for is what it finds least of.
static bool isTight(const FitPoint &least, int64_t budget) {
  constexpr double kLittle = 0.02;
  return least.fits() && least.neededBytes <= budget &&
         static_cast<double>(budget - least.neededBytes) <
             kLittle * static_cast<double>(budget - least.residentBytes);
}

/// The plan of the batch that is shown. That of a budget is another search than that of the least
/// need; what is promised is what it finds.
static llvm::Expected<FitPoint> planShown(FitModel &model, FitAnswer &answer, int64_t batch) {
  const int64_t seq = answer.request.seq, budget = answer.card.budget();
  llvm::Expected<FitPoint> least = model.least(batch, seq);
  if (!least)
    return least.takeError();
  answer.takesLeast = isTight(*least, budget);
  return answer.takesLeast ? *least : model.under(batch, seq, budget);
}

static llvm::Error keepWhatFits(FitModel &model, FitAnswer &answer) {
  for (; answer.largestBatch > 0; --answer.largestBatch) {
    llvm::Expected<FitPoint> point = planShown(model, answer, answer.largestBatch);
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
  const int64_t seq = answer.request.seq, budget = answer.card.budget();
  std::vector<FitModel::Question> questions;
  for (int64_t batch = 1; batch < answer.largestBatch; batch *= factor)
    questions.push_back({batch, seq, budget});
  llvm::Expected<std::vector<FitPoint>> points = model.ask(questions);
  if (!points)
    return points.takeError();
  answer.batches = std::move(*points);
  llvm::Expected<FitPoint> largest = planShown(model, answer, answer.largestBatch);
  if (!largest)
    return largest.takeError();
  answer.batches.push_back(*largest);
  return llvm::Error::success();
}

static void fillCommands(const FitModel &model, FitAnswer &answer, int64_t batch) {
  const importer::ImportOptions &options = model.importOptions();
  std::string import = "llmmem-import " + model.facts().file + " --batch " + std::to_string(batch) +
                       " --seq " + std::to_string(answer.request.seq);
  if (options.dtype)
    import += (" --dtype " + dtypeName(*options.dtype)).str();
  const std::string budget = answer.takesLeast ? "min" : std::to_string(answer.card.budget());
  answer.commands = {import + " -o model.mlir",
                     "llmmem-opt --checkpoint-budget=" + budget +
                         (answer.card.hasRates ? " --checkpoint-device=" + answer.card.name : "") +
                         llvm::formatv(" --checkpoint-seconds={0}", model.searchSeconds()).str() +
                         " model.mlir -o step.mlir"};
}

/// The largest batch at the sequence that is asked for, and the longest sequence at `batch`.
static llvm::Error findLargest(FitModel &model, FitAnswer &answer, int64_t batch) {
  constexpr int64_t kMostBatches = 1 << 16;
  const int64_t seq = answer.request.seq, budget = answer.card.budget();
  auto ofBatches = [&](llvm::ArrayRef<int64_t> sizes) {
    std::vector<FitModel::Question> questions;
    for (int64_t size : sizes)
      questions.push_back({size, seq, std::nullopt});
    return model.ask(questions);
  };
  llvm::Expected<int64_t> largest = LargestSearch(ofBatches, budget, kMostBatches).run();
  if (!largest)
    return largest.takeError();
  // Another search found a plan of the batch that is asked for.
  answer.largestBatch = std::max(*largest, answer.fits ? batch : 0);
  if (llvm::Error error = keepWhatFits(model, answer))
    return error;
  auto ofSequences = [&](llvm::ArrayRef<int64_t> sizes) {
    std::vector<FitModel::Question> questions;
    for (int64_t size : sizes)
      questions.push_back({batch, size * kSequenceStep, std::nullopt});
    return model.ask(questions);
  };
  llvm::Expected<int64_t> longest =
      LargestSearch(ofSequences, budget, model.longestSequence() / kSequenceStep).run();
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
  if (llvm::Error error = findLargest(model, answer, batch))
    return std::move(error);
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
  if (llvm::Expected<FitPoint> point = planShown(model, answer, shown); !point)
    return point.takeError();
  fillCommands(model, answer, shown);
  return answer;
}
