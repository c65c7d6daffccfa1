//===- Normalizer.h - One spelling of a text -------------------------------===//

#ifndef LLMMEM_LIB_TOKENIZERS_NORMALIZER_H
#define LLMMEM_LIB_TOKENIZERS_NORMALIZER_H

#include "TokenizerFile.h"
#include <functional>
#include <vector>

namespace llmmem::tokenizers {

class Normalizer {
public:
  /// `part` may be null: texts then do not change.
  static llvm::Expected<Normalizer> read(const llvm::json::Object *part);
  llvm::Expected<std::string> apply(llvm::StringRef text) const;

private:
  using Step = std::function<llvm::Expected<std::string>(llvm::StringRef)>;
  llvm::Error add(const llvm::json::Object &part);
  std::vector<Step> steps;
};

} // namespace llmmem::tokenizers

#endif // LLMMEM_LIB_TOKENIZERS_NORMALIZER_H
