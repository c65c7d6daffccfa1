//===- Unicode.h - What tokenizers need of ICU -----------------------------===//

#ifndef LLMMEM_LIB_TOKENIZERS_UNICODE_H
#define LLMMEM_LIB_TOKENIZERS_UNICODE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>

namespace llmmem::tokenizers {

/// Holds a regular expression, with the syntax that tokenizers share with ICU. `\s` matches the
/// property White_Space, as in Oniguruma; ICU's own lacks U+000B and U+0085.
class Pattern {
public:
  static llvm::Expected<Pattern> compile(llvm::StringRef regex);
  /// Returns a pattern of exactly this text.
  static Pattern literal(llvm::StringRef text);

  /// Calls `body` with the bytes [begin, end) of each match in UTF-8, from left to right, without
  /// empty matches. Fails where ICU gives up.
  llvm::Error forEachMatch(llvm::StringRef text,
                           llvm::function_ref<void(size_t begin, size_t end)> body) const;
  llvm::Expected<std::string> replaceAll(llvm::StringRef text, llvm::StringRef by) const;

private:
  struct Compiled;
  explicit Pattern(std::shared_ptr<const Compiled> compiled) : compiled(std::move(compiled)) {}
  std::shared_ptr<const Compiled> compiled;
};

enum class NormalForm { NFC, NFD, NFKC, NFKD };
std::string normalize(NormalForm form, llvm::StringRef text);
std::string lowerCase(llvm::StringRef text);
/// Replaces bytes that are no UTF-8 by U+FFFD.
std::string replaceInvalid(llvm::StringRef bytes);

/// Returns the bytes of the code point at the beginning of `text`, which is UTF-8.
size_t lengthOfFirst(llvm::StringRef text);
bool isSpace(llvm::StringRef codePoint);
/// Return the bytes of the white space at the beginning and at the end of `text`.
size_t spaceBefore(llvm::StringRef text);
size_t trailingSpace(llvm::StringRef text);

} // namespace llmmem::tokenizers

#endif // LLMMEM_LIB_TOKENIZERS_UNICODE_H
