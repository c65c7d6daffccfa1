//===- FitTorchReport.cpp - What PyTorch answers, for people and programs ---===//

#include "llmmem/Fit/FitTorch.h"
#include "llmmem/Support/ByteSize.h"
#include "llmmem/Support/NumberText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <set>

using namespace llmmem;
using llvm::formatv;
using llvm::StringRef;

llvm::json::Value llmmem::toJson(const TorchAnswer &answer) {
  llvm::json::Array ways;
  for (const TorchWay &way : answer.ways) {
    llvm::json::Object object{{"way", way.name}};
    if (way.refused.empty()) {
      object["allocated_bytes"] = way.allocated;
      object["reserved_bytes"] = way.reserved;
      object["in_all_bytes"] = way.reserved + answer.card.reserve;
      object["fits"] = way.fits;
    } else {
      object["refused"] = way.refused;
    }
    ways.push_back(std::move(object));
  }
  return llvm::json::Object{
      {"format", "llmmem-fit"},           {"version", 1},
      {"model", answer.request.model},    {"card", answer.card.name},
      {"card_bytes", answer.card.memory}, {"reserve_bytes", answer.card.reserve},
      {"ranks", answer.request.ranks},    {"fits", answer.fits},
      {"ways", std::move(ways)},          {"prediction", llvm::json::Object(answer.prediction)}};
}

/// Returns the ops of any way of which it is not known what they take while they run.
static std::set<std::string> unknownOps(const llvm::json::Object &prediction) {
  std::set<std::string> names;
  if (const llvm::json::Object *strategies = prediction.getObject("strategies"))
    for (const auto &[name, strategy] : *strategies)
      if (const llvm::json::Array *unknown = strategy.getAsObject()->getArray("unknown"))
        for (const llvm::json::Value &op : *unknown)
          names.insert(op.getAsString().value_or("").str());
  return names;
}

void llmmem::printTorch(const TorchAnswer &answer, llvm::raw_ostream &os) {
  const llvm::json::Object &made = answer.prediction;
  const Card &card = answer.card;
  os << formatv("model      {0}: {1}, {2}, as PyTorch traces it\n", answer.request.model,
                counted(made.getInteger("parameters").value_or(0), "parameter"),
                made.getString("dtype").value_or(""));
  os << formatv(
      "card       {0}: {1}, of which {2} are left to the program's context and libraries\n",
      card.name, formatByteSize(card.memory), formatByteSize(card.reserve));
  os << formatv("step       batch {0} at {1}, {2}, on each of {3} ranks where there are "
                "several\n",
                made.getInteger("batch").value_or(1),
                counted(made.getInteger("seq").value_or(0), "token"),
                made.getString("optimizer").value_or(""), answer.request.ranks);
  os << formatv("\n{0,-22}{1,12}{2,12}{3,12}  {4}\n", "way to train", "allocated", "reserved",
                "in all", "trains");
  for (const TorchWay &way : answer.ways)
    if (way.refused.empty())
      os << formatv("{0,-22}{1,12}{2,12}{3,12}  {4}\n", way.name, formatByteSize(way.allocated),
                    formatByteSize(way.reserved), formatByteSize(way.reserved + card.reserve),
                    way.fits ? "yes" : "no");
  for (const TorchWay &way : answer.ways)
    if (!way.refused.empty())
      os << formatv("{0,-22}no answer: {1}\n", way.name, way.refused);
  os << "\nallocated are the bytes of tensors, reserved those that PyTorch's allocator has asked "
        "of the driver,\nin all with what is left to context and libraries\n";
  const std::set<std::string> unknown = unknownOps(made);
  if (!unknown.empty())
    os << "not counted, since it is not known: what these take while they run: "
       << llvm::join(unknown, ", ") << "\n";
}
