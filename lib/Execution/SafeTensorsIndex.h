//===- SafeTensorsIndex.h - Tensors in several files, and where each is ----===//
//
// As large models are published: `model.safetensors.index.json` says which file beside it has which
// tensor.
//
//   {"metadata": {"total_size": 16060522496, ...}, "weight_map": {"lm_head.weight":
//   "model-....safetensors", ...}}
//
// The index is what makes files a checkpoint, and its rename is the moment at which they become
// one. So files are named after what is in them, and none of the checkpoint before is touched until
// the index no longer names it: whenever a writer dies, an index and all of its files are there.
// What else it leaves, a temporary of the index names, and the next to write the index removes what
// no index in the folder names.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_EXECUTION_SAFETENSORSINDEX_H
#define LLMMEM_LIB_EXECUTION_SAFETENSORSINDEX_H

#include "FileContents.h"

namespace llmmem {

/// Whether a checkpoint of this name is an index of files.
inline bool isIndex(llvm::StringRef path) { return path.ends_with(".json"); }

/// Writes `contents` into files of at most `fileBytes` bytes of tensors each, in their order, and
/// then the index. A tensor is in one file: one that is larger has a file to itself. Removes the
/// files that only the index before named, where they have names that this function gives. All
/// ranks call it; it fails on all of them if it fails on one, and then all is as it was.
///
/// Example: 16 GB at 5 GB a file are model-86fb269d190d2c85-00001-of-00004.safetensors to -00004-.
llvm::Error writeIndexed(llvm::StringRef path, llvm::ArrayRef<TensorEntry> tensors,
                         FileContents contents, int64_t fileBytes);

} // namespace llmmem

#endif // LLMMEM_LIB_EXECUTION_SAFETENSORSINDEX_H
