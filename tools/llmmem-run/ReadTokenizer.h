//===- ReadTokenizer.h - The tokenizer of a run -----------------------------===//

#ifndef LLMMEM_TOOLS_LLMMEM_RUN_READTOKENIZER_H
#define LLMMEM_TOOLS_LLMMEM_RUN_READTOKENIZER_H

#include "RunOptions.h"
#include "llmmem/Tokenizers/Tokenizer.h"

namespace llmmem {

/// Reads the tokenizer of --tokenizer; none where it is not given. Fails if it has ids that a model
/// of so many tokens lacks. A model may have more: they are often rounded up.
llvm::Expected<std::optional<Tokenizer>> readTokenizer(const RunOptions &options,
                                                       int64_t vocabulary);
/// Returns the ids of `text`, which is of `file` or a prompt.
llvm::Expected<std::vector<int32_t>> encodeText(const Tokenizer &tokenizer, llvm::StringRef file,
                                                llvm::StringRef text);

} // namespace llmmem

#endif // LLMMEM_TOOLS_LLMMEM_RUN_READTOKENIZER_H
