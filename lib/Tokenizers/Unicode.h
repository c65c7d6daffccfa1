//===- Unicode.h - What tokenizers need of ICU -----------------------------===//

#ifndef LLMMEM_LIB_TOKENIZERS_UNICODE_H
#define LLMMEM_LIB_TOKENIZERS_UNICODE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>

namespace llmmem::tokenizers {

/// A regular expression, with the syntax that tokenizers share with ICU. `\s` is what has the
/// property White_Space, as it is for Oniguruma; ICU's own lacks U+000B and U+0085.
class Pattern {
public:
  static llvm::Expected<Pattern> compile(llvm::StringRef regex);
  /// Of exactly this text.
  static Pattern literal(llvm::StringRef text);

  /// Calls `body` with the bytes [begin, end) of each match in UTF-8, from left to right; matches
  /// of nothing are left out. Fails where ICU gives up.
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
/// Bytes that are no UTF-8 become U+FFFD.
std::string replaceInvalid(llvm::StringRef bytes);

/// The bytes of the code point that begins at `text`, which is UTF-8.
size_t lengthOfFirst(llvm::StringRef text);
bool isSpace(llvm::StringRef codePoint);
/// Bytes of the white space that `text` begins, or ends, with.
size_t spaceBefore(llvm::StringRef text);
size_t spaceBehind(llvm::StringRef text);

} // namespace llmmem::tokenizers

#endif // LLMMEM_LIB_TOKENIZERS_UNICODE_H
