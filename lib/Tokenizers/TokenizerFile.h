//===- TokenizerFile.h - The parts of a tokenizer.json ---------------------===//
//
// Each part of the file is an object with a "type", or null. An unknown type may change ids, so the
// reader refuses it by its name.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_TOKENIZERS_TOKENIZERFILE_H
#define LLMMEM_LIB_TOKENIZERS_TOKENIZERFILE_H

#include "Unicode.h"
#include "llvm/Support/JSON.h"

namespace llmmem::tokenizers {

/// A list holds the texts of tokens by id, and a file must not be able to make it arbitrarily long.
inline constexpr int64_t kLargestId = (1 << 24) - 1;

/// Returns the part of the file under `key`; null where there is none.
const llvm::json::Object *partOf(const llvm::json::Object &file, llvm::StringRef key);
llvm::StringRef typeOf(const llvm::json::Object &part);
llvm::StringRef textOf(const llvm::json::Object &part, llvm::StringRef key);
bool flagOf(const llvm::json::Object &part, llvm::StringRef key, bool otherwise);
/// Reads {"String": "..."} or {"Regex": "..."} under "pattern".
llvm::Expected<Pattern> patternOf(const llvm::json::Object &part);

/// Returns "the decoder 'WordPiece' is not supported; there are: ...".
llvm::Error notSupported(llvm::StringRef what, llvm::StringRef type, llvm::StringRef known);

/// Calls `read` with the part or, where it is a "Sequence", with each of the parts in its `list`.
llvm::Error forEachPart(const llvm::json::Object *part, llvm::StringRef list,
                        llvm::function_ref<llvm::Error(const llvm::json::Object &)> read);

} // namespace llmmem::tokenizers

#endif // LLMMEM_LIB_TOKENIZERS_TOKENIZERFILE_H
