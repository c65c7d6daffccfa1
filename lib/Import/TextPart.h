//===- TextPart.h - The text part of a config of several parts --*- C++ -*-===//
//
// A model of images and text has the config of its text part as an object of its own config, under
// `text_config` or a similar key. That part is imported as the model that it is; the others are
// left out.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_IMPORT_TEXTPART_H
#define LLMMEM_LIB_IMPORT_TEXTPART_H

#include "llmmem/Import/Model.h"

namespace llmmem::importer {

struct TextPart {
  llvm::json::Object config; ///< With the keys of the whole that hold for this part, too.
  std::string key;           ///< Of the whole config.
  TextNames names;
  std::vector<std::string> leftOut; ///< The keys of the other parts.
};

/// Returns the text part of `whole`, or none where it has none.
std::optional<TextPart> findTextPart(const llvm::json::Object &whole);

/// Adds to `config` the keys of a family that published files leave out on purpose, with the values
/// of the public library. Returns what it added, as `key = value`.
std::vector<std::string> addLibraryDefaults(llvm::json::Object &config, llvm::StringRef modelType);

} // namespace llmmem::importer

#endif // LLMMEM_LIB_IMPORT_TEXTPART_H
