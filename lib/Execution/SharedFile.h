//===- SharedFile.h - One file that all ranks write ------------------------===//
//
// The first rank makes a temporary beside the target and its header, each puts the parts that it
// has in their place, and the first renames it. A rank that dies leaves the temporary, and the
// target as it was.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_EXECUTION_SHAREDFILE_H
#define LLMMEM_LIB_EXECUTION_SHAREDFILE_H

#include "FileContents.h"
#include "llvm/ADT/SmallString.h"

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

private:
  llvm::Error agree(std::error_code code, const char *what);
  std::error_code writeAt(llvm::StringRef bytes, int64_t offset);
  std::error_code writeRuns(const TensorEntry &tensor, int64_t begin);

  std::string path;
  llvm::SmallString<256> target, temporary;
  int descriptor = -1;
};

} // namespace llmmem

#endif // LLMMEM_LIB_EXECUTION_SHAREDFILE_H
