//===- Fit.cpp - Does a model train on a card, and how ----------------------===//

#include "llmmem/Fit/Fit.h"
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
      : least(least), budget(budget), fails(most + 1) {}

  llvm::Expected<int64_t> run();

private:
  llvm::Error look(int64_t number);

  Least least;
  int64_t budget;
  int64_t fits = 0; // the largest that does
  int64_t fails;    // the smallest that does not, or is not allowed
  std::vector<int64_t> needs;
};
} // namespace

llvm::Error LargestSearch::look(int64_t number) {
  llvm::Expected<FitPoint> point = least(number);
  if (!point)
    return point.takeError();
  (point->fits() && point->neededBytes <= budget ? fits : fails) = number;
  needs.push_back(point->neededBytes);
  return llvm::Error::success();
}

llvm::Expected<int64_t> LargestSearch::run() {
  // Those that the line goes through.
  for (int64_t number : {1, 2})
    if (fits + 1 == number && number < fails)
      if (llvm::Error error = look(number))
        return std::move(error);
  if (needs.size() < 2)
    return fits;
  int64_t next = 1 + (budget - needs[0]) / std::max<int64_t>(1, needs[1] - needs[0]);
  for (int64_t stride = 1; fits + 1 < fails; stride *= 2) {
    next = std::clamp(next, fits + 1, fails - 1);
    const int64_t asked = next;
    if (llvm::Error error = look(asked))
      return std::move(error);
    // Away from a guess that was wrong in ever longer strides, back in halves.
    next = fits == asked ? asked + stride : asked - stride;
    if (next <= fits || next >= fails)
      next = fits + (fails - fits) / 2;
  }
  return fits;
}

static llvm::Error fillMeasures(FitModel &model, FitAnswer &answer, int64_t batch) {
  for (const Measure &measure : measures()) {
    llvm::Expected<FitPoint> point = model.with(measure, batch, answer.request.seq);
    if (!point)
      return point.takeError();
    answer.measures.push_back({measure.name, *point});
  }
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

static llvm::Error fillBatches(FitModel &model, FitAnswer &answer) {
  std::vector<int64_t> sizes;
  for (int64_t batch = 1; batch < answer.largestBatch; batch *= 2)
    sizes.push_back(batch);
  sizes.push_back(answer.largestBatch);
  for (int64_t batch : sizes) {
    llvm::Expected<FitPoint> point = model.under(batch, answer.request.seq, answer.card.budget());
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
  if (asked->residentBytes > budget)
    return answer;
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
  if (!answer.fits)
    return answer;
  const int64_t shown = request.batch.value_or(answer.largestBatch);
  if (llvm::Error error = fillBatches(model, answer))
    return std::move(error);
  if (llvm::Error error = fillMeasures(model, answer, shown))
    return std::move(error);
  fillCommands(model, answer, shown);
  return answer;
}
