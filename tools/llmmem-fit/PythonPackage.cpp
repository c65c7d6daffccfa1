//===- PythonPackage.cpp - Where the module llmmem of this program is -------===//

#include "PythonPackage.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cstdlib>

namespace path = llvm::sys::path;

static bool holdsModule(llvm::StringRef folder) {
  llvm::SmallString<256> command(folder);
  path::append(command, "llmmem", "torch", "_command.py");
  return llvm::sys::fs::exists(command);
}

std::string llmmem::findPythonPackage() {
  static int anchor;
  const std::string program = llvm::sys::fs::getMainExecutable(nullptr, &anchor);
  const llvm::StringRef home = path::parent_path(path::parent_path(program));
  llvm::SmallString<256> installed(home), library(home);
  path::append(installed, "lib", "llmmem", "python");
  if (holdsModule(installed))
    return installed.str().str();
  if (const llvm::StringRef wheel = path::parent_path(home); holdsModule(wheel))
    return wheel.str();
  path::append(library, "lib", "libllmmem-c.so");
  if (llvm::sys::fs::exists(library))
    setenv("LLMMEM_LIBRARY", library.c_str(), /*overwrite=*/0);
  return LLMMEM_PYTHON_PACKAGE;
}
