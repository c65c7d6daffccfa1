//===- FitReport.cpp - The answer for people and for programs ---------------===//

#include "FastestBatch.h"
#include "LargestSearch.h"
#include "llmmem/Fit/Fit.h"
#include "llmmem/Support/ByteSize.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llmmem;
using llvm::formatv;

llvm::StringRef llmmem::dtypeName(importer::ElementKind kind) {
  switch (kind) {
  case importer::ElementKind::BF16:
    return "bf16";
  case importer::ElementKind::F16:
    return "f16";
  case importer::ElementKind::F32:
    return "f32";
  case importer::ElementKind::F64:
    return "f64";
  }
  return "";
}

static int64_t tokensPerSecond(const FitPoint &point) {
  return static_cast<int64_t>(1e9 * tokensPerNs(point));
}

static double slowdownPercent(const FitPoint &point) {
  return 100.0 * (static_cast<double>(point.ns) /
                      static_cast<double>(std::max<int64_t>(point.withoutBudgetNs, 1)) -
                  1.0);
}

//===----------------------------------------------------------------------===//
// For programs
//===----------------------------------------------------------------------===//

static llvm::json::Value toJson(const FitPoint &point, bool hasRates) {
  llvm::json::Object object{{"batch", point.batch},
                            {"seq", point.seq},
                            {"fits", point.fits()},
                            {"needed_bytes", point.neededBytes}};
  if (hasRates && point.fits()) {
    object["time_ns"] = point.ns;
    object["slowdown_percent"] = slowdownPercent(point);
    object["tokens_per_second"] = tokensPerSecond(point);
  }
  return object;
}

llvm::json::Value llmmem::toJson(const FitModel &model, const FitAnswer &answer) {
  auto pointOrNull = [&](const FitPoint &point) {
    return point.fits() ? ::toJson(point, answer.card.hasRates) : llvm::json::Value(nullptr);
  };
  llvm::json::Array batches, measured, reliefs;
  for (const FitPoint &point : answer.batches)
    batches.push_back(::toJson(point, answer.card.hasRates));
  for (const MeasureOutcome &it : answer.measures) {
    llvm::json::Value point = ::toJson(it.point, answer.card.hasRates);
    point.getAsObject()->insert({"measure", it.name});
    measured.push_back(std::move(point));
  }
  for (const ReliefOutcome &it : answer.reliefs)
    reliefs.push_back(llvm::json::Object{{"flags", it.relief.flags},
                                         {"ranks", it.relief.ranks},
                                         {"batch", it.point.batch},
                                         {"fits", it.point.fits()},
                                         {"resident_bytes", it.point.residentBytes},
                                         {"needed_bytes", it.point.neededBytes},
                                         {"host_bytes", it.point.hostBytes}});
  return llvm::json::Object{
      {"format", "llmmem-fit"},
      {"version", 1},
      {"model", model.facts().file},
      {"parameters", model.parameters()},
      {"dtype", dtypeName(model.facts().dtype)},
      {"card", answer.card.name},
      {"card_bytes", answer.card.memory},
      {"reserve_bytes", answer.card.reserve},
      {"seq", answer.request.seq},
      {"batch", answer.request.batch ? llvm::json::Value(*answer.request.batch) : nullptr},
      {"fits", answer.fits},
      {"resident_bytes", answer.least.residentBytes},
      {"least_bytes", answer.least.neededBytes},
      {"least_bytes_search", fewestBytesFlag()},
      {"recommended", pointOrNull(answer.recommended)},
      {"largest", pointOrNull(answer.largest)},
      {"largest_batch", answer.largest.batch},
      {"longest_sequence", answer.longestSequence},
      {"largest_search", budgetFlag(answer.card)},
      {"times", !answer.card.hasRates         ? "none"
                : model.device().isMeasured() ? "measured"
                                              : "datasheet"},
      {"batches", std::move(batches)},
      {"measures", std::move(measured)},
      {"reliefs", std::move(reliefs)},
      {"search_seconds", model.searchSeconds()},
      {"commands", llvm::json::Array(answer.commands)},
      {"largest_commands", llvm::json::Array(answer.largestCommands)}};
}

//===----------------------------------------------------------------------===//
// For people
//===----------------------------------------------------------------------===//

void llmmem::printModelAndCard(const FitModel &model, const Card &card, llvm::raw_ostream &os) {
  os << formatv("model      {0}: {1} parameters, {2}\n", model.facts().file, model.parameters(),
                dtypeName(model.facts().dtype));
  os << formatv(
      "card       {0}: {1}, of which {2} are left to the program's context and libraries\n",
      card.name, formatByteSize(card.memory), formatByteSize(card.reserve));
}

namespace {
class FitPrinter {
public:
  FitPrinter(const FitModel &model, const FitAnswer &answer, llvm::raw_ostream &os)
      : model(model), answer(answer), os(os) {}

  void printNo();
  void printReliefs();
  void printYes();
  void printFastest();
  void printCommands();
  void printBatches();
  void printMeasures();

private:
  std::string timeOf(const FitPoint &point);
  llvm::StringRef nameOf(const FitPoint &point);

  const FitModel &model;
  const FitAnswer &answer;
  llvm::raw_ostream &os;
};
} // namespace

/// Prints three lines: what is requested, what prevents it, what would help.
void FitPrinter::printNo() {
  const FitPoint &least = answer.least;
  const int64_t batch = answer.request.batch.value_or(1), budget = answer.card.budget();
  os << formatv("no         batch {0} at {1} tokens does not train on {2}\n", batch,
                answer.request.seq, formatByteSize(budget));
  if (least.residentBytes > budget) {
    os << formatv(
        "           weights, gradients and optimizer state alone are {0}: no batch fits\n",
        formatByteSize(least.residentBytes));
    printReliefs();
    return;
  }
  os << formatv(
      "           the least that a plan was found for is {0} ({1}), of which {2} are resident\n",
      formatByteSize(least.neededBytes), fewestBytesFlag(), formatByteSize(least.residentBytes));
  os << formatv("           largest batch at {0} tokens {1}, longest sequence at batch {2} {3} "
                "tokens\n",
                answer.request.seq, answer.largest.batch, batch, answer.longestSequence);
  printReliefs();
}

/// Each was planned, so the report says what was found.
void FitPrinter::printReliefs() {
  if (answer.reliefs.empty())
    return;
  os << "           ";
  llvm::StringRef separator;
  for (const ReliefOutcome &it : answer.reliefs) {
    os << separator << it.relief.flags << ": ";
    separator = "; ";
    if (it.relief.ranks > 1)
      os << formatv("batch {0}, ", it.point.batch);
    if (it.point.fits())
      os << formatv("trains in {0}", formatByteSize(it.point.neededBytes));
    else
      os << formatv("{0} resident{1}", formatByteSize(it.point.residentBytes),
                    it.point.residentBytes > answer.card.budget() ? "" : ", no plan found");
    os << (it.relief.ranks > 1 ? " on each" : "");
    if (it.point.hostBytes > 0)
      os << formatv(", with {0} on the host", formatByteSize(it.point.hostBytes));
  }
  os << "\n";
}

void FitPrinter::printYes() {
  os << formatv("yes        batch {0} at {1} tokens: {2} are resident (weights, gradients, state), "
                "{3} the least in all ({4})\n",
                answer.least.batch, answer.request.seq, formatByteSize(answer.least.residentBytes),
                formatByteSize(answer.least.neededBytes), fewestBytesFlag());
  if (!answer.request.batch)
    printFastest();
  os << formatv("largest    batch {0}{1} at {2} tokens; {3} tokens at batch {4}{5}\n",
                answer.largest.batch, endOfSearch(answer.largest.batch), answer.request.seq,
                answer.longestSequence, answer.least.batch,
                answer.longestSequence + kSequenceStep > model.longestSequence()
                    ? ", the most that the model has positions for"
                    : "");
}

/// Rates of a datasheet are never exceeded, so the resulting time is a bound.
std::string FitPrinter::timeOf(const FitPoint &point) {
  return formatv("  {0,10:f2} ms  {1,9} tokens/s{2}", point.ns / 1e6, tokensPerSecond(point),
                 model.device().isMeasured() ? "" : " at most (datasheet)")
      .str();
}

/// Prints the recommended batch. Without a table it uses the times that llmmem-opt then plans with.
void FitPrinter::printFastest() {
  const FitPoint &point = answer.recommended;
  os << formatv("fastest    batch {0} at {1} tokens: {2}", point.batch, point.seq,
                formatByteSize(point.neededBytes));
  if (answer.card.hasRates)
    os << formatv(", {0} tokens/s{1}\n", tokensPerSecond(point),
                  model.device().isMeasured() ? "" : " at most (datasheet)");
  else
    os << formatv(", modelled for {0}, as llmmem-opt does without a device\n", model.device().name);
}

/// Says what a row of the table is, where it is more than a batch.
llvm::StringRef FitPrinter::nameOf(const FitPoint &point) {
  const bool isRecommended = !answer.request.batch && point.batch == answer.recommended.batch;
  if (point.batch == answer.largest.batch)
    return isRecommended ? "  fastest and largest" : "  largest";
  return isRecommended ? "  fastest" : "";
}

void FitPrinter::printBatches() {
  os << formatv("\n{0,8}  {1,12}{2}\n", "batch", "bytes",
                answer.card.hasRates ? "    slowdown     step time" : "");
  for (const FitPoint &point : answer.batches) {
    os << formatv("{0,8}  {1,12}", point.batch, formatByteSize(point.neededBytes));
    if (answer.card.hasRates)
      os << formatv("  {0,8:f2} %", slowdownPercent(point)) << timeOf(point);
    os << nameOf(point) << "\n";
  }
}

void FitPrinter::printMeasures() {
  if (answer.measures.empty())
    return;
  os << formatv(
      "\nwhat each measure buys at batch {0}, {1} tokens; recomputation down to the fewest bytes\n",
      answer.measures.front().point.batch, answer.request.seq);
  for (const MeasureOutcome &it : answer.measures) {
    os << formatv("  {0,-30}{1,12}", it.name,
                  it.point.fits() ? formatByteSize(it.point.neededBytes) : "no plan found");
    if (answer.card.hasRates && it.point.fits())
      os << timeOf(it.point);
    os << "\n";
  }
}

void FitPrinter::printCommands() {
  os << "\neach is a plan that a search of " << llvm::format("%g", model.searchSeconds())
     << " s found; a longer one (--seconds) may find a larger batch\n";
  for (const std::string &command : answer.commands)
    os << "  " << command << "\n";
  if (answer.largestCommands.empty())
    return;
  os << "the largest batch is planned by\n";
  for (const std::string &command : answer.largestCommands)
    os << "  " << command << "\n";
}

void llmmem::printFit(const FitModel &model, const FitAnswer &answer, llvm::raw_ostream &os) {
  FitPrinter printer(model, answer, os);
  printModelAndCard(model, answer.card, os);
  if (!answer.fits) {
    printer.printNo();
    return;
  }
  printer.printYes();
  printer.printBatches();
  printer.printMeasures();
  printer.printCommands();
}
