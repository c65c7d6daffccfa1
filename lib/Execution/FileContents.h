//===- FileContents.h - What a safetensors file says about its tensors -----===//

#ifndef LLMMEM_LIB_EXECUTION_FILECONTENTS_H
#define LLMMEM_LIB_EXECUTION_FILECONTENTS_H

#include "llmmem/Execution/SafeTensors.h"
#include "llvm/ADT/MapVector.h"

namespace llmmem {

/// Holds what a file says about a tensor.
struct TensorLine {
  std::string dtype;
  std::vector<int64_t> shape;
  int64_t bytes = 0, begin = 0; // In the file, after the header.
};

/// Holds what a file contains, in its order.
struct FileContents {
  llvm::MapVector<std::string, TensorLine, std::map<std::string, unsigned>> tensors;
  Metadata metadata;
  int64_t bytes = 0; // The bytes of all tensors.

  /// Appends the tensor; does nothing where one of that name exists.
  void add(const std::string &name, TensorLine line);
  /// Returns the header's JSON.
  std::string toJson() const;
  /// Returns the length of the JSON header and the header.
  std::string encodeHeader() const;
};

/// Returns the bytes of an unsharded tensor, wherever its parts are.
int64_t bytesOfElement(const TensorEntry &tensor);

/// Returns the contents over all ranks, which stages of a pipeline exchange. All ranks call it.
llvm::Expected<FileContents> contentsOfAllRanks(llvm::ArrayRef<TensorEntry> tensors,
                                                const Metadata &metadata);

} // namespace llmmem

#endif // LLMMEM_LIB_EXECUTION_FILECONTENTS_H
