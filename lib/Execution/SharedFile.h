//===- SharedFile.h - One file that all ranks write ------------------------===//
//
// The first rank makes a temporary next to the target and writes its header, each rank writes the
// parts that it has at their place, and the first renames it. A rank that dies does not change the
// target, and leaves the temporary, which the next writer of the target removes.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_EXECUTION_SHAREDFILE_H
#define LLMMEM_LIB_EXECUTION_SHAREDFILE_H

#include "FileContents.h"
#include "llmmem/Support/TemporaryFile.h"
#include <optional>

namespace llmmem {

/// Has the steps of writing in their order. Each fails on all ranks if it fails on one.
class SharedFile {
public:
  explicit SharedFile(llvm::StringRef path) : path(path.str()) {}
  ~SharedFile();

  /// Runs all of them.
  static llvm::Error writeWhole(llvm::StringRef path, llvm::StringRef header,
                                llvm::ArrayRef<TensorEntry> tensors, const FileContents &contents);

  llvm::Error create(llvm::StringRef header, int64_t bytes);
  /// Writes those of `tensors` that `contents` has, after a header of `begin` bytes.
  llvm::Error write(llvm::ArrayRef<TensorEntry> tensors, const FileContents &contents,
                    int64_t begin);
  llvm::Error rename();
  /// Removes what was not renamed. All ranks call it, in their own time.
  void discard();

private:
  std::error_code begin(llvm::StringRef header, int64_t bytes);
  llvm::Error agree(std::error_code code, const char *what);
  std::error_code writeAt(llvm::StringRef bytes, int64_t offset);
  std::error_code writeRuns(const TensorEntry &tensor, int64_t begin);

  std::string path;
  std::optional<TemporaryFile> temporary; // On the first rank.
  int descriptor = -1;                    // The temporary's, on each rank.
};

} // namespace llmmem

#endif // LLMMEM_LIB_EXECUTION_SHAREDFILE_H
