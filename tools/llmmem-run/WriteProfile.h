//===- WriteProfile.h - The files of a profile -----------------------------===//

#ifndef LLMMEM_TOOLS_LLMMEM_RUN_WRITEPROFILE_H
#define LLMMEM_TOOLS_LLMMEM_RUN_WRITEPROFILE_H

#include "RunOptions.h"
#include "llvm/Support/JSON.h"

namespace llmmem {

/// Writes what --profile-json and --trace ask for: `calls`, which is `profile.toJson()` and what
/// stands next to it, and the last step. Fails where a file cannot be written.
llvm::Error writeProfileFiles(const StepProfile &profile, const llvm::json::Value &calls,
                              const RunOptions &options);

} // namespace llmmem

#endif // LLMMEM_TOOLS_LLMMEM_RUN_WRITEPROFILE_H
