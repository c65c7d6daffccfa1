//===- ReadTokenizer.cpp - The tokenizer of a run ---------------------------===//

#include "ReadTokenizer.h"

using namespace llvm;
using namespace llmmem;

Expected<std::optional<Tokenizer>> llmmem::readTokenizer(const RunOptions &options,
                                                         int64_t vocabulary) {
  if (options.tokenizerFile.empty())
    return std::nullopt;
  Expected<Tokenizer> tokenizer = Tokenizer::read(options.tokenizerFile);
  if (!tokenizer)
    return tokenizer.takeError();
  if (tokenizer->vocabulary() > vocabulary)
    return createStringError("'" + options.tokenizerFile + "' has ids up to " +
                             Twine(tokenizer->vocabulary() - 1) + ", and the model has " +
                             Twine(vocabulary) + " tokens: give the tokenizer of this model");
  return std::optional<Tokenizer>(std::move(*tokenizer));
}

Expected<std::vector<int32_t>> llmmem::encodeText(const Tokenizer &tokenizer, StringRef file,
                                                  StringRef text) {
  Expected<std::vector<int32_t>> ids = tokenizer.encode(text);
  if (!ids)
    return createStringError("'" + file + "': " + toString(ids.takeError()));
  return ids;
}
