//===- ReliefReport.cpp - What would make a no a yes, for people ------------===//

#include "ReliefReport.h"
#include "PointText.h"
#include "llmmem/Support/ByteSize.h"
#include "llmmem/Support/NumberText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llmmem;
using llvm::formatv;

/// Returns both commands as a shell takes them in one line.
static std::string piped(llvm::ArrayRef<std::string> commands) {
  llvm::StringRef import = commands.front(), plan = commands.back();
  import.consume_back(" -o model.mlir");
  auto [before, after] = plan.split(" model.mlir");
  return (import + " | " + before + after).str();
}

static void printHead(const FitModel &model, const FitAnswer &answer, llvm::raw_ostream &os) {
  os << "\nwhat would train, each planned; those that take a card the least time for a token first"
     << (answer.card.hasRates ? "" : ", as modelled for " + model.device().name) << "\n";
  os << formatv("  {0,-34}{1,6}{2,12}{3,12}{4}  {5}\n", "way", "batch", "bytes", "on host",
                answer.card.hasRates ? "    tokens/s" : "", "what changes");
}

static void printWay(const FitModel &model, const FitAnswer &answer, const ReliefOutcome &way,
                     llvm::raw_ostream &os) {
  const FitPoint &point = way.point;
  os << formatv("  {0,-34}{1,6}{2,12}{3,12}", way.relief.name, formatCount(point.batch),
                formatByteSize(point.neededBytes),
                point.hostBytes ? formatByteSize(point.hostBytes) : "");
  if (answer.card.hasRates)
    os << formatv("{0,12}", formatCount(tokensPerSecond(point)));
  os << "  " << way.relief.changes << "\n      " << piped(way.commands) << "\n";
}

void llmmem::printReliefs(const FitModel &model, const FitAnswer &answer, llvm::raw_ostream &os) {
  if (answer.reliefs.empty())
    return;
  std::vector<std::string> tooLittle;
  bool isFirst = true, isSharing = answer.card.count > 1;
  for (const ReliefOutcome &way : answer.reliefs) {
    isSharing |= way.relief.ranks > 1 && way.point.fits();
    if (!way.point.fits()) {
      const bool isKnown = way.point.residentBytes > 0;
      tooLittle.push_back(
          way.relief.name +
          (isKnown ? " (" + formatByteSize(way.point.residentBytes) + " are resident)" : ""));
      continue;
    }
    if (isFirst)
      printHead(model, answer, os);
    isFirst = false;
    printWay(model, answer, way, os);
  }
  for (const ReliefOutcome &way : answer.reliefs)
    if (way.relief.options.weights && way.point.fits())
      os << heldPriceText(*way.relief.options.weights, model.device());
  if (isSharing && !isFirst)
    os << "bytes of several cards are those of each\n";
  if (!isFirst && answer.card.hasRates && !model.device().isMeasured())
    os << "tokens/s are bounds, by the rates of a datasheet\n";
  if (!tooLittle.empty())
    os << (isFirst ? "\n" : "") << "no plan under the budget was found with "
       << llvm::join(tooLittle, ", ") << "\n";
}
