//===- PreTokenizer.h - A text cut into words that no merge crosses --------===//

#ifndef LLMMEM_LIB_TOKENIZERS_PRETOKENIZER_H
#define LLMMEM_LIB_TOKENIZERS_PRETOKENIZER_H

#include "TokenizerFile.h"
#include <functional>
#include <vector>

namespace llmmem::tokenizers {

/// Holds a piece of the text, in the spelling that the model knows.
struct Word {
  std::string text;
  bool isFirst = false; // Says whether the whole text begins with it.
};
using Words = std::vector<Word>;

class PreTokenizer {
public:
  /// `part` may be null: a text is then one word.
  static llvm::Expected<PreTokenizer> read(const llvm::json::Object *part);
  /// No returned word is empty.
  llvm::Expected<Words> apply(Word text) const;

private:
  /// Appends the words that a word becomes.
  using Step = std::function<llvm::Error(Word, Words &)>;
  llvm::Error add(const llvm::json::Object &part);
  llvm::Error addSplit(const llvm::json::Object &part);
  llvm::Error addSplit(llvm::StringRef regex, llvm::StringRef behavior, bool invert = false);
  void addSplit(Pattern pattern, llvm::StringRef behavior, bool invert);
  llvm::Error addByteLevel(const llvm::json::Object &part);
  void addMetaspace(const llvm::json::Object &part);

  std::vector<Step> steps;
};

} // namespace llmmem::tokenizers

#endif // LLMMEM_LIB_TOKENIZERS_PRETOKENIZER_H
