//===- SafeTensorsIndex.cpp - Tensors in several files, and where each is --===//

#include "SafeTensorsIndex.h"
#include "SharedFile.h"
#include "llmmem/Execution/RankJob.h"
#include "llmmem/Support/JsonTree.h"
#include "llmmem/Support/TemporaryFile.h"
#include "llmmem/Support/TextFile.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"
#include <unistd.h>

using namespace llmmem;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kFile = ".safetensors";

/// Returns the prefix of the names of an index's files.
static llvm::StringRef stemOf(llvm::StringRef index) {
  llvm::StringRef stem = llvm::sys::path::filename(index);
  stem.consume_back(".json");
  stem.consume_back(".index");
  stem.consume_back(kFile);
  return stem;
}

static std::string inFolderOf(llvm::StringRef index, llvm::StringRef file) {
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

/// `contents` gives the hash of each tensor, so that other bytes have other names.
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

/// Returns the files that the text of an index names; none where it is no such text, and nullopt
/// where that cannot be determined.
static std::optional<llvm::StringSet<>> filesNamedIn(llvm::StringRef path) {
  llvm::StringSet<> files;
  llvm::sys::fs::file_status status;
  if (llvm::sys::fs::status(path, status))
    return std::nullopt;
  if (!llvm::sys::fs::is_regular_file(status))
    return files;
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> text = readTextFile(path);
  if (!text) {
    llvm::consumeError(text.takeError());
    return std::nullopt;
  }
  llvm::Expected<json::Value> value = parseJsonTree((*text)->getBuffer());
  if (!value) {
    llvm::consumeError(value.takeError());
    // Other texts that are called .json are not indexes; one with this name is a damaged index.
    if (llvm::sys::path::filename(path).contains(".index.json"))
      return std::nullopt;
    return files;
  }
  const json::Object *object = value->getAsObject();
  const json::Object *map = object ? object->getObject("weight_map") : nullptr;
  if (!map)
    return files;
  for (const auto &[tensor, file] : *map)
    if (std::optional<llvm::StringRef> name = file.getAsString())
      files.insert(*name);
  return files;
}

/// Returns the files of an index, or of a temporary of it, that `writeIndexed` has named. Those of
/// others are not ours to remove.
static std::optional<llvm::StringSet<>> ownFilesOf(llvm::StringRef index, llvm::StringRef text) {
  llvm::Regex own("^" + llvm::Regex::escape(stemOf(index)) +
                  "-[0-9a-f]{16}-[0-9]{5}-of-[0-9]{5}\\.safetensors$");
  std::optional<llvm::StringSet<>> named = filesNamedIn(text);
  if (!named)
    return std::nullopt;
  llvm::StringSet<> files;
  for (const auto &name : *named)
    if (own.match(name.first()))
      files.insert(name.first());
  return files;
}

//===----------------------------------------------------------------------===//
// What dead writers have left
//===----------------------------------------------------------------------===//

/// Takes from `files` what an index in the folder names, whatever it is called, or what another
/// writer is about to name. Returns false where one of them cannot be read.
static bool keepNamed(llvm::StringRef folder, llvm::ArrayRef<DeadTemporary> dead,
                      llvm::StringSet<> &files) {
  std::error_code code;
  for (llvm::sys::fs::directory_iterator at(folder, code), end; !code && at != end;
       at.increment(code)) {
    llvm::StringRef name = llvm::sys::path::filename(at->path());
    bool isDead = llvm::any_of(dead, [&](const DeadTemporary &temporary) {
      return llvm::sys::path::filename(temporary.path()) == name;
    });
    if (isDead || (!isIndex(name) && !isIndex(targetOfTemporary(name))))
      continue;
    std::optional<llvm::StringSet<>> named = filesNamedIn(at->path());
    if (!named)
      return false;
    for (const auto &file : *named)
      files.erase(file.first());
  }
  return !code;
}

/// A killed writer has left a temporary of this index or of the previous one, which says which
/// files that are no longer needed.
static void sweep(llvm::StringRef index, llvm::StringRef target) {
  std::vector<DeadTemporary> dead = findDeadTemporaries(target);
  if (dead.empty())
    return;
  llvm::StringSet<> files;
  for (const DeadTemporary &temporary : dead)
    if (std::optional<llvm::StringSet<>> own = ownFilesOf(index, temporary.path()))
      for (const auto &file : *own)
        files.insert(file.first());
  for (const auto &file : files)
    removeDeadTemporaries(inFolderOf(index, file.first()));
  llvm::StringRef folder = llvm::sys::path::parent_path(index);
  if (!keepNamed(folder.empty() ? "." : folder, dead, files))
    files.clear();
  for (const auto &file : files)
    unlink(inFolderOf(index, file.first()).c_str());
  // This follows the removal of files: a writer that is killed here leaves what names them.
  for (const DeadTemporary &temporary : dead)
    temporary.remove();
}

/// Sweeps, and makes a temporary name the current files of the index, until they are removed or the
/// index stays. It never fails: without it a killed writer leaves more.
static std::optional<TemporaryFile> noteFiles(llvm::StringRef index) {
  if (RankJob::rank() != 0)
    return std::nullopt;
  llvm::ErrorOr<std::string> target = resolveTarget(index);
  if (!target)
    return std::nullopt;
  sweep(index, *target);
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> text = llvm::MemoryBuffer::getFile(index);
  if (!text)
    return std::nullopt;
  llvm::Expected<TemporaryFile> note = TemporaryFile::create(*target);
  if (!note) {
    llvm::consumeError(note.takeError());
    return std::nullopt;
  }
  (void)note->write((*text)->getBuffer());
  return std::move(*note);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Removes the files of `names` that `kept` lacks, and then the note of them. The other ranks wait,
/// and one that fails ends the job.
static void removeFiles(llvm::StringRef index, const llvm::StringSet<> &names,
                        const llvm::StringSet<> &kept, std::optional<TemporaryFile> note) {
  if (RankJob::rank() == 0)
    for (const auto &name : names)
      if (!kept.contains(name.first()))
        unlink(inFolderOf(index, name.first()).c_str());
  note.reset();
  RankJob::gather({0});
}

llvm::Error llmmem::writeIndexed(llvm::StringRef path, llvm::ArrayRef<TensorEntry> tensors,
                                 FileContents contents, int64_t fileBytes) {
  std::vector<FileContents> files = splitContents(contents, fileBytes);
  std::vector<std::string> names = namesOf(path, contents, files.size());
  std::optional<TemporaryFile> note = noteFiles(path);
  // An index that exists and cannot be read may name any file.
  std::optional<llvm::StringSet<>> before =
      llvm::sys::fs::exists(path) ? ownFilesOf(path, path) : llvm::StringSet<>();
  llvm::StringSet<> now;
  // Its temporary names the files before any of them exists.
  SharedFile index(path);
  auto writeAll = [&]() -> llvm::Error {
    if (llvm::Error error = index.create(indexText(files, names, contents), 0))
      return error;
    for (auto [file, name] : llvm::zip_equal(files, names)) {
      now.insert(name);
      if (llvm::Error error =
              SharedFile::writeWhole(inFolderOf(path, name), file.encodeHeader(), tensors, file))
        return error;
    }
    if (llvm::Error error = index.write({}, {}, 0))
      return error;
    return index.rename();
  };
  llvm::Error error = writeAll();
  index.discard();
  if (!before)
    removeFiles(path, {}, {}, std::move(note));
  else if (error)
    removeFiles(path, now, *before, std::move(note));
  else
    removeFiles(path, *before, now, std::move(note));
  return error;
}
