//===- TokenizerFile.cpp - The parts of a tokenizer.json -------------------===//

#include "TokenizerFile.h"

namespace json = llvm::json;

namespace llmmem::tokenizers {

const json::Object *partOf(const json::Object &file, llvm::StringRef key) {
  return file.getObject(key);
}

llvm::StringRef textOf(const json::Object &part, llvm::StringRef key) {
  return part.getString(key).value_or("");
}

llvm::StringRef typeOf(const json::Object &part) { return textOf(part, "type"); }

bool flagOf(const json::Object &part, llvm::StringRef key, bool otherwise) {
  return part.getBoolean(key).value_or(otherwise);
}

llvm::Expected<Pattern> patternOf(const json::Object &part) {
  const json::Object *pattern = part.getObject("pattern");
  if (pattern && pattern->getString("String"))
    return Pattern::literal(*pattern->getString("String"));
  if (pattern && pattern->getString("Regex"))
    return Pattern::compile(*pattern->getString("Regex"));
  return llvm::createStringError(
      "'" + typeOf(part) + "' has no pattern: expected {\"String\": ...} or {\"Regex\": ...}");
}

llvm::Error notSupported(llvm::StringRef what, llvm::StringRef type, llvm::StringRef known) {
  return llvm::createStringError("the " + what + " '" + type +
                                 "' is not supported; there are: " + known);
}

llvm::Error forEachPart(const json::Object *part, llvm::StringRef list,
                        llvm::function_ref<llvm::Error(const json::Object &)> read) {
  if (!part)
    return llvm::Error::success();
  const json::Array *parts = typeOf(*part) == "Sequence" ? part->getArray(list) : nullptr;
  if (!parts)
    return read(*part);
  for (const json::Value &inner : *parts) {
    const json::Object *object = inner.getAsObject();
    if (!object)
      return llvm::createStringError("a sequence has a part that is no object");
    if (llvm::Error error = forEachPart(object, list, read))
      return error;
  }
  return llvm::Error::success();
}

} // namespace llmmem::tokenizers
