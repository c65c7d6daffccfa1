//===- StdoutAtExit.cpp - A message where stdout takes no more -------------===//

#include "llmmem/Support/StdoutAtExit.h"
#include "llmmem/Support/ExitCode.h"
#include "llmmem/Support/TextFile.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

static const char *toolAtExit = "";

static void writeOutStdout() {
  std::string why = llvm::toString(llmmem::flushStdout());
  if (!why.empty())
    llvm::errs() << toolAtExit << ": " << why << "\n";
  llvm::errs().clear_error();
  if (why.empty())
    return;
  std::fflush(nullptr);
  _exit(llmmem::ExitBadInput); // exit() must not be called again
}

void llmmem::checkStdoutAtExit(const char *tool) {
  toolAtExit = tool;
  // What is registered last runs first: before these streams are destroyed.
  (void)llvm::outs();
  (void)llvm::errs();
  std::atexit(writeOutStdout);
}
