//===- CodeCache.h - Machine code that earlier runs have compiled -----------===//

#ifndef LLMMEM_LIB_EXECUTION_CODECACHE_H
#define LLMMEM_LIB_EXECUTION_CODECACHE_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/MemoryBuffer.h"
#include <functional>
#include <string>

namespace llmmem {

/// A folder of object files, each under a name that says all that its code depends on. What cannot
/// be read is compiled again, and what cannot be written is not kept: a cache never fails a run.
/// Files are written by way of /proc, and without it none is.
///
/// What is in the folder is run. So the folder and each file must be this user's (or root's) and
/// writable by nobody else, and no links; a folder or file that is not so ends the use of the
/// cache, and `warn` is told why. Both are asked of what is open: the bytes that are returned are
/// those of the file that was checked.
class CodeCache {
public:
  using Warn = std::function<void(const llvm::Twine &)>;

  /// The folder that LLMMEM_CODE_CACHE names, which is made for this user alone where it is
  /// missing; without the variable nothing is kept.
  static CodeCache fromEnvironment(Warn warn);
  CodeCache(const CodeCache &) = delete;
  CodeCache &operator=(const CodeCache &) = delete;
  ~CodeCache();

  bool isOn() const { return folder >= 0; }
  /// Null where the folder has no such code, or a damaged one.
  std::unique_ptr<llvm::MemoryBuffer> read(llvm::StringRef name);
  void write(llvm::StringRef name, llvm::StringRef code);

private:
  CodeCache(std::string path, Warn warn);
  void close();
  /// Ends the use of the cache where `file`, of the folder or itself, is not to be trusted.
  bool isOwn(int descriptor, llvm::StringRef file);
  /// A path that leads to the folder that is open, whatever has its name now.
  std::string openFolder() const;

  std::string path;
  Warn warn;
  int folder = -1;
};

/// Changes whenever the program that runs is built anew, whose lowering the code depends on, too.
std::string buildOfProgram();

} // namespace llmmem

#endif // LLMMEM_LIB_EXECUTION_CODECACHE_H
