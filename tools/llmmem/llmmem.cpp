//===- llmmem.cpp - All tools in one program --------------------------------===//
//
// As LLVM's driver: what the program does is named by its first argument (`llmmem fit`), or by the
// name that it is called by (llmmem-fit, a link).
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "llmmem/Support/ExitCode.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <cstring>
#include <unistd.h>

using namespace llmmem;
using llvm::StringRef;

static constexpr llvm::StringLiteral kPrefix = "llmmem-";

/// Becomes the program next to this one, or fails where there is none.
static int startNeighbour(StringRef program, char **argv, const char *self) {
  llvm::SmallString<128> path(
      llvm::sys::path::parent_path(llvm::sys::fs::getMainExecutable(self, nullptr)));
  llvm::sys::path::append(path, program);
  execv(path.c_str(), argv);
  if (errno == ENOENT)
    llvm::errs() << "llmmem: this installation has no " << program << ", which would be '" << path
                 << "'; `utils/build` builds it, and `cmake --install` puts it there\n";
  else
    llvm::errs() << "llmmem: '" << path << "' cannot be started: " << std::strerror(errno) << "\n";
  return ExitBadInput;
}

/// Runs the command with its arguments, of which the first is its name.
static int runCommand(const Command &command, int argc, char **argv, const char *self) {
  std::string program = (kPrefix + command.name).str();
  llvm::SmallVector<char *> arguments(argv, argv + argc);
  arguments[0] = program.data();
  arguments.push_back(nullptr);
  return command.run ? command.run(argc, arguments.data())
                     : startNeighbour(program, arguments.data(), self);
}

int main(int argc, char **argv) {
  StringRef called = llvm::sys::path::filename(argv[0]);
  if (called.consume_front(kPrefix))
    if (const Command *command = findCommand(called))
      return runCommand(*command, argc, argv, argv[0]);
  const StringRef asked = argc > 1 ? argv[1] : "";
  if (asked.empty()) {
    llvm::errs() << commandHelp();
    return ExitBadInput;
  }
  if (asked == "--help" || asked == "-h" || asked == "help") {
    llvm::outs() << commandHelp();
    return ExitSuccess;
  }
  if (asked == "--version") {
    llvm::outs() << "llmmem " << LLMMEM_VERSION << "\n";
    return ExitSuccess;
  }
  if (const Command *command = findCommand(asked))
    return runCommand(*command, argc - 1, argv + 1, argv[0]);
  llvm::errs() << unknownCommand(asked);
  return ExitBadInput;
}
