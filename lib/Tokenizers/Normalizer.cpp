//===- Normalizer.cpp - One spelling of a text -----------------------------===//

#include "Normalizer.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llmmem::tokenizers;
namespace json = llvm::json;

static std::optional<NormalForm> formOf(llvm::StringRef type) {
  return llvm::StringSwitch<std::optional<NormalForm>>(type)
      .Case("NFC", NormalForm::NFC)
      .Case("NFD", NormalForm::NFD)
      .Case("NFKC", NormalForm::NFKC)
      .Case("NFKD", NormalForm::NFKD)
      .Default(std::nullopt);
}

static std::string strip(llvm::StringRef text, bool left, bool right) {
  if (left)
    text = text.drop_front(spaceBefore(text));
  if (right)
    text = text.drop_back(trailingSpace(text));
  return text.str();
}

llvm::Error Normalizer::add(const json::Object &part) {
  llvm::StringRef type = typeOf(part);
  if (std::optional<NormalForm> form = formOf(type)) {
    steps.emplace_back([form](llvm::StringRef text) { return normalize(*form, text); });
  } else if (type == "Lowercase") {
    steps.emplace_back([](llvm::StringRef text) { return lowerCase(text); });
  } else if (type == "Strip") {
    bool left = flagOf(part, "strip_left", true), right = flagOf(part, "strip_right", true);
    steps.emplace_back([=](llvm::StringRef text) { return strip(text, left, right); });
  } else if (type == "Prepend") {
    std::string prefix = textOf(part, "prepend").str();
    steps.emplace_back([=](llvm::StringRef text) -> std::string {
      return text.empty() ? "" : prefix + text.str();
    });
  } else if (type == "Replace") {
    llvm::Expected<Pattern> pattern = patternOf(part);
    if (!pattern)
      return pattern.takeError();
    steps.emplace_back([pattern = *pattern, by = textOf(part, "content").str()](
                           llvm::StringRef text) { return pattern.replaceAll(text, by); });
  } else {
    return notSupported("normalizer", type,
                        "NFC, NFD, NFKC, NFKD, Lowercase, Strip, Prepend, Replace, Sequence");
  }
  return llvm::Error::success();
}

llvm::Expected<Normalizer> Normalizer::read(const json::Object *part) {
  Normalizer normalizer;
  if (llvm::Error error = forEachPart(
          part, "normalizers", [&](const json::Object &step) { return normalizer.add(step); }))
    return std::move(error);
  return normalizer;
}

llvm::Expected<std::string> Normalizer::apply(llvm::StringRef text) const {
  std::string result = text.str();
  for (const Step &step : steps) {
    llvm::Expected<std::string> next = step(result);
    if (!next)
      return next.takeError();
    result = std::move(*next);
  }
  return result;
}
