//===- SharedFile.h - One file that all ranks write ------------------------===//
//
// The first rank makes a temporary beside the target and its header, each puts the parts that it
// has in their place, and the first renames it. A rank that dies leaves the temporary, which the
// next to write the target removes, and the target as it was.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_EXECUTION_SHAREDFILE_H
#define LLMMEM_LIB_EXECUTION_SHAREDFILE_H

#include "FileContents.h"
#include "llmmem/Support/TemporaryFile.h"
#include <optional>

namespace llmmem {

/// The steps of writing, in their order: each fails on all ranks if it fails on one.
class SharedFile {
public:
  explicit SharedFile(llvm::StringRef path) : path(path.str()) {}
  ~SharedFile();

  /// All of them.
  static llvm::Error writeWhole(llvm::StringRef path, llvm::StringRef header,
                                llvm::ArrayRef<TensorEntry> tensors, const FileContents &contents);

  llvm::Error create(llvm::StringRef header, int64_t bytes);
  /// Those of `tensors` that `contents` has, behind a header of `begin` bytes.
  llvm::Error write(llvm::ArrayRef<TensorEntry> tensors, const FileContents &contents,
                    int64_t begin);
  llvm::Error rename();
  /// What was not renamed goes. All ranks give it up, in their own time.
  void discard();

  /// The file that writing `path` replaces: behind links.
  static llvm::Expected<std::string> targetOf(llvm::StringRef path);

private:
  std::error_code begin(llvm::StringRef header, int64_t bytes);
  llvm::Error agree(std::error_code code, const char *what);
  std::error_code writeAt(llvm::StringRef bytes, int64_t offset);
  std::error_code writeRuns(const TensorEntry &tensor, int64_t begin);

  std::string path;
  std::optional<TemporaryFile> temporary; // of the first rank
  int descriptor = -1;                    // the temporary's, on each
};

} // namespace llmmem

#endif // LLMMEM_LIB_EXECUTION_SHAREDFILE_H
