//===- FitInferenceReport.cpp - The answer for people and for programs ------===//

#include "LargestSearch.h"
#include "llmmem/Fit/FitInference.h"
#include "llmmem/Support/ByteSize.h"
#include "llmmem/Support/NumberText.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llmmem;
using llvm::formatv;

/// Each sequence gets one token.
static int64_t tokensPerSecond(const FitPoint &point) {
  return static_cast<int64_t>(1e9 * static_cast<double>(point.batch) /
                              static_cast<double>(std::max<int64_t>(point.ns, 1)));
}

static int64_t weightBytes(const FitPoint &point) { return point.residentBytes - point.cacheBytes; }

static std::string sequences(int64_t count) { return counted(count, "sequence"); }

static int64_t bytesPerToken(const FitPoint &point) {
  return point.cacheBytes / std::max<int64_t>(point.batch * point.seq, 1);
}

//===----------------------------------------------------------------------===//
// For programs
//===----------------------------------------------------------------------===//

static llvm::json::Value toJson(const FitPoint &point, bool hasRates) {
  llvm::json::Object object{{"context", point.seq},
                            {"largest_batch", point.batch},
                            {"cache_bytes", point.cacheBytes},
                            {"needed_bytes", point.neededBytes}};
  if (hasRates) {
    object["time_ns"] = point.ns;
    object["tokens_per_second"] = tokensPerSecond(point);
  }
  return object;
}

static llvm::json::Value toJson(const Prefill &prefill, bool hasRates) {
  llvm::json::Object object{{"chunk", prefill.chunk},
                            {"steps", prefill.steps},
                            {"batch", prefill.point.batch},
                            {"needed_bytes", prefill.point.neededBytes}};
  if (hasRates)
    object["time_ns"] = prefill.point.ns;
  return object;
}

llvm::json::Value llmmem::toJson(const FitModel &model, const InferenceAnswer &answer) {
  const FitPoint &asked = answer.asked;
  const importer::ImportOptions &options = model.importOptions();
  llvm::json::Array contexts;
  for (const FitPoint &point : answer.contexts)
    contexts.push_back(::toJson(point, answer.card.hasRates));
  llvm::json::Object object{
      {"format", "llmmem-fit"},
      {"version", 1},
      {"mode", "inference"},
      {"model", model.facts().file},
      {"parameters", model.parameters()},
      {"dtype", dtypeName(model.facts().dtype)},
      {"weights", options.weights ? options.weights->text() : "dtype"},
      {"kv_cache", options.kvCache ? importer::nameOf(*options.kvCache) : "dtype"},
      {"card", answer.card.name},
      {"card_bytes", answer.card.memory},
      {"reserve_bytes", answer.card.reserve},
      {"context", answer.request.context},
      {"batch", answer.request.batch ? llvm::json::Value(*answer.request.batch) : nullptr},
      {"fits", answer.fits},
      {"resident_bytes", asked.residentBytes},
      {"weight_bytes", weightBytes(asked)},
      {"cache_bytes", asked.cacheBytes},
      {"cache_bytes_per_token", bytesPerToken(asked)},
      {"needed_bytes", asked.neededBytes},
      {"needed_bytes_search", fewestBytesFlag()},
      {"largest_batch", answer.largestBatch},
      {"longest_context", answer.longestContext},
      {"largest_search", budgetFlag(answer.card)},
      {"contexts", std::move(contexts)},
      {"commands", llvm::json::Array(answer.commands)}};
  if (answer.prefill)
    object["prefill"] = ::toJson(*answer.prefill, answer.card.hasRates);
  if (const std::optional<Reservation> &it = answer.reservation)
    object["reservation"] = llvm::json::Object{
        {"share", *answer.request.utilization}, {"reserved_bytes", it->reservedBytes},
        {"cache_bytes", it->cacheBytes},        {"sequences", it->sequences},
        {"used_bytes", it->usedBytes},          {"wasted_bytes", it->wastedBytes()}};
  return object;
}

//===----------------------------------------------------------------------===//
// For people
//===----------------------------------------------------------------------===//

static void printNo(const InferenceAnswer &answer, llvm::raw_ostream &os) {
  const FitPoint &asked = answer.asked;
  const int64_t budget = answer.card.budget();
  os << formatv("no         {0} of up to {1} tokens: {2} do not hold them\n",
                sequences(asked.batch), answer.request.context, formatByteSize(budget));
  os << formatv("           they need {0}, of which weights are {1} and caches {2}\n",
                formatByteSize(asked.neededBytes), formatByteSize(weightBytes(asked)),
                formatByteSize(asked.cacheBytes));
  if (weightBytes(asked) > budget)
    os << "           the weights alone exceed it: no batch and no context fits\n";
  else
    os << formatv("           largest batch at {0} tokens {1}, longest context of {2} {3} "
                  "tokens\n",
                  answer.request.context, answer.largestBatch, sequences(asked.batch),
                  answer.longestContext);
}

static void printYes(const FitModel &model, const InferenceAnswer &answer, llvm::raw_ostream &os) {
  const FitPoint &asked = answer.asked;
  os << formatv("yes        {0} of up to {1} tokens: {2}, of which weights are {3}, caches "
                "{4}, activations {5}\n",
                sequences(asked.batch), answer.request.context, formatByteSize(asked.neededBytes),
                formatByteSize(weightBytes(asked)), formatByteSize(asked.cacheBytes),
                formatByteSize(asked.neededBytes - asked.residentBytes));
  os << formatv("caches     {0} bytes a token at this context\n", bytesPerToken(asked));
  os << formatv("largest    {0}{1} of {2} tokens; {3} tokens of {4}{5}\n",
                sequences(answer.largestBatch), endOfSearch(answer.largestBatch),
                answer.request.context, answer.longestContext, sequences(asked.batch),
                answer.longestContext + kSequenceStep > model.longestSequence()
                    ? ", the most that the model has positions for"
                    : "");
}

static void printContexts(const FitModel &model, const InferenceAnswer &answer,
                          llvm::raw_ostream &os) {
  os << formatv("\n{0,8}  {1,10}  {2,12}  {3,12}{4}\n", "context", "sequences", "caches", "bytes",
                answer.card.hasRates ? "     step time" : "");
  for (const FitPoint &point : answer.contexts) {
    os << formatv("{0,8}  {1,10}  {2,12}  {3,12}", point.seq, point.batch,
                  formatByteSize(point.cacheBytes), formatByteSize(point.neededBytes));
    if (answer.card.hasRates)
      os << formatv("  {0,12}  {1,9} tokens/s{2}", formatDuration(point.ns),
                    formatCount(tokensPerSecond(point)),
                    model.device().isMeasured() ? "" : " at most (datasheet)");
    os << "\n";
  }
}

static void printPrefill(const FitModel &model, const InferenceAnswer &answer,
                         llvm::raw_ostream &os) {
  if (!answer.prefill) {
    os << "\nprompts are read by steps of decoding, a token a step\n";
    return;
  }
  const auto &[chunk, steps, point] = *answer.prefill;
  os << formatv("\nprefill    {0} of up to {1} {2} read by {3} of {4}{5}: {6}",
                point.batch == 1 ? "a prompt" : formatv("{0} prompts", point.batch).str(),
                counted(answer.request.context, "token"), point.batch == 1 ? "is" : "are",
                counted(steps, "step"), counted(chunk, "token"), steps == 1 ? "" : " each",
                formatByteSize(point.neededBytes));
  if (answer.card.hasRates)
    os << formatv(", {0} a step{1}", formatDuration(point.ns),
                  model.device().isMeasured() ? "" : " at least (datasheet)");
  os << "\n";
}

/// Explains why the bytes that an engine shows as taken say little about the model.
static void printReservation(const InferenceAnswer &answer, llvm::raw_ostream &os) {
  const Reservation &it = *answer.reservation;
  os << formatv(
      "reserved   an engine told {0:f2} of the card takes {1} when it starts, whatever is "
      "asked of it\n",
      *answer.request.utilization, formatByteSize(it.reservedBytes));
  if (it.sequences == 0)
    os << "           that is too little for weights, activations and a sequence's caches\n";
  else
    os << formatv("           {0} of it are left to caches, {1} of {2} tokens; of all {3} "
                  "are used, {4} wasted\n",
                  formatByteSize(it.cacheBytes), sequences(it.sequences), answer.request.context,
                  formatByteSize(it.usedBytes), formatByteSize(it.wastedBytes()));
}

void llmmem::printFit(const FitModel &model, const InferenceAnswer &answer, llvm::raw_ostream &os) {
  printModelAndCard(model, answer.card, os);
  if (answer.fits)
    printYes(model, answer, os);
  else
    printNo(answer, os);
  if (answer.reservation)
    printReservation(answer, os);
  if (!answer.fits)
    return;
  printContexts(model, answer, os);
  printPrefill(model, answer, os);
  os << "\nweights, caches and activations of each are those of a plan\n";
  for (const std::string &command : answer.commands)
    os << "  " << command << "\n";
}
