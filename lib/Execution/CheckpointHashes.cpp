//===- CheckpointHashes.cpp - Whether a tensor has the bytes that were saved -===//

#include "llmmem/Execution/SafeTensors.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace llmmem;

std::string llmmem::hashText(llvm::StringRef bytes) {
  llvm::XXH128_hash_t hash = llvm::xxh3_128bits(llvm::arrayRefFromStringRef<uint8_t>(bytes));
  return llvm::utohexstr(hash.high64, /*LowerCase=*/true, 16) +
         llvm::utohexstr(hash.low64, true, 16);
}

std::string llmmem::hashKeyOf(llvm::StringRef tensor) { return ("llmmem.xxh3." + tensor).str(); }

std::string llmmem::partsKeyOf(llvm::StringRef tensor) { return ("llmmem.parts." + tensor).str(); }

llvm::Error llmmem::checkHashes(const TensorEntry &tensor, llvm::StringRef hashes,
                                llvm::StringRef split) {
  if (hashes.empty())
    return llvm::Error::success();
  llvm::SmallVector<llvm::StringRef> parts;
  hashes.split(parts, ' ');
  if (split.empty() && tensor.bytes.size() % parts.size() != 0)
    return llvm::createStringError("tensor '" + tensor.name + "' has the hashes of " +
                                   llvm::Twine(parts.size()) +
                                   " parts, which do not divide its bytes: the file is damaged");
  Shard shard;
  if (!split.empty()) {
    llvm::Expected<Shard> read = Shard::parse(split, tensor.shape);
    if (!read)
      return read.takeError();
    shard = std::move(*read);
    if (shard.parts != static_cast<int64_t>(parts.size()))
      return llvm::createStringError("tensor '" + tensor.name + "' has the hashes of " +
                                     llvm::Twine(parts.size()) + " parts, and is split in '" +
                                     split + "': the file is damaged");
  }
  size_t size = tensor.bytes.size() / parts.size();
  auto hashOf = [&](size_t number) {
    if (split.empty())
      return hashText(tensor.bytes.substr(number * size, size));
    std::vector<char> part = shard.take(static_cast<int64_t>(number), tensor.bytes);
    return hashText({part.data(), part.size()});
  };
  for (auto [number, hash] : llvm::enumerate(parts))
    if (hashOf(number) != hash)
      return llvm::createStringError("tensor '" + tensor.name + "'" +
                                     (tensor.file.empty() ? "" : " in '" + tensor.file + "'") +
                                     " does not have the bytes that were saved (part " +
                                     llvm::Twine(number) + " of " + llvm::Twine(parts.size()) +
                                     "): the file is damaged");
  return llvm::Error::success();
}

std::string llmmem::hashesOf(const TensorEntry &tensor) {
  std::string own = hashText(tensor.bytes);
  if (tensor.shard.parts == 1)
    return own;
  std::vector<char> all = tensor.shard.gather(own);
  llvm::StringRef text(all.data(), all.size());
  std::string hashes;
  for (; !text.empty(); text = text.drop_front(own.size()))
    hashes += (hashes.empty() ? "" : " ") + text.take_front(own.size()).str();
  return hashes;
}

void llmmem::addHashes(llvm::ArrayRef<TensorEntry> tensors, Metadata &metadata) {
  for (const TensorEntry &tensor : tensors) {
    metadata[hashKeyOf(tensor.name)] = hashesOf(tensor);
    if (!tensor.shard.areInOrder())
      metadata[partsKeyOf(tensor.name)] = tensor.shard.toText();
  }
}
