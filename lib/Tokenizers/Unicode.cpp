//===- Unicode.cpp - What tokenizers need of ICU ---------------------------===//

#include "Unicode.h"
#include "llvm/Support/ConvertUTF.h"
#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/regex.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

namespace llmmem::tokenizers {

//===----------------------------------------------------------------------===//
// Regular expressions
//===----------------------------------------------------------------------===//

struct Pattern::Compiled {
  std::string text; // The text of a literal; else empty.
  std::unique_ptr<icu::RegexPattern> regex;
};

static icu::UnicodeString toUnicode(llvm::StringRef text) {
  return icu::UnicodeString::fromUTF8({text.data(), static_cast<int32_t>(text.size())});
}

static std::string toBytes(const icu::UnicodeString &text) {
  std::string bytes;
  text.toUTF8String(bytes);
  return bytes;
}

static std::string withWhiteSpace(llvm::StringRef regex) {
  std::string text;
  for (size_t i = 0; i < regex.size(); ++i) {
    if (regex[i] != '\\' || i + 1 == regex.size()) {
      text += regex[i];
      continue;
    }
    char escaped = regex[++i];
    text += escaped == 's'   ? "\\p{White_Space}"
            : escaped == 'S' ? "\\P{White_Space}"
                             : std::string{'\\', escaped};
  }
  return text;
}

llvm::Expected<Pattern> Pattern::compile(llvm::StringRef regex) {
  UErrorCode status = U_ZERO_ERROR;
  UParseError where;
  auto compiled = std::make_shared<Compiled>();
  compiled->regex.reset(
      icu::RegexPattern::compile(toUnicode(withWhiteSpace(regex)), 0, where, status));
  if (U_FAILURE(status))
    return llvm::createStringError("the regular expression '" + regex +
                                   "' cannot be read: " + u_errorName(status));
  return Pattern(compiled);
}

Pattern Pattern::literal(llvm::StringRef text) {
  auto compiled = std::make_shared<Compiled>();
  compiled->text = text.str();
  return Pattern(compiled);
}

llvm::Error Pattern::forEachMatch(llvm::StringRef text,
                                  llvm::function_ref<void(size_t begin, size_t end)> body) const {
  if (!compiled->regex) {
    size_t at = compiled->text.empty() ? llvm::StringRef::npos : text.find(compiled->text);
    for (; at != llvm::StringRef::npos; at = text.find(compiled->text, at + compiled->text.size()))
      body(at, at + compiled->text.size());
    return llvm::Error::success();
  }
  UErrorCode status = U_ZERO_ERROR;
  // Positions in such a text are those of its bytes.
  UText *opened = utext_openUTF8(nullptr, text.data(), static_cast<int64_t>(text.size()), &status);
  std::unique_ptr<UText, decltype(&utext_close)> source(opened, utext_close);
  std::unique_ptr<icu::RegexMatcher> matcher(compiled->regex->matcher(status));
  if (U_SUCCESS(status)) {
    matcher->setStackLimit(0, status); // A run of spaces may be as long as the text.
    matcher->reset(source.get());
    while (matcher->find(status) && U_SUCCESS(status)) {
      int64_t begin = matcher->start64(status), end = matcher->end64(status);
      if (begin < end)
        body(static_cast<size_t>(begin), static_cast<size_t>(end));
    }
  }
  if (U_FAILURE(status))
    return llvm::createStringError(llvm::Twine("a regular expression failed on the text: ") +
                                   u_errorName(status));
  return llvm::Error::success();
}

llvm::Expected<std::string> Pattern::replaceAll(llvm::StringRef text, llvm::StringRef by) const {
  std::string result;
  size_t end = 0;
  llvm::Error error = forEachMatch(text, [&](size_t begin, size_t next) {
    result += text.slice(end, begin);
    result += by;
    end = next;
  });
  if (error)
    return std::move(error);
  return result + text.substr(end).str();
}

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

static const icu::Normalizer2 *normalizerOf(NormalForm form, UErrorCode &status) {
  switch (form) {
  case NormalForm::NFC:
    return icu::Normalizer2::getNFCInstance(status);
  case NormalForm::NFD:
    return icu::Normalizer2::getNFDInstance(status);
  case NormalForm::NFKC:
    return icu::Normalizer2::getNFKCInstance(status);
  case NormalForm::NFKD:
    return icu::Normalizer2::getNFKDInstance(status);
  }
  llvm_unreachable("a normal form");
}

std::string normalize(NormalForm form, llvm::StringRef text) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2 *normalizer = normalizerOf(form, status);
  icu::UnicodeString result = normalizer->normalize(toUnicode(text), status);
  return U_SUCCESS(status) ? toBytes(result) : text.str();
}

std::string lowerCase(llvm::StringRef text) {
  return toBytes(toUnicode(text).toLower(icu::Locale::getRoot()));
}

std::string replaceInvalid(llvm::StringRef bytes) { return toBytes(toUnicode(bytes)); }

size_t lengthOfFirst(llvm::StringRef text) {
  size_t length = llvm::getNumBytesForUTF8(static_cast<llvm::UTF8>(text.front()));
  return std::min(length, text.size());
}

bool isSpace(llvm::StringRef codePoint) {
  UChar32 character;
  U8_GET(reinterpret_cast<const uint8_t *>(codePoint.data()), 0, 0,
         static_cast<int32_t>(codePoint.size()), character);
  return character >= 0 && u_isUWhiteSpace(character);
}

size_t spaceBefore(llvm::StringRef text) {
  size_t end = 0;
  while (end < text.size()) {
    size_t length = lengthOfFirst(text.substr(end));
    if (!isSpace(text.substr(end, length)))
      break;
    end += length;
  }
  return end;
}

size_t trailingSpace(llvm::StringRef text) {
  size_t begin = text.size();
  while (begin > 0) {
    size_t first = begin - 1;
    while (first > 0 && (static_cast<unsigned char>(text[first]) & 0xC0) == 0x80)
      --first;
    if (!isSpace(text.slice(first, begin)))
      break;
    begin = first;
  }
  return text.size() - begin;
}

} // namespace llmmem::tokenizers
