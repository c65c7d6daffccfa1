//===- SafeTensors.h - Tensors in files, by name ---------------------------===//
//
// This is the format of Hugging Face checkpoints: 8 bytes of header length, a JSON header that
// gives each tensor its dtype, shape and byte range, then the bytes. The reader checks everything:
// ranges must tile the data exactly.
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
  llvm::StringRef bytes; // Little-endian, row-major.
  Shard shard = {};      // Says which part of the tensor `bytes` are on this rank.
  std::string file = {}; // The file of an index that it was read from.
};

/// Maps names to the strings of the format's `__metadata__`.
using Metadata = std::map<std::string, std::string>;

class SafeTensors {
public:
  /// Reads a file, or the index of several (`model.safetensors.index.json`). An index has the
  /// tensors that it names, and the strings of its "metadata" become the format's. Fails if one of
  /// its files is missing or lacks a tensor that the index assigns to it.
  static llvm::Expected<SafeTensors> read(llvm::StringRef path);
  static llvm::Expected<SafeTensors> parse(std::unique_ptr<llvm::MemoryBuffer> buffer);

  /// Returns null if there is no such tensor.
  const TensorEntry *find(llvm::StringRef name) const;
  llvm::ArrayRef<TensorEntry> tensors() const { return entries; }
  /// Returns the text of `__metadata__` under a key; empty if there is none.
  llvm::StringRef metadata(llvm::StringRef key) const;
  /// Returns a hash that is equal for files with equal tensors and strings. A tensor with hashes in
  /// the file
  /// (`addHashes`) counts by them, because loading compares its bytes with them. All bytes of the
  /// others are read.
  std::string contentsHash() const;

private:
  static llvm::Expected<SafeTensors> readIndex(llvm::StringRef path, llvm::StringRef text);

  std::vector<std::unique_ptr<llvm::MemoryBuffer>> buffers;
  std::vector<TensorEntry> entries;
  llvm::StringMap<size_t> byName;
  Metadata texts;
};

/// Returns XXH3 of 128 bits, as 32 hexadecimal digits.
std::string hashText(llvm::StringRef bytes);

/// Returns the metadata key for the hashes of a tensor's parts, which are equal parts in order.
std::string hashKeyOf(llvm::StringRef tensor);
/// Returns the metadata key that says how those parts are split (`Shard::toText`), where they are
/// not consecutive in the tensor.
std::string partsKeyOf(llvm::StringRef tensor);
/// All ranks that have a part call it.
std::string hashesOf(const TensorEntry &tensor);
/// Adds to `metadata` what `checkHashes` needs of each tensor. All ranks that have a part call it.
void addHashes(llvm::ArrayRef<TensorEntry> tensors, Metadata &metadata);
/// Fails if the bytes of a tensor of a file do not match the hashes in its metadata. Files of other
/// programs have none.
llvm::Error checkHashes(const TensorEntry &tensor, llvm::StringRef hashes, llvm::StringRef split);

/// Gives the size at which other loaders split models into files.
inline constexpr int64_t kBytesOfFile = 5'000'000'000;

/// Writes all tensors or nothing: into a temporary file that is then renamed to `path`. Does not
/// copy the tensors. All ranks of the job call it with the same tensors, and each writes its parts
/// to the one file; it fails on all of them if it fails on one. A `path` that ends in .json becomes
/// the index of files next to it, each with at most `fileBytes` bytes of tensors or with one larger
/// tensor.
llvm::Error writeSafeTensors(llvm::StringRef path, llvm::ArrayRef<TensorEntry> tensors,
                             Metadata metadata = {}, int64_t fileBytes = kBytesOfFile);

} // namespace llmmem

#endif // LLMMEM_EXECUTION_SAFETENSORS_H
