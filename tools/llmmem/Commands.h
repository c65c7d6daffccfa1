//===- Commands.h - What the program llmmem can be asked for ----*- C++ -*-===//

#ifndef LLMMEM_TOOLS_LLMMEM_COMMANDS_H
#define LLMMEM_TOOLS_LLMMEM_COMMANDS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace llmmem {

/// `llmmem NAME` and the program llmmem-NAME are the same.
struct Command {
  llvm::StringRef name;
  llvm::StringRef summary;  // Is one line of --help.
  int (*run)(int, char **); // Null: a program of its own, which lies next to this one.
};

llvm::ArrayRef<Command> commands();

/// Returns the command of that name, or null.
const Command *findCommand(llvm::StringRef name);

/// Returns the text of `llmmem --help`, which fits a screen.
std::string commandHelp();

/// Says that there is no such command, which one is nearest, and how to list them all.
std::string unknownCommand(llvm::StringRef name);

} // namespace llmmem

#endif // LLMMEM_TOOLS_LLMMEM_COMMANDS_H
