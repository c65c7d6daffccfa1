//===- SafeTensorsIndex.cpp - Tensors in several files, and where each is --===//

#include "SafeTensorsIndex.h"
#include "SharedFile.h"
#include "llmmem/Execution/RankJob.h"
#include "llmmem/Support/JsonTree.h"
#include "llmmem/Support/TextFile.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"

using namespace llmmem;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kFile = ".safetensors";

/// What stands in front of the names of an index's files.
static llvm::StringRef stemOf(llvm::StringRef index) {
  llvm::StringRef stem = llvm::sys::path::filename(index);
  stem.consume_back(".json");
  stem.consume_back(".index");
  stem.consume_back(kFile);
  return stem;
}

static std::string beside(llvm::StringRef index, llvm::StringRef file) {
  llvm::SmallString<256> path(llvm::sys::path::parent_path(index));
  llvm::sys::path::append(path, file);
  return path.str().str();
}

static std::vector<FileContents> splitContents(const FileContents &all, int64_t fileBytes) {
  std::vector<FileContents> files(1);
  for (const auto &[name, line] : all.tensors) {
    if (files.back().bytes > 0 && files.back().bytes + line.bytes > fileBytes)
      files.emplace_back();
    files.back().add(name, line);
  }
  // Loaders of models require it of each file.
  auto format = all.metadata.find("format");
  for (FileContents &file : files)
    if (format != all.metadata.end())
      file.metadata.insert(*format);
  return files;
}

/// `contents` say the hash of each tensor, so that other bytes have other names.
static std::vector<std::string> namesOf(llvm::StringRef index, const FileContents &contents,
                                        size_t files) {
  std::string digest = hashText(contents.toJson()).substr(0, 16);
  std::vector<std::string> names;
  for (size_t number = 1; number <= files; ++number)
    names.push_back(llvm::formatv("{0}-{1}-{2,0+5}-of-{3,0+5}{4}", stemOf(index), digest, number,
                                  files, kFile));
  return names;
}

static std::string indexText(llvm::ArrayRef<FileContents> files, llvm::ArrayRef<std::string> names,
                             const FileContents &contents) {
  std::string text;
  llvm::raw_string_ostream os(text);
  json::OStream writer(os, /*IndentSize=*/2);
  writer.object([&] {
    writer.attributeObject("metadata", [&] {
      for (const auto &[key, value] : contents.metadata)
        writer.attribute(key, value);
      writer.attribute("total_size", contents.bytes);
    });
    writer.attributeObject("weight_map", [&] {
      for (auto [file, name] : llvm::zip_equal(files, names))
        for (const auto &[tensor, line] : file.tensors)
          writer.attribute(tensor, name);
    });
  });
  return text + "\n";
}

/// The files of an index that `writeIndexed` has named: those of others are not ours to remove.
static llvm::StringSet<> ownFilesOf(llvm::StringRef index) {
  llvm::StringSet<> files;
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> text = llvm::MemoryBuffer::getFile(index);
  if (!text)
    return files;
  llvm::Expected<json::Value> value = parseJsonTree((*text)->getBuffer());
  if (!value) {
    llvm::consumeError(value.takeError());
    return files;
  }
  const json::Object *object = value->getAsObject();
  const json::Object *map = object ? object->getObject("weight_map") : nullptr;
  if (!map)
    return files;
  llvm::Regex own("^" + llvm::Regex::escape(stemOf(index)) +
                  "-[0-9a-f]{16}-[0-9]{5}-of-[0-9]{5}\\.safetensors$");
  for (const auto &[tensor, file] : *map)
    if (std::optional<llvm::StringRef> name = file.getAsString(); name && own.match(*name))
      files.insert(*name);
  return files;
}

/// Removes the files of `names` that `kept` lacks. The other ranks wait: one that fails ends the
/// job.
static void removeFiles(llvm::StringRef index, const llvm::StringSet<> &names,
                        const llvm::StringSet<> &kept) {
  if (RankJob::rank() == 0)
    for (const auto &name : names)
      if (!kept.contains(name.first()))
        llvm::sys::fs::remove(beside(index, name.first()));
  RankJob::gather({0});
}

llvm::Error llmmem::writeIndexed(llvm::StringRef path, llvm::ArrayRef<TensorEntry> tensors,
                                 FileContents contents, int64_t fileBytes) {
  std::vector<FileContents> files = splitContents(contents, fileBytes);
  std::vector<std::string> names = namesOf(path, contents, files.size());
  llvm::StringSet<> before = ownFilesOf(path), now;
  auto writeAll = [&]() -> llvm::Error {
    for (auto [file, name] : llvm::zip_equal(files, names)) {
      now.insert(name);
      if (llvm::Error error =
              SharedFile::writeWhole(beside(path, name), file.encodeHeader(), tensors, file))
        return error;
    }
    return SharedFile::writeWhole(path, indexText(files, names, contents), {}, {});
  };
  llvm::Error error = writeAll();
  if (error)
    removeFiles(path, now, before);
  else
    removeFiles(path, before, now);
  return error;
}
