//===- VocabularyPart.h - The tokens that a rank has rows or columns of ----===//

#ifndef LLMMEM_LIB_CODEGEN_EMITTER_VOCABULARYPART_H
#define LLMMEM_LIB_CODEGEN_EMITTER_VOCABULARYPART_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"
#include "llmmem/Dialect/LlmDialect.h"
#include <optional>

namespace llmmem {

/// Maps tokens to places in a tensor with `count` rows or columns: all tokens or, with an
/// `llm.vocabulary`, those of a rank. Example: position 1 of 2 has 6 of 11 tokens; token 7 is at
/// its place 1, token 3 at -3, and its place 5 is padding.
class VocabularyPart {
public:
  /// Reads the rank's position at the kernel's entry.
  VocabularyPart(KernelEmitter &e, std::optional<llm::VocabularyAttr> part, int64_t count);

  /// Returns the place of an id, which is clamped into the vocabulary. It is outside 0 to `count` -
  /// 1 where another rank has the id.
  Index place(Index id);
  mlir::Value has(Index place);
  /// Returns a place that the rank has: `place` where it has that.
  Index nearest(Index place);
  Index token(Index place) { return isPart() ? place + begin : place; }

  bool isPart() const { return static_cast<bool>(begin.value); }
  /// Returns whether some rank's last places are no tokens.
  bool isPadded() const { return padded; }
  /// Returns the number of places that are tokens.
  Index tokens();
  /// Returns `x` where the lanes from `first` on are tokens, else `other`.
  Num ifTokens(Index first, unsigned lanes, Num x, Num other);

  int64_t size; // The tokens of all ranks.

private:
  KernelEmitter &e;
  int64_t count;
  Index begin; // Null where the tensor has all tokens.
  bool padded = false;
};

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_EMITTER_VOCABULARYPART_H
