//===- StartTool.cpp - What every tool does first ---------------------------===//

#include "llmmem/Support/StartTool.h"
#include "llmmem/Support/ExitCode.h"
#include "llmmem/Support/TextFile.h"
#include "llvm/Support/PrettyStackTrace.h"
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

void llmmem::startTool(const char *tool) {
  toolAtExit = tool;
  // A handler that is registered last runs first: before these streams are destroyed.
  (void)llvm::outs();
  (void)llvm::errs();
  std::atexit(writeOutStdout);
  llvm::setBugReportMsg("llmmem crashed, which is a fault of llmmem whatever its input was. Please "
                        "report it to llmmem with the input and the lines below.\n");
}
