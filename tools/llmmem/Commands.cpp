//===- Commands.cpp - What the program llmmem can be asked for --------------===//

#include "Commands.h"
#include "PlanModel.h"
#include "Tools.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llmmem;
using llvm::StringRef;

static constexpr Command kCommands[] = {
    {"fit", "does a model train or answer on a card, how fast, and what would help", fitMain},
    {"plan", "plan a config.json, or a problem in JSON, under a budget in bytes", planAnyMain},
    {"import", "make the graph of a model from its config.json", importMain},
    {"opt", "plan the step of a graph, or run any pass, as mlir-opt does", optMain},
    {"run", "train with a planned step, or generate text", runMain},
    {"study", "draw what memory costs in time, and where every byte is", nullptr},
    {"bundle", "write a planned step for a machine that has a GPU and no compiler", bundleMain},
    {"replay", "run a bundle there", nullptr},
    {"emulate", "run GPU kernels on the CPU, and check each access", emulateMain},
    {"commbench", "measure the links between ranks", nullptr},
    {"lsp-server", "serve editors of MLIR files", nullptr},
};

llvm::ArrayRef<Command> llmmem::commands() { return kCommands; }

const Command *llmmem::findCommand(StringRef name) {
  const Command *found =
      llvm::find_if(kCommands, [&](const Command &it) { return it.name == name; });
  return found == std::end(kCommands) ? nullptr : found;
}

std::string llmmem::commandHelp() {
  std::string text =
      "llmmem: the memory of transformers, planned under a number of bytes and proved\n"
      "\nUSAGE: llmmem COMMAND [options]\n\n";
  for (const Command &it : kCommands)
    text += llvm::formatv("  {0,-11} {1}\n", it.name, it.summary).str();
  text += R"(
EXAMPLES
  llmmem fit config.json --gpu 4090
  llmmem plan config.json --budget 40GB --batch 8 --seq 1024
  llmmem plan config.json --budget 40GB -o step.mlir && llmmem run step.mlir --data book.txt

'llmmem COMMAND --help' lists the options of a command, and what its exit codes mean. The program llmmem-COMMAND is the same.
)";
  return text;
}

std::string llmmem::unknownCommand(StringRef name) {
  const auto distance = [&](const Command &it) { return name.edit_distance(it.name); };
  const Command *nearest = llvm::min_element(
      kCommands, [&](const Command &a, const Command &b) { return distance(a) < distance(b); });
  std::string text = "llmmem: there is no command '" + name.str() + "'";
  constexpr unsigned kTypingError = 2; // letters
  if (distance(*nearest) <= kTypingError)
    text += "; did you mean '" + nearest->name.str() + "'?";
  return text + "\nllmmem --help lists the commands\n";
}
