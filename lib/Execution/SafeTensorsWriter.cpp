//===- SafeTensorsWriter.cpp - Checkpoints, written by one rank or by many -===//

#include "SafeTensorsIndex.h"
#include "SharedFile.h"
#include "llmmem/Execution/RankJob.h"
#include "llmmem/Support/TextFile.h"

using namespace llmmem;

/// What `checkHashes` needs of each tensor.
static void addHashes(llvm::ArrayRef<TensorEntry> tensors, Metadata &metadata) {
  for (const TensorEntry &tensor : tensors) {
    metadata[hashKeyOf(tensor.name)] = hashesOf(tensor);
    if (!tensor.shard.areInOrder())
      metadata[partsKeyOf(tensor.name)] = tensor.shard.toText();
  }
}

llvm::Error llmmem::writeSafeTensors(llvm::StringRef path, llvm::ArrayRef<TensorEntry> tensors,
                                     Metadata metadata, int64_t fileBytes) {
  addHashes(tensors, metadata);
  llvm::Expected<FileContents> contents = contentsOfAllRanks(tensors, metadata);
  if (!contents)
    return contents.takeError();
  if (isIndex(path))
    return writeIndexed(path, tensors, *contents, fileBytes);
  std::string header = contents->encodeHeader();
  if (RankJob::size() > 1)
    return SharedFile::writeWhole(path, header, tensors, *contents);
  std::vector<llvm::StringRef> pieces = {header};
  for (const TensorEntry &tensor : tensors)
    pieces.push_back(tensor.bytes);
  return writePieces(path, pieces);
}
