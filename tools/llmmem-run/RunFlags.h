//===- RunFlags.h - The command line of a run -------------------------------===//

#ifndef LLMMEM_TOOLS_LLMMEM_RUN_RUNFLAGS_H
#define LLMMEM_TOOLS_LLMMEM_RUN_RUNFLAGS_H

#include "RunOptions.h"
#include "llvm/Support/Error.h"

namespace llmmem {

/// Fails at flags that make no sense, alone or together, and says what to do. --help ends
/// the process.
llvm::Expected<RunOptions> readFlags(int argc, char **argv);

} // namespace llmmem

#endif // LLMMEM_TOOLS_LLMMEM_RUN_RUNFLAGS_H
