//===- Commands.cpp - The commands that make what was planned ---------------===//

#include "Trainings.h"
#include "llvm/Support/Format.h"

using namespace llmmem;

std::string llmmem::fewestBytesFlag() { return "--checkpoint-budget=min"; }

std::string llmmem::budgetFlag(const Card &card) {
  return "--checkpoint-budget=" + std::to_string(card.budget());
}

std::string llmmem::importCommand(const FitModel &model) {
  const std::string &file = model.facts().file;
  return "llmmem-import " + (file == "<stdin>" ? "-" : file);
}

std::string llmmem::planCommand(const FitModel &model, const Card &card, const std::string &file,
                                const std::string &planned) {
  std::string text;
  llvm::raw_string_ostream(text) << "llmmem-opt " << budgetFlag(card)
                                 << (card.hasRates ? " --checkpoint-device=" + card.name : "")
                                 << llvm::format(" --checkpoint-seconds=%g", model.searchSeconds())
                                 << " " << file << ".mlir -o " << planned << ".mlir";
  return text;
}

std::vector<std::string> llmmem::stepCommands(const FitModel &model, const Card &card,
                                              int64_t batch, int64_t seq,
                                              const std::string &meshFlags) {
  const std::string import = importCommand(model) + " --batch " + std::to_string(batch) +
                             " --seq " + std::to_string(seq) + importFlags(model.importOptions()) +
                             " -o model.mlir";
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "llmmem-opt " << budgetFlag(card);
  if (card.count > 1)
    os << " --mesh=auto --topology=" << card.name;
  else if (card.hasRates)
    os << " --checkpoint-device=" << card.name;
  os << meshFlags << hostFlags(model.form(), model.device()) << formFlags(model.form())
     << llvm::format(" --checkpoint-seconds=%g", model.searchSeconds())
     << " model.mlir -o step.mlir";
  return {import, text};
}
