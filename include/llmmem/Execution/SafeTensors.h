//===- SafeTensors.h - Tensors in files, by name ---------------------------===//
//
// The format of Hugging Face checkpoints: 8 bytes of header length, a JSON header that gives each
// tensor its dtype, shape and byte range, then the bytes. The reader checks everything: ranges must
// tile the data exactly.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_EXECUTION_SAFETENSORS_H
#define LLMMEM_EXECUTION_SAFETENSORS_H

#include "llmmem/Execution/Shard.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <map>
#include <string>
#include <vector>

namespace llmmem {

struct TensorEntry {
  std::string name;
  std::string dtype; // F64, F32, BF16, F16, I64, ...
  std::vector<int64_t> shape;
  llvm::StringRef bytes; // little-endian, row-major
  Shard shard = {};      // where `bytes` are this rank's part of the tensor
  std::string file = {}; // which of an index's files it was read from
};

/// The format's `__metadata__`: strings by name.
using Metadata = std::map<std::string, std::string>;

class SafeTensors {
public:
  /// A file, or the index of several (`model.safetensors.index.json`), whose tensors are then those
  /// that it names, and whose strings of "metadata" are the format's. Fails if one of its files is
  /// missing or lacks a tensor that the index has there.
  static llvm::Expected<SafeTensors> read(llvm::StringRef path);
  static llvm::Expected<SafeTensors> parse(std::unique_ptr<llvm::MemoryBuffer> buffer);

  /// Null if there is no such tensor.
  const TensorEntry *find(llvm::StringRef name) const;
  llvm::ArrayRef<TensorEntry> tensors() const { return entries; }
  /// The text of `__metadata__` under a key; empty if there is none.
  llvm::StringRef metadata(llvm::StringRef key) const;
  /// Equal for files whose tensors and strings are. A tensor whose hashes the file has
  /// (`addHashes`) counts by them, as loading compares its bytes with them; of others all bytes are
  /// read.
  std::string contentsHash() const;

private:
  static llvm::Expected<SafeTensors> readIndex(llvm::StringRef path, llvm::StringRef text);

  std::vector<std::unique_ptr<llvm::MemoryBuffer>> buffers;
  std::vector<TensorEntry> entries;
  llvm::StringMap<size_t> byName;
  Metadata texts;
};

/// XXH3 of 128 bits, as 32 hexadecimal digits.
std::string hashText(llvm::StringRef bytes);

/// The metadata that holds the hashes of a tensor's parts, equal parts in order.
std::string hashKeyOf(llvm::StringRef tensor);
/// The metadata that says how those parts are split (`Shard::toText`), where they do not lie one
/// behind the other in the tensor.
std::string partsKeyOf(llvm::StringRef tensor);
/// All ranks that have a part call it.
std::string hashesOf(const TensorEntry &tensor);
/// Adds to `metadata` what `checkHashes` needs of each tensor. All ranks that have a part call it.
void addHashes(llvm::ArrayRef<TensorEntry> tensors, Metadata &metadata);
/// Fails if the bytes of a tensor of a file are not those that its metadata has the hashes of.
/// Files of others have none.
llvm::Error checkHashes(const TensorEntry &tensor, llvm::StringRef hashes, llvm::StringRef split);

/// As loaders of models split them.
inline constexpr int64_t kBytesOfFile = 5'000'000'000;

/// Writes all tensors or nothing: into a temporary file that is then renamed to `path`. Does not
/// copy the tensors. All ranks of the job call it with the same tensors, of which each writes its
/// parts to the one file; it fails on all of them if it fails on one. A `path` that ends
/// in .json becomes the index of files beside it, of at most `fileBytes` bytes of tensors each, or
/// of one larger tensor.
llvm::Error writeSafeTensors(llvm::StringRef path, llvm::ArrayRef<TensorEntry> tensors,
                             Metadata metadata = {}, int64_t fileBytes = kBytesOfFile);

} // namespace llmmem

#endif // LLMMEM_EXECUTION_SAFETENSORS_H
