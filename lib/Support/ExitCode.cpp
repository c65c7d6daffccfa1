//===- ExitCode.cpp - What the exit codes of the tools mean ----------------===//

#include "llmmem/Support/ExitCode.h"
#include "llvm/ADT/SmallVector.h"

using namespace llmmem;

static constexpr llvm::StringLiteral badInput = "bad input: the message says what was expected";

namespace {
/// Says what `code` means when `tool` returns it.
struct ExitCodeEntry {
  llvm::StringLiteral tool;
  int code;
  llvm::StringLiteral meaning;
};
} // namespace

static constexpr ExitCodeEntry table[] = {
    {"llmmem-import", ExitSuccess, "the model is written"},
    {"llmmem-import", ExitBadInput, badInput},
    {"llmmem-fit", ExitSuccess, "the model trains on the card: a plan was found"},
    {"llmmem-fit", ExitBadInput, badInput},
    {"llmmem-fit", ExitNoPlan, "it does not: the answer says what stands in the way"},
    {"llmmem-opt", ExitSuccess, "the printed program fits its budget, and verify-plan proved it"},
    {"llmmem-opt", ExitBadInput, badInput},
    {"llmmem-opt", ExitNoPlan,
     "no plan under this budget: the message says the least peak found and the proved lower bound"},
    {"llmmem-plan", ExitSuccess, "a plan is written; with --check: the plan holds"},
    {"llmmem-plan", ExitBadInput, badInput},
    {"llmmem-plan", ExitNoPlan,
     "no plan was found, and the answer says why; with --check: the plan is wrong"},
    {"llmmem-run", ExitSuccess, "all steps ran"},
    {"llmmem-run", ExitBadInput, badInput},
    {"llmmem-run", ExitNoDevice,
     "--device=cuda: no driver or no device was found, or it has too little free memory;\n"
     "--products=library: no cuBLASLt was found"},
    {"llmmem-run", 130,
     "Ctrl-C: the running step was finished, and saved where --save is given (a second Ctrl-C "
     "ends\n"
     "at once); 143 is the same for SIGTERM"},
    {"llmmem-bundle", ExitSuccess, "the bundle is written, with an image of each kernel"},
    {"llmmem-bundle", ExitBadInput, badInput},
    {"llmmem-replay", ExitSuccess, "all steps ran"},
    {"llmmem-replay", ExitBadInput, badInput},
    {"llmmem-replay", ExitNoDevice,
     "no driver or no device was found, or it has too little free memory;\n"
     "--products=library: no cuBLASLt was found"},
    {"llmmem-commbench", ExitSuccess, "the table is written"},
    {"llmmem-commbench", ExitBadInput, badInput},
    {"llmmem-emulate", ExitSuccess, "the function ran, and each access of its kernels was right"},
    {"llmmem-emulate", ExitBadInput,
     "bad input, or a fault: the message says in which kernel, block, thread and op"},
};

std::string llmmem::exitCodeHelp(llvm::StringRef tool) {
  size_t width = 0;
  for (const ExitCodeEntry &entry : table)
    if (entry.tool == tool)
      width = std::max(width, std::to_string(entry.code).size());
  std::string text = "\nEXIT CODES\n";
  for (const ExitCodeEntry &entry : table) {
    if (entry.tool != tool)
      continue;
    std::string code = std::to_string(entry.code);
    llvm::SmallVector<llvm::StringRef> lines;
    entry.meaning.split(lines, '\n');
    for (llvm::StringRef line : lines) {
      code.resize(width, ' ');
      text += "  " + code + "  " + line.str() + "\n";
      code.clear();
    }
  }
  return text;
}
