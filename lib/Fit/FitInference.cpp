//===- FitInference.cpp - How many sequences a model answers on a card ------===//

#include "llmmem/Fit/FitInference.h"
#include "LargestSearch.h"
#include "llvm/Support/MathExtras.h"

using namespace llmmem;

static llvm::Expected<int64_t> largestBatch(FitModel &model, int64_t context, int64_t budget) {
  auto stepOf = [&](int64_t size) { return FitModel::Question{size, context}; };
  return LargestSearch(model, stepOf, budget, kMostBatches).run();
}

/// Searches in steps of `kSequenceStep` tokens, or of the requested number where that is longer.
static llvm::Error findLongestContext(FitModel &model, InferenceAnswer &answer, int64_t batch) {
  auto stepOf = [&](int64_t size) { return FitModel::Question{batch, size * kSequenceStep}; };
  llvm::Expected<int64_t> longest =
      LargestSearch(model, stepOf, answer.card.budget(), model.longestSequence() / kSequenceStep)
          .run();
  if (!longest)
    return longest.takeError();
  answer.longestContext =
      std::max(*longest * kSequenceStep, answer.fits ? answer.request.context : 0);
  return llvm::Error::success();
}

/// Takes powers of four from 1,024 tokens up, as long as a sequence of them fits, and the requested
/// context.
static llvm::Error fillContexts(FitModel &model, InferenceAnswer &answer) {
  constexpr int64_t kShortest = 1024, kFactor = 4;
  std::vector<int64_t> contexts{answer.request.context};
  for (int64_t context = kShortest; context <= model.longestSequence(); context *= kFactor)
    contexts.push_back(context);
  llvm::sort(contexts);
  contexts.erase(std::unique(contexts.begin(), contexts.end()), contexts.end());
  for (int64_t context : contexts) {
    llvm::Expected<int64_t> batch = largestBatch(model, context, answer.card.budget());
    if (!batch)
      return batch.takeError();
    if (*batch == 0)
      break; // Longer ones do not fit either.
    llvm::Expected<FitPoint> point = model.under(*batch, context, answer.card.budget());
    if (!point)
      return point.takeError();
    answer.contexts.push_back(*point);
  }
  return llvm::Error::success();
}

/// Returns the share of the card, less what is no cache. Caches of a sequence are those of batch 1,
/// because each has its own.
static llvm::Expected<Reservation> reserve(FitModel &model, const InferenceAnswer &answer,
                                           int64_t shown) {
  const int64_t context = answer.request.context;
  llvm::Expected<FitPoint> one = model.least(1, context);
  if (!one)
    return one.takeError();
  llvm::Expected<FitPoint> used = model.least(std::max<int64_t>(shown, 1), context);
  if (!used)
    return used.takeError();
  Reservation reservation;
  reservation.reservedBytes =
      static_cast<int64_t>(*answer.request.utilization * static_cast<double>(answer.card.memory));
  reservation.cacheBytes =
      std::max<int64_t>(0, reservation.reservedBytes - (used->neededBytes - used->cacheBytes));
  reservation.sequences = one->cacheBytes ? reservation.cacheBytes / one->cacheBytes : 0;
  reservation.usedBytes = used->neededBytes - used->cacheBytes +
                          std::min(shown, reservation.sequences) * one->cacheBytes;
  return reservation;
}

/// Chunks are multiples of this.
static constexpr int64_t kChunkStep = 16;

/// Takes as few steps as the budget allows, and makes all of them as short as that number allows,
/// because a step computes its whole chunk, also after the prompt has ended.
static llvm::Expected<std::optional<Prefill>>
choosePrefill(FitModel &model, const InferenceAnswer &answer, int64_t batch) {
  const int64_t context = answer.request.context;
  auto stepOf = [&](int64_t size) {
    return FitModel::Question{batch, context, std::nullopt, nullptr, size * kChunkStep};
  };
  llvm::Expected<int64_t> largest =
      LargestSearch(model, stepOf, answer.card.budget(), context / kChunkStep).run();
  if (!largest)
    return largest.takeError();
  if (*largest == 0)
    return std::nullopt;
  const int64_t steps = llvm::divideCeil(context, *largest * kChunkStep);
  const int64_t even = llvm::divideCeil(llvm::divideCeil(context, steps), kChunkStep);
  auto underBudget = [&](int64_t size) {
    FitModel::Question question = stepOf(size);
    question.budget = answer.card.budget();
    return question;
  };
  llvm::Expected<std::vector<FitPoint>> points =
      model.ask({underBudget(even), underBudget(*largest)});
  if (!points)
    return points.takeError();
  const bool evenFits = points->front().fits();
  return Prefill{(evenFits ? even : *largest) * kChunkStep, steps,
                 evenFits ? points->front() : points->back()};
}

/// Adds the commands that import and plan a step of inference, according to `mode` and its other
/// arguments.
static void addCommands(const FitModel &model, InferenceAnswer &answer, int64_t batch,
                        const std::string &mode, const std::string &file) {
  const importer::ImportOptions &options = model.importOptions();
  std::string import = importCommand(model) + " --mode " + mode + " --batch " +
                       std::to_string(batch) + " --context " +
                       std::to_string(answer.request.context);
  if (options.dtype)
    import += (" --dtype " + dtypeName(*options.dtype)).str();
  if (options.weights)
    import += " --weights " + options.weights->text();
  if (options.kvCache)
    import += (" --kv-cache " + importer::nameOf(*options.kvCache)).str();
  answer.commands.push_back(import + " -o " + file + ".mlir");
  answer.commands.push_back(planCommand(model, answer.card, file, file + ".planned"));
}

/// Describes what a card that holds the batch does with it.
static llvm::Error addSteps(FitModel &model, InferenceAnswer &answer, int64_t batch) {
  llvm::Expected<std::optional<Prefill>> prefill = choosePrefill(model, answer, batch);
  if (!prefill)
    return prefill.takeError();
  answer.prefill = *prefill;
  if (answer.prefill)
    addCommands(model, answer, batch, "prefill --seq " + std::to_string(answer.prefill->chunk),
                "prefill");
  addCommands(model, answer, batch, "decode", "decode");
  return llvm::Error::success();
}

llvm::Expected<InferenceAnswer> llmmem::fitInference(FitModel &model, const Card &card,
                                                     const InferenceRequest &request) {
  InferenceAnswer answer;
  answer.card = card;
  answer.request = request;
  const int64_t batch = request.batch.value_or(1);
  llvm::Expected<FitPoint> least = model.least(batch, request.context);
  if (!least)
    return least.takeError();
  llvm::Expected<FitPoint> planned = model.under(batch, request.context, card.budget());
  if (!planned)
    return planned.takeError();
  answer.asked = *least;
  answer.fits = planned->fits();
  llvm::Expected<int64_t> largest = largestBatch(model, request.context, card.budget());
  if (!largest)
    return largest.takeError();
  answer.largestBatch = std::max(*largest, answer.fits ? batch : 0);
  if (llvm::Error error = findLongestContext(model, answer, batch))
    return std::move(error);
  const int64_t shown = request.batch.value_or(answer.largestBatch);
  if (request.utilization) {
    llvm::Expected<Reservation> reservation = reserve(model, answer, shown);
    if (!reservation)
      return reservation.takeError();
    answer.reservation = *reservation;
  }
  if (!answer.fits)
    return answer;
  if (llvm::Error error = fillContexts(model, answer))
    return std::move(error);
  if (llvm::Error error = addSteps(model, answer, shown))
    return std::move(error);
  return answer;
}
