//===- JsonTree.h - JSON as a tree, of bounded depth -----------------------===//
//
// This parser is for files whose keys are not ours to say. llvm::json recurses as deep as the text
// says; a hostile text must not exhaust the stack. Where the shape is known, JsonReader.h reads
// without a tree.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_SUPPORT_JSONTREE_H
#define LLMMEM_SUPPORT_JSONTREE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace llmmem {

/// Parses `text`. The error is "not JSON: [line:column] what" or "nested too deeply".
llvm::Expected<llvm::json::Value> parseJsonTree(llvm::StringRef text);

} // namespace llmmem

#endif // LLMMEM_SUPPORT_JSONTREE_H
