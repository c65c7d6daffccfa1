//===- SafeTensorsWriter.cpp - Checkpoints, written by one rank or by many -===//

#include "SafeTensorsIndex.h"
#include "SharedFile.h"
#include "llmmem/Execution/RankJob.h"
#include "llmmem/Support/TextFile.h"

using namespace llmmem;

llvm::Error llmmem::writeSafeTensors(llvm::StringRef path, llvm::ArrayRef<TensorEntry> tensors,
                                     Metadata metadata, int64_t fileBytes) {
  // An index's files are named after their hashes.
  if (isIndex(path) && !tensors.empty() && !metadata.count(hashKeyOf(tensors.front().name)))
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
