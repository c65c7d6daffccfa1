//===- CodeCache.h - Machine code that earlier runs have compiled -----------===//

#ifndef LLMMEM_LIB_EXECUTION_CODECACHE_H
#define LLMMEM_LIB_EXECUTION_CODECACHE_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/MemoryBuffer.h"
#include <functional>
#include <string>

namespace llmmem {

/// Manages a folder of object files, each under a name that says everything that its code depends
/// on. What cannot be read is compiled again, and what cannot be written is not kept: a cache never
/// fails a run. Files are written by way of /proc; without it none is written.
///
/// What is in the folder is run. So the folder and each file must belong to this user (or root),
/// must not be writable by other users, and must not be links. Any other folder or file ends the
/// use of the cache, and `warn` is told why. Both checks apply to open files: the returned bytes
/// are those of the file that was checked.
class CodeCache {
public:
  using Warn = std::function<void(const llvm::Twine &)>;

  /// Opens the folder that LLMMEM_CODE_CACHE names, and creates it for this user alone where it is
  /// missing. Without the variable nothing is kept.
  static CodeCache fromEnvironment(Warn warn);
  CodeCache(const CodeCache &) = delete;
  CodeCache &operator=(const CodeCache &) = delete;
  ~CodeCache();

  bool isOn() const { return folder >= 0; }
  /// Returns null where the folder has no such code, or a damaged one.
  std::unique_ptr<llvm::MemoryBuffer> read(llvm::StringRef name);
  void write(llvm::StringRef name, llvm::StringRef code);

private:
  CodeCache(std::string path, Warn warn);
  void close();
  /// Ends the use of the cache where `file`, of the folder or the folder itself, is not to be
  /// trusted.
  bool isOwn(int descriptor, llvm::StringRef file);
  /// Returns a path to the open folder, whatever has its name now.
  std::string openFolder() const;

  std::string path;
  Warn warn;
  int folder = -1;
};

/// Returns text that changes whenever the running program is rebuilt, because the code also depends
/// on its lowering.
std::string buildOfProgram();

} // namespace llmmem

#endif // LLMMEM_LIB_EXECUTION_CODECACHE_H
