//===- FitClusterReport.cpp - The answer of several cards -------------------===//

#include "PointText.h"
#include "ReliefReport.h"
#include "llmmem/Fit/FitCluster.h"
#include "llmmem/Support/ByteSize.h"
#include "llmmem/Support/NumberText.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace llmmem;
using llvm::formatv;

//===----------------------------------------------------------------------===//
// For programs
//===----------------------------------------------------------------------===//

llvm::json::Value llmmem::toJson(const FitModel &model, const ClusterAnswer &answer) {
  llvm::json::Value value = toJson(model, answer.common);
  llvm::json::Object &object = *value.getAsObject();
  llvm::json::Array batches;
  for (const ClusterPoint &it : answer.batches)
    batches.push_back(llvm::json::Object{{"batch", it.point.batch},
                                         {"seq", it.point.seq},
                                         {"fits", it.point.fits()},
                                         {"planned", it.isPlanned},
                                         {"needed_bytes", it.point.neededBytes},
                                         {"time_ns", it.point.ns},
                                         {"tokens_per_second", tokensPerSecond(it.point)},
                                         {"flags", it.strategy.flags()}});
  object["batches"] = std::move(batches);
  object["cards"] = answer.common.card.count;
  if (answer.common.fits)
    object["mesh"] = answer.fastest.strategy.flags();
  return value;
}

//===----------------------------------------------------------------------===//
// For people
//===----------------------------------------------------------------------===//

static void printNo(const FitModel &model, const FitAnswer &answer, llvm::raw_ostream &os) {
  const int64_t batch = answer.request.batch.value_or(0);
  os << formatv("no         no mesh of {0} cards was found by which {1} under {2} on each\n",
                answer.card.count,
                (batch ? counted(batch, "sequence") : "sequences") + " of " +
                    counted(answer.request.seq, "token") + (batch == 1 ? " trains" : " train"),
                formatByteSize(answer.card.budget()));
  os << formatv("           weights, gradients and optimizer state are {0} in all\n",
                formatByteSize(answer.least.residentBytes));
  if (batch % answer.card.count)
    os << formatv("           {0} cards do not divide {1} equally: --batch {2} has the same number "
                  "for each\n",
                  answer.card.count, counted(batch, "sequence"),
                  llvm::alignTo(batch, answer.card.count));
  printReliefs(model, answer, os);
}

static void printBatches(const ClusterAnswer &answer, const FitModel &model,
                         llvm::raw_ostream &os) {
  os << formatv("\n{0,8}  {1,12}  {2,12}  {3,9}{4}  mesh\n", "batch", "on each", "step time",
                "tokens/s", model.device().isMeasured() ? "" : " at most (datasheet)");
  bool isModelled = false;
  for (const ClusterPoint &it : answer.batches) {
    os << formatv("{0,8}  {1,12}  {2,12}  {3,9}{4}{5}  {6}\n", formatCount(it.point.batch),
                  formatByteSize(it.point.neededBytes), formatDuration(it.point.ns),
                  formatCount(tokensPerSecond(it.point)), it.isPlanned ? "" : " *",
                  it.point.batch == answer.fastest.point.batch ? "  fastest" : "",
                  it.strategy.flags());
    isModelled |= !it.isPlanned;
  }
  if (isModelled)
    os << "* modelled from equal blocks, as --mesh=auto compares meshes; the fastest is planned "
          "as a whole\n";
}

void llmmem::printFit(const FitModel &model, const ClusterAnswer &answer, llvm::raw_ostream &os) {
  const FitAnswer &common = answer.common;
  printModelAndCard(model, common.card, os);
  if (!common.fits) {
    printNo(model, common, os);
    return;
  }
  const FitPoint &point = answer.fastest.point;
  os << formatv("yes        batch {0} at {1}: {2} on each of {3} cards, {4} tokens/s{5}\n",
                formatCount(point.batch), counted(point.seq, "token"),
                formatByteSize(point.neededBytes), common.card.count,
                formatCount(tokensPerSecond(point)), boundText(model));
  os << "by         " << answer.fastest.strategy.flags() << "\n";
  printBatches(answer, model, os);
  os << "\n--mesh=auto compares stages of a pipeline and micro-batches, too\n";
  for (const std::string &command : common.commands)
    os << "  " << command << "\n";
}
