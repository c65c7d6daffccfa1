//===- Tokenizer.h - Text as the ids that a model was trained on -----------===//
//
// Reads the `tokenizer.json` that models are published with, as far as it says how pairs of bytes
// or of characters are merged (byte-level BPE: GPT-2, Llama 3, Qwen; BPE of characters with bytes
// as the fallback: Llama 2, Mistral, Gemma). Ids and text are those of Hugging Face's tokenizers
// (https://huggingface.co/docs/tokenizers/pipeline):
//
//   text --added tokens--> pieces --normalizer--> --pre-tokenizer--> words --model--> ids
//   --template--> ids ids --model--> tokens --decoder--> text
//
//   Expected<Tokenizer> tokenizer = Tokenizer::read("tokenizer.json");
//   Expected<std::vector<int32_t>> ids = tokenizer->encode("Hello world");   // GPT-2: {15496, 995}
//   std::string text = tokenizer->decode(*ids);
//
// Parts of the file that change ids and are not supported are refused by name.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TOKENIZERS_TOKENIZER_H
#define LLMMEM_TOKENIZERS_TOKENIZER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace llmmem {

class Tokenizer {
public:
  /// Fails where the file cannot be read or has a part that is not supported, and where llmmem was
  /// built without ICU, whose regular expressions and normal forms it needs.
  static llvm::Expected<Tokenizer> read(llvm::StringRef path);
  Tokenizer(Tokenizer &&);
  Tokenizer &operator=(Tokenizer &&);
  ~Tokenizer();

  /// The ids of a text in UTF-8, with those that its template puts around one (`<s>`, say). Fails
  /// where the text is not UTF-8.
  llvm::Expected<std::vector<int32_t>> encode(llvm::StringRef text) const;
  /// Special tokens and ids beyond the vocabulary have no text; bytes that are no UTF-8 are U+FFFD.
  std::string decode(llvm::ArrayRef<int32_t> ids) const;
  /// The largest id and one.
  int64_t vocabulary() const;

private:
  struct Parts;
  explicit Tokenizer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts;
};

} // namespace llmmem

#endif // LLMMEM_TOKENIZERS_TOKENIZER_H
