//===- Decoder.h - Tokens as text ------------------------------------------===//

#ifndef LLMMEM_LIB_TOKENIZERS_DECODER_H
#define LLMMEM_LIB_TOKENIZERS_DECODER_H

#include "TokenizerFile.h"
#include <functional>
#include <vector>

namespace llmmem::tokenizers {

class Decoder {
public:
  /// `part` may be null: spaces then separate tokens.
  static llvm::Expected<Decoder> read(const llvm::json::Object *part);
  std::string apply(std::vector<std::string> tokens) const;

private:
  using Step = std::function<void(std::vector<std::string> &)>;
  llvm::Error add(const llvm::json::Object &part);
  std::vector<Step> steps;
};

} // namespace llmmem::tokenizers

#endif // LLMMEM_LIB_TOKENIZERS_DECODER_H
