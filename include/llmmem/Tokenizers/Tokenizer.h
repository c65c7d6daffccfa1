//===- Tokenizer.h - Text as the ids that a model was trained on -----------===//
//
// Reads the `tokenizer.json` of published models where its model merges pairs of bytes or of
// characters (byte-level BPE: GPT-2, Llama 3, Qwen; BPE of characters with bytes as the fallback:
// Llama 2, Mistral, Gemma). Ids and text equal those of Hugging Face's tokenizers
// (https://huggingface.co/docs/tokenizers/pipeline):
//
//   text --added tokens--> pieces --normalizer--> --pre-tokenizer--> words --model--> ids
//   --template--> ids ids --model--> tokens --decoder--> text
//
//   Expected<Tokenizer> tokenizer = Tokenizer::read("tokenizer.json");
//   Expected<std::vector<int32_t>> ids = tokenizer->encode("Hello world");   // GPT-2: {15496, 995}
//   std::string text = tokenizer->decode(*ids);
//
// The reader refuses, by name, parts of the file that change ids and are not supported.
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
  /// Fails where the file cannot be read or has an unsupported part. Fails also where llmmem is
  /// built without ICU, which provides regular expressions and normal forms.
  static llvm::Expected<Tokenizer> read(llvm::StringRef path);
  Tokenizer(Tokenizer &&);
  Tokenizer &operator=(Tokenizer &&);
  ~Tokenizer();

  /// Returns the ids of a text in UTF-8, including those that the template adds around it (`<s>`,
  /// for example). Fails where the text is not UTF-8.
  llvm::Expected<std::vector<int32_t>> encode(llvm::StringRef text) const;
  /// Special tokens and ids beyond the vocabulary have no text. Bytes that are no UTF-8 become
  /// U+FFFD.
  std::string decode(llvm::ArrayRef<int32_t> ids) const;
  /// Returns the largest id plus one.
  int64_t vocabulary() const;

private:
  struct Parts;
  explicit Tokenizer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts;
};

} // namespace llmmem

#endif // LLMMEM_TOKENIZERS_TOKENIZER_H
