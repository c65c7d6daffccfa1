//===- WriteProfile.cpp - The files of a profile ---------------------------===//

#include "WriteProfile.h"
#include "llmmem/Support/TextFile.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llmmem;

static Error write(StringRef file, const json::Value &value) {
  if (file.empty())
    return Error::success();
  return writeTextFile(file, formatv("{0:2}\n", value).str());
}

Error llmmem::writeProfileFiles(const StepProfile &profile, const json::Value &calls,
                                const RunOptions &options) {
  if (Error error = write(options.profileJson, calls))
    return error;
  return write(options.trace, profile.toTrace());
}
