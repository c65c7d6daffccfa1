//===- FileContents.h - What a safetensors file says of its tensors --------===//

#ifndef LLMMEM_LIB_EXECUTION_FILECONTENTS_H
#define LLMMEM_LIB_EXECUTION_FILECONTENTS_H

#include "llmmem/Execution/SafeTensors.h"
#include "llvm/ADT/MapVector.h"

namespace llmmem {

/// What a file says of a tensor.
struct TensorLine {
  std::string dtype;
  std::vector<int64_t> shape;
  int64_t bytes = 0, begin = 0; // in the file, behind the header
};

/// What a file holds, in its order.
struct FileContents {
  llvm::MapVector<std::string, TensorLine, std::map<std::string, unsigned>> tensors;
  Metadata metadata;
  int64_t bytes = 0; // of all tensors

  /// Behind what is there; nothing where a tensor of that name is.
  void add(const std::string &name, TensorLine line);
  /// The header's JSON.
  std::string toJson() const;
  /// The length of the JSON header and the header.
  std::string encodeHeader() const;
};

/// Of a whole tensor, wherever its parts are.
int64_t bytesOfElement(const TensorEntry &tensor);

/// Of what all ranks hold, which stages of a pipeline tell each other. All ranks call it.
llvm::Expected<FileContents> contentsOfAllRanks(llvm::ArrayRef<TensorEntry> tensors,
                                                const Metadata &metadata);

} // namespace llmmem

#endif // LLMMEM_LIB_EXECUTION_FILECONTENTS_H
