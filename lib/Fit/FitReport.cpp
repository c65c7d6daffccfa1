//===- FitReport.cpp - The answer for people --------------------------------===//

#include "LargestSearch.h"
#include "PointText.h"
#include "ReliefReport.h"
#include "Trainings.h"
#include "llmmem/Support/ByteSize.h"
#include "llmmem/Support/NumberText.h"
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

/// Says how the model is trained, where that is not with AdamW and all that it has.
static std::string trainingText(const FitModel &model) {
  const importer::ImportOptions &options = model.importOptions();
  if (!options.trains())
    return "";
  importer::ImportOptions withoutType = options;
  withoutType.dtype = std::nullopt; // The line before has it.
  std::string text = importFlags(withoutType);
  if (options.lora || !options.freeze.empty()) {
    if (llvm::Expected<int64_t> trained = importer::countTrained(model.source(), options))
      text = " " + counted(*trained, "parameter") + " of" + text;
    else
      llvm::consumeError(trained.takeError());
  }
  text += hostFlags(model.form(), model.device()) + formFlags(model.form());
  return llvm::StringRef(text).ltrim().str();
}

void llmmem::printModelAndCard(const FitModel &model, const Card &card, llvm::raw_ostream &os) {
  os << formatv("model      {0}: {1}, {2}\n", model.facts().file,
                counted(model.parameters(), "parameter"), dtypeName(model.facts().dtype));
  const std::string training = trainingText(model);
  if (!training.empty())
    os << "trained    " << training << "\n";
  os << formatv(
      "card       {0}: {1}{2}, of which {3} are left to the program's context and libraries\n",
      card.name, formatByteSize(card.memory), card.count > 1 ? " each" : "",
      formatByteSize(card.reserve));
}

namespace {
class FitPrinter {
public:
  FitPrinter(const FitModel &model, const FitAnswer &answer, llvm::raw_ostream &os)
      : model(model), answer(answer), os(os) {}

  void printNo();
  void printYes();
  void printFastest();
  void printCommands();
  void printBatches();
  void printMeasures();
  void printCapacity();
  void printPhases();

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
  os << formatv("no         batch {0} at {1} does not train on {2}\n", batch,
                counted(answer.request.seq, "token"), formatByteSize(budget));
  if (least.residentBytes > budget) {
    os << formatv(
        "           weights, gradients and optimizer state alone are {0}: no batch fits\n",
        formatByteSize(least.residentBytes));
    printReliefs(model, answer, os);
    return;
  }
  os << formatv(
      "           the least that a plan was found for is {0} ({1}), of which {2} are resident\n",
      formatByteSize(least.neededBytes), fewestBytesFlag(), formatByteSize(least.residentBytes));
  os << formatv("           largest batch at {0} {1}, longest sequence at batch {2} {3}\n",
                counted(answer.request.seq, "token"), answer.largest.batch, batch,
                counted(answer.longestSequence, "token"));
  printReliefs(model, answer, os);
}

void FitPrinter::printYes() {
  os << formatv("yes        batch {0} at {1}: {2} are resident (weights, gradients, state), "
                "{3} the least in all ({4})\n",
                answer.least.batch, counted(answer.request.seq, "token"),
                formatByteSize(answer.least.residentBytes),
                formatByteSize(answer.least.neededBytes), fewestBytesFlag());
  if (!answer.request.batch)
    printFastest();
  if (answer.least.hostBytes)
    os << formatv("host       {0} lie in the host's memory between steps\n",
                  formatByteSize(answer.least.hostBytes));
  os << formatv("largest    batch {0}{1} at {2}; {3} at batch {4}{5}\n",
                formatCount(answer.largest.batch), endOfSearch(answer.largest.batch),
                counted(answer.request.seq, "token"), counted(answer.longestSequence, "token"),
                answer.least.batch,
                answer.longestSequence + kSequenceStep > model.longestSequence()
                    ? ", the most that the model has positions for"
                    : "");
}

std::string FitPrinter::timeOf(const FitPoint &point) {
  return formatv("  {0,12}  {1,9} tokens/s{2}", formatDuration(point.ns),
                 formatCount(tokensPerSecond(point)), boundText(model))
      .str();
}

/// Prints the recommended batch. Without a table it uses the times that llmmem-opt then plans with.
void FitPrinter::printFastest() {
  const FitPoint &point = answer.recommended;
  os << formatv("fastest    batch {0} at {1}: {2}", formatCount(point.batch),
                counted(point.seq, "token"), formatByteSize(point.neededBytes));
  if (answer.card.hasRates)
    os << formatv(", {0} tokens/s{1}\n", formatCount(tokensPerSecond(point)), boundText(model));
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
                answer.card.hasRates ? "  slowdown     step time" : "");
  for (const FitPoint &point : answer.batches) {
    os << formatv("{0,8}  {1,12}", point.batch, formatByteSize(point.neededBytes));
    if (answer.card.hasRates)
      os << formatv("  {0,6:f1} %", slowdownPercent(point)) << timeOf(point);
    os << nameOf(point) << "\n";
  }
}

void FitPrinter::printMeasures() {
  if (answer.measures.empty())
    return;
  os << formatv(
      "\nwhat each measure buys at batch {0}, {1}; recomputation down to the fewest bytes\n",
      answer.measures.front().point.batch, counted(answer.request.seq, "token"));
  for (const MeasureOutcome &it : answer.measures) {
    os << formatv("  {0,-30}{1,12}", it.name,
                  it.point.fits() ? formatByteSize(it.point.neededBytes) : "no plan found");
    if (answer.card.hasRates && it.point.fits())
      os << timeOf(it.point);
    os << "\n";
  }
}

/// Says what the places of a mixture cost, worst case and average.
void FitPrinter::printCapacity() {
  if (!answer.capacity)
    return;
  const auto &[places, point] = *answer.capacity;
  os << formatv("\nexperts    each has a place for every token, as all may choose it. With {0} for "
                "a sequence, 1.25 "
                "times what even routing fills\n           (--expert-capacity {1}; choices beyond "
                "are dropped and "
                "counted), batch {2} takes ",
                counted(places, "place"), places, point.batch);
  if (!point.fits()) {
    os << "no plan\n";
    return;
  }
  os << formatByteSize(point.neededBytes);
  if (answer.card.hasRates)
    os << formatv(" and {0} for a step, in place of {1} and {2}", formatDuration(point.ns),
                  formatByteSize(answer.recommended.neededBytes),
                  formatDuration(answer.recommended.ns));
  os << "\n";
}

/// Prints what is held when, for a program that allocates gradients and state when they are first
/// written.
void FitPrinter::printPhases() {
  if (!answer.phases)
    return;
  const StepPhases &step = *answer.phases;
  os << formatv("\nthe bytes over time at batch {0}\n  {1,-24}{2,12}{3,12}{4,12}{5,12}{6,12}\n",
                answer.recommended.batch, "", "parameters", "gradients", "state", "arena",
                "in all");
  auto row = [&](const std::string &name, int64_t gradients, int64_t state, int64_t arena) {
    os << formatv("  {0,-24}{1,12}{2,12}{3,12}{4,12}{5,12}\n", name,
                  formatByteSize(step.parameters), formatByteSize(gradients), formatByteSize(state),
                  formatByteSize(arena),
                  formatByteSize(step.parameters + step.others + gradients + state + arena));
  };
  row("parameters are loaded", 0, 0, 0);
  for (bool isFirst : {true, false})
    for (const PhaseBytes &it : step.phases) {
      const bool hasGradients = !isFirst || it.phase != planning::Phase::Forward;
      const bool hasState = !isFirst || it.phase == planning::Phase::Update;
      row((isFirst ? "first step, " : "later steps, ") + std::string(planning::nameOf(it.phase)),
          hasGradients ? step.gradients : 0, hasState ? step.state : 0, it.arena);
    }
  os << "inputs are in the sums; llmmem-run allocates " << formatByteSize(step.neededBytes)
     << " before the first step, and nothing after; the table is of a program that allocates\n"
        "gradients and state when they are first written\n";
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
  if (model.importOptions().weights)
    os << heldPriceText(*model.importOptions().weights, model.device());
  printer.printBatches();
  printer.printMeasures();
  printer.printCapacity();
  printer.printPhases();
  printer.printCommands();
}
