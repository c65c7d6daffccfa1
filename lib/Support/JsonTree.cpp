//===- JsonTree.cpp - JSON as a tree, of bounded depth ---------------------===//

#include "llmmem/Support/JsonTree.h"

/// Brackets that do not close count too, so broken JSON is bounded like any other.
static bool nestsTooDeep(llvm::StringRef text) {
  constexpr int kDeepest = 64;
  int depth = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (inString && text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      inString = !inString;
    else if (!inString && (text[i] == '{' || text[i] == '['))
      ++depth;
    else if (!inString && (text[i] == '}' || text[i] == ']'))
      --depth;
    if (depth > kDeepest)
      return true;
  }
  return false;
}

llvm::Expected<llvm::json::Value> llmmem::parseJsonTree(llvm::StringRef text) {
  if (nestsTooDeep(text))
    return llvm::createStringError("nested too deeply, expected at most 64 objects and lists in "
                                   "each other");
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value)
    return llvm::createStringError("not JSON: " + llvm::toString(value.takeError()));
  return value;
}
