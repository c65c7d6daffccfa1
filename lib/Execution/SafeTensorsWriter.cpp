//===- SafeTensorsWriter.cpp - Checkpoints, written by one rank or by many -===//
//
// Ranks write one file together: the first makes a temporary beside the target and its header, each
// puts the parts that it has in their place, and the first renames it. A rank that dies leaves the
// temporary, and the target as it was.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Execution/RankJob.h"
#include "llmmem/Execution/SafeTensors.h"
#include "llmmem/Execution/TensorBytes.h"
#include "llmmem/Support/TextFile.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"
#include <array>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <unistd.h>

using namespace llmmem;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Hashes
//===----------------------------------------------------------------------===//

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
      return llvm::createStringError(
          "tensor '" + tensor.name + "' does not have the bytes that were saved (part " +
          llvm::Twine(number) + " of " + llvm::Twine(parts.size()) + "): the file is damaged");
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

//===----------------------------------------------------------------------===//
// The header
//===----------------------------------------------------------------------===//

static int64_t bytesOfElement(const TensorEntry &tensor) {
  // The bytes may be a server's alone.
  std::optional<FloatKind> kind = floatKindOf(tensor.dtype);
  return kind ? bytesOf(*kind)
              : static_cast<int64_t>(tensor.bytes.size()) /
                    std::max<int64_t>(tensor.shard.partElements(), 1);
}

namespace {
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
  int64_t bytes = 0;

  void add(const std::string &name, TensorLine line) {
    if (tensors.contains(name))
      return;
    line.begin = bytes;
    bytes += line.bytes;
    tensors[name] = std::move(line);
  }
};
} // namespace

static int64_t wholeBytes(const TensorEntry &tensor) {
  return tensor.shard.wholeElements() * bytesOfElement(tensor);
}

static FileContents contentsOf(llvm::ArrayRef<TensorEntry> tensors, const Metadata &metadata) {
  FileContents contents;
  for (const TensorEntry &tensor : tensors)
    contents.add(tensor.name, {tensor.dtype, tensor.shape, wholeBytes(tensor), 0});
  contents.metadata = metadata;
  return contents;
}

/// The header's JSON.
static std::string toJson(const FileContents &contents) {
  std::string text;
  llvm::raw_string_ostream os(text);
  json::OStream writer(os);
  writer.objectBegin();
  if (!contents.metadata.empty())
    writer.attributeObject("__metadata__", [&] {
      for (const auto &[key, value] : contents.metadata)
        writer.attribute(key, value);
    });
  for (const auto &[name, line] : contents.tensors)
    writer.attributeObject(name, [&, &line = line] {
      writer.attribute("dtype", line.dtype);
      writer.attribute("shape", json::Array(line.shape));
      writer.attribute("data_offsets", json::Array{line.begin, line.begin + line.bytes});
    });
  writer.objectEnd();
  return text;
}

/// The length of the JSON header and the header.
static std::string encodeHeader(const FileContents &contents) {
  std::string header = toJson(contents);
  // Aligns the data to 8 bytes for readers that map the file.
  header.append(llvm::alignTo(header.size(), 8) - header.size(), ' ');
  std::string length(8, '\0');
  llvm::support::endian::write64le(length.data(), header.size());
  return length + header;
}

/// What the stages of a pipeline have together, from the headers that each would write alone.
static llvm::Error addContents(llvm::StringRef header, FileContents &contents) {
  llvm::Expected<json::Value> value = json::parse(header);
  if (!value)
    return value.takeError();
  // An object of LLVM has no order, and tensors of a stage stand as their offsets say.
  std::map<int64_t, std::pair<std::string, TensorLine>> inOrder;
  for (const auto &[key, entry] : *value->getAsObject()) {
    const json::Object &object = *entry.getAsObject();
    if (key == "__metadata__") {
      for (const auto &[name, text] : object)
        contents.metadata[name.str()] = text.getAsString()->str();
      continue;
    }
    TensorLine line;
    line.dtype = object.getString("dtype")->str();
    for (const json::Value &extent : *object.getArray("shape"))
      line.shape.push_back(*extent.getAsInteger());
    const json::Array &offsets = *object.getArray("data_offsets");
    line.bytes = *offsets[1].getAsInteger() - *offsets[0].getAsInteger();
    inOrder[*offsets[0].getAsInteger()] = {key.str(), line};
  }
  for (auto &[offset, tensor] : inOrder)
    contents.add(tensor.first, tensor.second);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// One file of many ranks
//===----------------------------------------------------------------------===//

namespace {
/// The steps of writing; each fails on all ranks if it fails on one.
class SharedFile {
public:
  explicit SharedFile(llvm::StringRef path) : path(path.str()) {}
  ~SharedFile() {
    if (descriptor >= 0)
      close(descriptor);
  }

  llvm::Error create(llvm::StringRef header, int64_t bytes);
  llvm::Error write(llvm::ArrayRef<TensorEntry> tensors, const FileContents &contents,
                    int64_t begin);
  llvm::Error rename();

private:
  llvm::Error agree(std::error_code code, const char *what);
  std::error_code writeAt(llvm::StringRef bytes, int64_t offset);
  std::error_code writeRuns(const TensorEntry &tensor, int64_t begin);

  std::string path;
  llvm::SmallString<256> target, temporary;
  int descriptor = -1;
};
} // namespace

static std::error_code lastError() { return {errno, std::generic_category()}; }

/// The first failure of all ranks, with the rank.
llvm::Error SharedFile::agree(std::error_code code, const char *what) {
  std::vector<int64_t> codes = RankJob::gather({code.value()});
  for (auto [rank, value] : llvm::enumerate(codes)) {
    if (value == 0)
      continue;
    if (RankJob::rank() == 0 && !temporary.empty())
      llvm::sys::fs::remove(temporary);
    RankJob::gather({0}); // a rank that fails ends the job, also before the temporary is gone
    return llvm::createStringError(
        "rank " + llvm::Twine(rank) + " cannot " + what + " '" + path +
        "': " + std::error_code(static_cast<int>(value), std::generic_category()).message());
  }
  return llvm::Error::success();
}

std::error_code SharedFile::writeAt(llvm::StringRef bytes, int64_t offset) {
  while (!bytes.empty()) {
    ssize_t written = pwrite(descriptor, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return lastError();
    bytes = bytes.drop_front(written);
    offset += written;
  }
  return {};
}

/// The first rank makes the file as long as it will be, so that a full disk is found at once, and
/// tells the others its name.
llvm::Error SharedFile::create(llvm::StringRef header, int64_t bytes) {
  std::error_code code;
  std::array<int64_t, 512> name = {};
  if (RankJob::rank() == 0) {
    target = path;
    if (llvm::sys::fs::exists(path))
      code = llvm::sys::fs::real_path(path, target);
    if (!code && llvm::sys::fs::is_directory(target))
      code = std::make_error_code(std::errc::is_a_directory);
    if (!code)
      code = llvm::sys::fs::createUniqueFile(target + ".%%%%%%%%.tmp", descriptor, temporary);
    if (!code)
      if (int failed = posix_fallocate(descriptor, 0, header.size() + bytes))
        code = {failed, std::generic_category()};
    if (!code)
      code = writeAt(header, 0);
    std::memcpy(name.data(), temporary.data(), std::min(temporary.size(), sizeof name - 1));
  }
  if (llvm::Error error = agree(code, "create a file beside"))
    return error;
  std::vector<int64_t> names = RankJob::gather(name);
  if (RankJob::rank() != 0) {
    temporary = reinterpret_cast<const char *>(names.data());
    descriptor = open(temporary.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0)
      code = lastError();
  }
  return agree(code, "open the temporary of");
}

/// Where the whole of the tensor begins at `begin`.
std::error_code SharedFile::writeRuns(const TensorEntry &tensor, int64_t begin) {
  const Shard &shard = tensor.shard;
  if (shard.areInOrder())
    return writeAt(tensor.bytes,
                   begin + shard.position() * static_cast<int64_t>(tensor.bytes.size()));
  std::error_code code;
  int64_t bytes = bytesOfElement(tensor);
  shard.forEachRun(shard.position(), [&](Shard::Run run) {
    if (!code)
      code = writeAt(tensor.bytes.substr(run.part * bytes, run.count * bytes),
                     begin + run.whole * bytes);
  });
  return code;
}

llvm::Error SharedFile::write(llvm::ArrayRef<TensorEntry> tensors, const FileContents &contents,
                              int64_t begin) {
  std::error_code code;
  for (const TensorEntry &tensor : tensors)
    if (!code && RankJob::isFirstWith(tensor.shard))
      code = writeRuns(tensor, begin + contents.tensors.find(tensor.name)->second.begin);
  if (!code && fsync(descriptor) != 0)
    code = lastError();
  return agree(code, "write");
}

llvm::Error SharedFile::rename() {
  std::error_code code;
  if (RankJob::rank() == 0)
    code = llvm::sys::fs::rename(temporary, target);
  return agree(code, "rename a temporary to");
}

static llvm::Error writeTogether(llvm::StringRef path, llvm::ArrayRef<TensorEntry> tensors,
                                 const FileContents &own) {
  // Ranks of one program have one list; stages of a pipeline each have their own.
  FileContents contents = own;
  if (!tensors.empty() && tensors.front().shard.stages != 0) {
    contents = {};
    for (llvm::StringRef header : RankJob::gatherTexts(toJson(own)))
      if (llvm::Error error = addContents(header, contents))
        return error;
  }
  std::string header = encodeHeader(contents);
  SharedFile file(path);
  if (llvm::Error error = file.create(header, contents.bytes))
    return error;
  if (llvm::Error error = file.write(tensors, contents, static_cast<int64_t>(header.size())))
    return error;
  return file.rename();
}

llvm::Error llmmem::writeSafeTensors(llvm::StringRef path, llvm::ArrayRef<TensorEntry> tensors,
                                     const Metadata &metadata) {
  FileContents contents = contentsOf(tensors, metadata);
  if (RankJob::size() > 1)
    return writeTogether(path, tensors, contents);
  std::string header = encodeHeader(contents);
  std::vector<llvm::StringRef> pieces = {header};
  for (const TensorEntry &tensor : tensors)
    pieces.push_back(tensor.bytes);
  return writePieces(path, pieces);
}
