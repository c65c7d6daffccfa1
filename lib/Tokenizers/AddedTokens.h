//===- AddedTokens.h - Tokens that a text may name -------------------------===//
//
// The "added_tokens" of the file are found in the text before anything else changes it, the longest
// where several begin: "<|endoftext|>" is one id wherever it stands. Tokens that say "normalized"
// are found after the normalizer, in its spelling.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_TOKENIZERS_ADDEDTOKENS_H
#define LLMMEM_LIB_TOKENIZERS_ADDEDTOKENS_H

#include "Normalizer.h"
#include <array>

namespace llmmem::tokenizers {

struct AddedToken {
  std::string content;
  int32_t id = 0;
  bool isSpecial = false, isNormalized = false;
  bool stripsLeft = false, stripsRight = false; // Takes the white space on that side as well.
};

/// Holds a part of a text: a token, or the text between tokens.
struct Piece {
  llvm::StringRef text;
  const AddedToken *token = nullptr;
};

class AddedTokens {
public:
  static llvm::Expected<AddedTokens> read(const llvm::json::Object &file);
  /// Spells normalized tokens as `normalizer` does.
  llvm::Error spell(const Normalizer &normalizer);

  /// Cuts `text` at the tokens that are normalized, or at those that are not.
  std::vector<Piece> split(llvm::StringRef text, bool normalized) const;
  llvm::ArrayRef<AddedToken> tokens() const { return all; }

private:
  struct Spelling {
    std::string text;
    size_t token;
  };
  const Spelling *longestAt(llvm::StringRef text, bool normalized) const;

  std::vector<AddedToken> all;
  std::vector<Spelling> spellings; // The longest come first.
  std::array<bool, 256> begins{};  // Says whether one begins with this byte.
};

} // namespace llmmem::tokenizers

#endif // LLMMEM_LIB_TOKENIZERS_ADDEDTOKENS_H
