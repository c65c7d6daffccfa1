//===- ByteAlphabet.h - Bytes as characters that can be seen ---------------===//
//
// Byte-level BPE merges characters, one for each byte (Radford et al. 2019; `bytes_to_unicode` of
// GPT-2's encoder): 33 to 126, 161 to 172 and 174 to 255 are the characters of their numbers, and
// the others, in order, those from 256 on. So a space is U+0120.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_TOKENIZERS_BYTEALPHABET_H
#define LLMMEM_LIB_TOKENIZERS_BYTEALPHABET_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace llmmem::tokenizers {

/// Returns the characters in UTF-8.
std::string charactersOf(llvm::StringRef bytes);
/// Returns the bytes, or nothing where some character represents no byte.
std::optional<std::string> bytesOf(llvm::StringRef characters);

} // namespace llmmem::tokenizers

#endif // LLMMEM_LIB_TOKENIZERS_BYTEALPHABET_H
