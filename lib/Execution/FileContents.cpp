//===- FileContents.cpp - What a safetensors file says about its tensors ---===//

#include "FileContents.h"
#include "llmmem/Execution/RankJob.h"
#include "llmmem/Execution/TensorBytes.h"
#include "llmmem/Support/JsonTree.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

using namespace llmmem;
namespace json = llvm::json;

int64_t llmmem::bytesOfElement(const TensorEntry &tensor) {
  // A server alone may have the bytes.
  std::optional<FloatKind> kind = floatKindOf(tensor.dtype);
  return kind ? bytesOf(*kind)
              : static_cast<int64_t>(tensor.bytes.size()) /
                    std::max<int64_t>(tensor.shard.partElements(), 1);
}

void FileContents::add(const std::string &name, TensorLine line) {
  if (tensors.contains(name))
    return;
  line.begin = bytes;
  bytes += line.bytes;
  tensors[name] = std::move(line);
}

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

std::string FileContents::toJson() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  json::OStream writer(os);
  writer.objectBegin();
  if (!metadata.empty())
    writer.attributeObject("__metadata__", [&] {
      for (const auto &[key, value] : metadata)
        writer.attribute(key, value);
    });
  for (const auto &[name, line] : tensors)
    writer.attributeObject(name, [&, &line = line] {
      writer.attribute("dtype", line.dtype);
      writer.attribute("shape", json::Array(line.shape));
      writer.attribute("data_offsets", json::Array{line.begin, line.begin + line.bytes});
    });
  writer.objectEnd();
  return text;
}

std::string FileContents::encodeHeader() const {
  std::string header = toJson();
  // Aligns the data to 8 bytes for readers that map the file.
  header.append(llvm::alignTo(header.size(), 8) - header.size(), ' ');
  std::string length(8, '\0');
  llvm::support::endian::write64le(length.data(), header.size());
  return length + header;
}

/// Adds what the stages of a pipeline have together, from the headers that each would write alone.
static llvm::Error addContents(llvm::StringRef header, FileContents &contents) {
  llvm::Expected<json::Value> value = parseJsonTree(header);
  if (!value)
    return value.takeError();
  // An object of LLVM has no order, and the offsets order the tensors of a stage.
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

llvm::Expected<FileContents> llmmem::contentsOfAllRanks(llvm::ArrayRef<TensorEntry> tensors,
                                                        const Metadata &metadata) {
  FileContents own = contentsOf(tensors, metadata);
  // Ranks of one program have one list; stages of a pipeline each have their own.
  if (RankJob::size() == 1 || tensors.empty() || tensors.front().shard.stages == 0)
    return own;
  FileContents contents;
  for (llvm::StringRef header : RankJob::gatherTexts(own.toJson()))
    if (llvm::Error error = addContents(header, contents))
      return std::move(error);
  return contents;
}
