//===- SafeTensors.cpp - Tensors in files, by name -------------------------===//

#include "llmmem/Execution/SafeTensors.h"
#include "llmmem/Support/JsonTree.h"
#include "llmmem/Support/OwnFile.h"
#include "llmmem/Support/TextFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

using namespace llmmem;
namespace json = llvm::json;

/// Returns the bytes of one element; 0 for a dtype that the format does not have.
static int64_t elementBytes(llvm::StringRef dtype) {
  return llvm::StringSwitch<int64_t>(dtype)
      .Cases({"BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3"}, 1)
      .Cases({"F16", "BF16", "I16", "U16"}, 2)
      .Cases({"F32", "I32", "U32"}, 4)
      .Cases({"F64", "I64", "U64"}, 8)
      .Default(0);
}

static llvm::Error malformed(llvm::StringRef file, const llvm::Twine &why) {
  return llvm::createStringError("'" + file + "' is no safetensors file: " + why);
}

namespace {
/// Holds one entry of the header, and its range in the data.
struct Header {
  TensorEntry entry;
  int64_t begin = 0, end = 0;
};
} // namespace

static bool readShape(const json::Array &numbers, std::vector<int64_t> &shape) {
  for (const json::Value &number : numbers) {
    std::optional<int64_t> extent = number.getAsInteger();
    if (!extent || *extent < 0)
      return false;
    shape.push_back(*extent);
  }
  return true;
}

/// Returns the bytes of a tensor of this shape, or none where they overflow.
static std::optional<int64_t> bytesOf(llvm::ArrayRef<int64_t> shape, int64_t element) {
  int64_t bytes = element;
  for (int64_t extent : shape)
    if (llvm::MulOverflow(bytes, extent, bytes))
      return std::nullopt;
  return bytes;
}

static llvm::Expected<Header> readEntry(llvm::StringRef file, llvm::StringRef name,
                                        const json::Value &value, int64_t dataBytes) {
  auto bad = [&](const llvm::Twine &why) {
    return malformed(file, "tensor '" + name + "' " + why);
  };
  const json::Object *object = value.getAsObject();
  std::optional<llvm::StringRef> dtype = object ? object->getString("dtype") : std::nullopt;
  const json::Array *shape = object ? object->getArray("shape") : nullptr;
  const json::Array *range = object ? object->getArray("data_offsets") : nullptr;
  if (!dtype || !shape || !range || range->size() != 2)
    return bad("needs 'dtype', 'shape' and two 'data_offsets'");
  Header header;
  header.entry.name = name.str();
  header.entry.dtype = dtype->str();
  if (elementBytes(*dtype) == 0)
    return bad("has the unknown dtype '" + *dtype + "'");
  if (!readShape(*shape, header.entry.shape))
    return bad("has a shape that is not a list of sizes");
  std::optional<int64_t> begin = (*range)[0].getAsInteger(), end = (*range)[1].getAsInteger();
  if (!begin || !end || *begin < 0 || *end < *begin || *end > dataBytes)
    return bad("lies outside the " + llvm::Twine(dataBytes) + " bytes of data");
  std::optional<int64_t> bytes = bytesOf(header.entry.shape, elementBytes(*dtype));
  if (!bytes || *bytes != *end - *begin)
    return bad("has " + llvm::Twine(*end - *begin) +
               " bytes, which does not match its dtype and shape");
  header.begin = *begin, header.end = *end;
  return header;
}

/// Every byte of the data belongs to exactly one tensor.
static llvm::Error checkTiling(llvm::StringRef file, std::vector<Header> headers,
                               int64_t dataBytes) {
  llvm::sort(headers, [](const Header &a, const Header &b) {
    return std::tie(a.begin, a.end, a.entry.name) < std::tie(b.begin, b.end, b.entry.name);
  });
  int64_t end = 0;
  for (const Header &header : headers) {
    if (header.begin != end)
      return malformed(file, "tensor '" + header.entry.name + "' begins at byte " +
                                 llvm::Twine(header.begin) + " of the data, where " +
                                 llvm::Twine(end) + " is the end of the one before");
    end = header.end;
  }
  if (end != dataBytes)
    return malformed(file, llvm::Twine(dataBytes - end) + " bytes at the end belong to no tensor");
  return llvm::Error::success();
}

/// The format allows strings only.
static llvm::Error readMetadata(llvm::StringRef file, const json::Value &value, Metadata &texts) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return malformed(file, "'__metadata__' is not an object");
  for (const auto &[key, entry] : *object) {
    std::optional<llvm::StringRef> text = entry.getAsString();
    if (!text)
      return malformed(file, "'__metadata__' has '" + key.str() + "', which is not a string");
    texts[key.str()] = text->str();
  }
  return llvm::Error::success();
}

static llvm::Expected<std::vector<Header>> readHeader(llvm::StringRef file, llvm::StringRef text,
                                                      int64_t dataBytes, Metadata &texts) {
  llvm::Expected<json::Value> value = parseJsonTree(text);
  if (!value)
    return malformed(file, "its header is " + llvm::toString(value.takeError()));
  const json::Object *object = value->getAsObject();
  if (!object)
    return malformed(file, "its header is not a JSON object");
  std::vector<Header> headers;
  for (const auto &[key, entry] : *object) {
    if (key.str() == "__metadata__") {
      if (llvm::Error error = readMetadata(file, entry, texts))
        return std::move(error);
      continue;
    }
    llvm::Expected<Header> header = readEntry(file, key.str(), entry, dataBytes);
    if (!header)
      return header.takeError();
    headers.push_back(std::move(*header));
  }
  llvm::sort(headers, [](const Header &a, const Header &b) { return a.begin < b.begin; });
  if (llvm::Error error = checkTiling(file, headers, dataBytes))
    return std::move(error);
  return headers;
}

llvm::Expected<SafeTensors> SafeTensors::read(llvm::StringRef path) {
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> buffer =
      readTextFile(path, path.ends_with(".json") ? FileKind::Description : FileKind::Data);
  if (!buffer)
    return buffer.takeError();
  if (path.ends_with(".json"))
    return readIndex(path, (*buffer)->getBuffer());
  return parse(std::move(*buffer));
}

/// An index is {"metadata": {...}, "weight_map": {"name of a tensor": "name of a file next to the
/// index", ...}}.
llvm::Expected<SafeTensors> SafeTensors::readIndex(llvm::StringRef path, llvm::StringRef text) {
  llvm::Expected<json::Value> value = parseJsonTree(text);
  if (!value)
    return llvm::createStringError("'" + path + "' is " + llvm::toString(value.takeError()));
  const json::Object *object = value->getAsObject();
  const json::Object *map = object ? object->getObject("weight_map") : nullptr;
  if (!map)
    return llvm::createStringError("'" + path +
                                   "' is no index of safetensors files: it has no "
                                   "object 'weight_map'");
  SafeTensors all;
  llvm::StringMap<SafeTensors> parts;
  for (const auto &[name, entry] : *map) {
    std::optional<llvm::StringRef> file = entry.getAsString();
    if (!file)
      return llvm::createStringError("'" + path + "' gives tensor '" + name.str() +
                                     "' no file's name");
    if (leadsOut(*file))
      return llvm::createStringError("'" + path + "' has tensor '" + name.str() + "' in '" + *file +
                                     "', expected a file next to it, without '..' and without '/' "
                                     "in front");
    llvm::SmallString<128> place(llvm::sys::path::parent_path(path));
    llvm::sys::path::append(place, *file);
    if (!parts.contains(*file)) {
      llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> buffer =
          readTextFile(place, FileKind::Data);
      llvm::Expected<SafeTensors> part =
          buffer ? parse(std::move(*buffer)) : llvm::Expected<SafeTensors>(buffer.takeError());
      if (!part)
        return llvm::createStringError(
            "'" + path + "' names a file that cannot be read: " + llvm::toString(part.takeError()));
      parts[*file] = std::move(*part);
    }
    const TensorEntry *tensor = parts[*file].find(name.str());
    if (!tensor)
      return llvm::createStringError("'" + path + "' has tensor '" + name.str() + "' in '" + place +
                                     "', which lacks it");
    all.byName[name.str()] = all.entries.size();
    all.entries.push_back(*tensor);
    all.entries.back().file = file->str();
  }
  if (const json::Object *metadata = object->getObject("metadata"))
    for (const auto &[key, entry] : *metadata)
      if (std::optional<llvm::StringRef> text = entry.getAsString())
        all.texts[key.str()] = text->str();
  for (auto &part : parts)
    for (std::unique_ptr<llvm::MemoryBuffer> &buffer : part.second.buffers)
      all.buffers.push_back(std::move(buffer));
  return std::move(all);
}

llvm::Expected<SafeTensors> SafeTensors::parse(std::unique_ptr<llvm::MemoryBuffer> buffer) {
  llvm::StringRef bytes = buffer->getBuffer(), file = buffer->getBufferIdentifier();
  if (bytes.size() < 8)
    return malformed(file, "it is shorter than the 8 bytes of its header's length");
  uint64_t length = llvm::support::endian::read64le(bytes.data());
  if (length > bytes.size() - 8)
    return malformed(file, "its header claims " + llvm::Twine(length) + " bytes, but only " +
                               llvm::Twine(bytes.size() - 8) + " follow");
  // This is the limit of the format's own reader.
  constexpr uint64_t kMostOfHeader = 100000000;
  if (length > kMostOfHeader)
    return malformed(file, "its header claims " + llvm::Twine(length) +
                               " bytes, expected at most " + llvm::Twine(kMostOfHeader));
  llvm::StringRef data = bytes.drop_front(8 + length);
  SafeTensors tensors;
  llvm::Expected<std::vector<Header>> headers =
      readHeader(file, bytes.substr(8, length), data.size(), tensors.texts);
  if (!headers)
    return headers.takeError();
  for (Header &header : *headers) {
    header.entry.bytes = data.slice(header.begin, header.end);
    tensors.byName[header.entry.name] = tensors.entries.size();
    tensors.entries.push_back(std::move(header.entry));
  }
  tensors.buffers.push_back(std::move(buffer));
  return std::move(tensors);
}

const TensorEntry *SafeTensors::find(llvm::StringRef name) const {
  auto known = byName.find(name);
  return known == byName.end() ? nullptr : &entries[known->second];
}

llvm::StringRef SafeTensors::metadata(llvm::StringRef key) const {
  auto known = texts.find(key.str());
  return known == texts.end() ? llvm::StringRef() : llvm::StringRef(known->second);
}

std::string SafeTensors::contentsHash() const {
  // Files of other programs may have their tensors in another order.
  std::map<std::string, std::string> facts;
  for (const auto &[key, text] : texts)
    facts["text " + key] = text;
  for (const TensorEntry &tensor : entries) {
    std::string &fact = facts["tensor " + tensor.name];
    fact = tensor.dtype + " " + std::to_string(tensor.bytes.size());
    for (int64_t extent : tensor.shape)
      fact += " " + std::to_string(extent);
    if (metadata(hashKeyOf(tensor.name)).empty())
      fact += " " + hashText(tensor.bytes);
  }
  std::string all;
  for (const auto &[name, fact] : facts)
    all += name + '\0' + fact + '\0';
  return hashText(all);
}
