//===- Tokenizer.cpp - Text as the ids that a model was trained on ---------===//

#include "llmmem/Tokenizers/Tokenizer.h"
#include "AddedTokens.h"
#include "BytePairs.h"
#include "Decoder.h"
#include "PreTokenizer.h"
#include "llmmem/Support/JsonTree.h"
#include "llmmem/Support/TextFile.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/ConvertUTF.h"

using namespace llmmem;
using namespace llmmem::tokenizers;
namespace json = llvm::json;

/// Holds the ids around those of a text.
struct Template {
  std::vector<int32_t> before, after;
};

struct Tokenizer::Parts {
  AddedTokens added;
  Normalizer normalizer;
  PreTokenizer preTokenizer;
  BytePairs model;
  Template around;
  Decoder decoder;
  std::vector<std::string> texts; // Indexed by id.
  llvm::DenseSet<int32_t> special;

  llvm::Error encodePiece(llvm::StringRef text, bool isFirst, std::vector<int32_t> &ids) const;
  llvm::Error encodeBetween(llvm::StringRef text, bool isFirst, std::vector<int32_t> &ids) const;
  void nameIds();
};

Tokenizer::Tokenizer(std::unique_ptr<Parts> parts) : parts(std::move(parts)) {}
Tokenizer::Tokenizer(Tokenizer &&) = default;
Tokenizer &Tokenizer::operator=(Tokenizer &&) = default;
Tokenizer::~Tokenizer() = default;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// A template is {"single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}],
/// "special_tokens": {"<s>": {"ids": [1]}}}.
static llvm::Error readTemplate(const json::Object &part, Template &around) {
  const json::Array *single = part.getArray("single");
  const json::Object *known = part.getObject("special_tokens");
  if (!single || !known)
    return llvm::createStringError("its template has no 'single' or no 'special_tokens'");
  bool isAfter = false;
  for (const json::Value &entry : *single) {
    const json::Object *object = entry.getAsObject();
    const json::Object *special = object ? object->getObject("SpecialToken") : nullptr;
    if (!special) {
      isAfter = true;
      continue;
    }
    const json::Object *token = known->getObject(textOf(*special, "id"));
    const json::Array *ids = token ? token->getArray("ids") : nullptr;
    if (!ids)
      return llvm::createStringError("its template names '" + textOf(*special, "id") +
                                     "', which has no ids");
    for (const json::Value &id : *ids)
      (isAfter ? around.after : around.before)
          .push_back(static_cast<int32_t>(id.getAsInteger().value_or(0)));
  }
  return llvm::Error::success();
}

static llvm::Expected<Template> readAround(const json::Object *part) {
  Template around;
  llvm::Error error = forEachPart(part, "processors", [&](const json::Object &step) -> llvm::Error {
    if (typeOf(step) == "TemplateProcessing")
      return readTemplate(step, around);
    // It changes where tokens are in the text, but no id.
    if (typeOf(step) == "ByteLevel")
      return llvm::Error::success();
    return notSupported("post-processor", typeOf(step), "TemplateProcessing, ByteLevel, Sequence");
  });
  if (error)
    return std::move(error);
  return around;
}

void Tokenizer::Parts::nameIds() {
  auto name = [&](int32_t id, llvm::StringRef text) {
    if (texts.size() <= static_cast<size_t>(id))
      texts.resize(id + 1);
    texts[id] = text.str();
  };
  for (const auto &token : model.vocabulary())
    name(token.second, token.first());
  for (const AddedToken &token : added.tokens()) {
    name(token.id, token.content);
    if (token.isSpecial)
      special.insert(token.id);
  }
}

/// Takes a part of the file, or returns its error.
template <typename T>
static llvm::Error take(llvm::Expected<T> part, T &to) {
  if (!part)
    return part.takeError();
  to = std::move(*part);
  return llvm::Error::success();
}

static llvm::Error readParts(const json::Object &file, AddedTokens &added, Normalizer &normalizer,
                             PreTokenizer &preTokenizer, BytePairs &model, Template &around,
                             Decoder &decoder) {
  const json::Object *pairs = partOf(file, "model");
  if (!pairs)
    return llvm::createStringError("it has no 'model'");
  if (llvm::Error error = take(BytePairs::read(*pairs), model))
    return error;
  if (llvm::Error error = take(Normalizer::read(partOf(file, "normalizer")), normalizer))
    return error;
  if (llvm::Error error = take(PreTokenizer::read(partOf(file, "pre_tokenizer")), preTokenizer))
    return error;
  if (llvm::Error error = take(readAround(partOf(file, "post_processor")), around))
    return error;
  if (llvm::Error error = take(Decoder::read(partOf(file, "decoder")), decoder))
    return error;
  if (llvm::Error error = take(AddedTokens::read(file), added))
    return error;
  return added.spell(normalizer);
}

llvm::Expected<Tokenizer> Tokenizer::read(llvm::StringRef path) {
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> buffer = readTextFile(path);
  if (!buffer)
    return buffer.takeError();
  llvm::Expected<json::Value> value = parseJsonTree((*buffer)->getBuffer());
  if (!value)
    return llvm::createStringError("'" + path + "' is " + llvm::toString(value.takeError()));
  const json::Object *file = value->getAsObject();
  if (!file)
    return llvm::createStringError("'" + path + "' is no tokenizer.json: expected an object");
  auto parts = std::make_unique<Parts>();
  if (llvm::Error error = readParts(*file, parts->added, parts->normalizer, parts->preTokenizer,
                                    parts->model, parts->around, parts->decoder))
    return llvm::createStringError("'" + path + "': " + llvm::toString(std::move(error)));
  parts->nameIds();
  return Tokenizer(std::move(parts));
}

int64_t Tokenizer::vocabulary() const { return static_cast<int64_t>(parts->texts.size()); }

//===----------------------------------------------------------------------===//
// Encoding and decoding
//===----------------------------------------------------------------------===//

/// Encodes the text between added tokens, in the spelling of the normalizer.
llvm::Error Tokenizer::Parts::encodeBetween(llvm::StringRef text, bool isFirst,
                                            std::vector<int32_t> &ids) const {
  llvm::Expected<Words> words = preTokenizer.apply({text.str(), isFirst});
  if (!words)
    return words.takeError();
  for (const Word &word : *words)
    model.encode(word.text, ids);
  return llvm::Error::success();
}

llvm::Error Tokenizer::Parts::encodePiece(llvm::StringRef text, bool isFirst,
                                          std::vector<int32_t> &ids) const {
  llvm::Expected<std::string> spelled = normalizer.apply(text);
  if (!spelled)
    return spelled.takeError();
  for (const Piece &piece : added.split(*spelled, /*normalized=*/true)) {
    if (piece.token)
      ids.push_back(piece.token->id);
    else if (llvm::Error error =
                 encodeBetween(piece.text, isFirst && piece.text.data() == spelled->data(), ids))
      return error;
  }
  return llvm::Error::success();
}

llvm::Expected<std::vector<int32_t>> Tokenizer::encode(llvm::StringRef text) const {
  constexpr size_t kLongest = size_t(1) << 30; // ICU counts in 32 bits.
  if (text.size() > kLongest)
    return llvm::createStringError("the text has " + llvm::Twine(text.size()) +
                                   " bytes, expected at most " + llvm::Twine(kLongest) +
                                   "; give it in parts");
  const auto *begin = reinterpret_cast<const llvm::UTF8 *>(text.data()), *end = begin;
  if (!llvm::isLegalUTF8String(&end, begin + text.size()))
    return llvm::createStringError("the text is not UTF-8 from byte " + llvm::Twine(end - begin) +
                                   " on");
  std::vector<int32_t> ids = parts->around.before;
  for (const Piece &piece : parts->added.split(text, /*normalized=*/false)) {
    if (piece.token)
      ids.push_back(piece.token->id);
    else if (llvm::Error error =
                 parts->encodePiece(piece.text, piece.text.data() == text.data(), ids))
      return std::move(error);
  }
  llvm::append_range(ids, parts->around.after);
  return ids;
}

std::string Tokenizer::decode(llvm::ArrayRef<int32_t> ids) const {
  std::vector<std::string> tokens;
  for (int32_t id : ids)
    if (id >= 0 && id < vocabulary() && !parts->special.contains(id))
      tokens.push_back(parts->texts[id]);
  return parts->decoder.apply(std::move(tokens));
}
