//===- SafeTensorsIndex.h - Tensors in several files, and where each is ----===//
//
// Large models are published so: `model.safetensors.index.json` says which file next to it has
// which tensor.
//
//   {"metadata": {"total_size": 16060522496, ...}, "weight_map": {"lm_head.weight":
//   "model-....safetensors", ...}}
//
// Files become a checkpoint when the index is renamed. So files are named after
// their contents, and none of the previous checkpoint is touched until the index no longer names
// it: whenever a writer dies, an index and all of its files exist. A temporary of the index names
// what else the writer leaves, and the next writer of the index removes what no index in the folder
// names.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_EXECUTION_SAFETENSORSINDEX_H
#define LLMMEM_LIB_EXECUTION_SAFETENSORSINDEX_H

#include "FileContents.h"

namespace llmmem {

/// Returns whether a checkpoint of this name is an index of files.
inline bool isIndex(llvm::StringRef path) { return path.ends_with(".json"); }

/// Writes `contents` into files of at most `fileBytes` bytes of tensors each, in their order, and
/// then the index. A tensor is in one file; a larger one has a file to itself. Removes the files
/// that only the previous index named, where they have names that this function gives. All ranks
/// call it. It fails on all of them if it fails on one, and then nothing has changed.
///
/// Example: 16 GB at 5 GB a file are model-86fb269d190d2c85-00001-of-00004.safetensors to -00004-.
llvm::Error writeIndexed(llvm::StringRef path, llvm::ArrayRef<TensorEntry> tensors,
                         FileContents contents, int64_t fileBytes);

} // namespace llmmem

#endif // LLMMEM_LIB_EXECUTION_SAFETENSORSINDEX_H
