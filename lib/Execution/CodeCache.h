//===- CodeCache.h - Machine code that earlier runs have compiled -----------===//

#ifndef LLMMEM_LIB_EXECUTION_CODECACHE_H
#define LLMMEM_LIB_EXECUTION_CODECACHE_H

#include "llvm/Support/MemoryBuffer.h"
#include <optional>
#include <string>

namespace llmmem {

/// A folder of object files, each under a name that says all that its code depends on. What cannot
/// be read is compiled again, and what cannot be written is not kept: a cache never fails a run.
class CodeCache {
public:
  /// The folder that LLMMEM_CODE_CACHE names; without one nothing is kept.
  static CodeCache fromEnvironment();

  bool isOn() const { return !folder.empty(); }
  /// Null where the folder has no such code, or a damaged one.
  std::unique_ptr<llvm::MemoryBuffer> read(llvm::StringRef name) const;
  void write(llvm::StringRef name, llvm::StringRef code) const;

private:
  explicit CodeCache(std::string folder) : folder(std::move(folder)) {}
  std::string pathOf(llvm::StringRef name) const;

  std::string folder;
};

/// Changes whenever the program that runs is built anew, whose lowering the code depends on, too.
std::string buildOfProgram();

} // namespace llmmem

#endif // LLMMEM_LIB_EXECUTION_CODECACHE_H
