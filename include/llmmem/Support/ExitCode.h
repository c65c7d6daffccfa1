//===- ExitCode.h - What the exit codes of the tools mean ------------------===//
//
// This is the one table: the tools return these codes, and each prints its lines of the table in
// --help.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_SUPPORT_EXITCODE_H
#define LLMMEM_SUPPORT_EXITCODE_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace llmmem {

enum ExitCode : int {
  ExitSuccess = 0,
  ExitBadInput = 1,
  ExitNoPlan = 2,
  ExitNoDevice = 3,
  ExitSignal = 128, // plus the signal's number, as shells report it: 130 after Ctrl-C
};

/// Returns the section EXIT CODES of a tool's help, from an empty line on.
std::string exitCodeHelp(llvm::StringRef tool);

} // namespace llmmem

#endif // LLMMEM_SUPPORT_EXITCODE_H
