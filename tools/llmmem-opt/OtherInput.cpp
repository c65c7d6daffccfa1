//===- OtherInput.cpp - What was given in the place of a program -----------===//

#include "OtherInput.h"
#include "llmmem/Support/JsonTree.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace llmmem;

StringRef llmmem::findPrettyOp(StringRef text) {
  for (StringRef dialect : {"stablehlo.", "mhlo.", "chlo."})
    for (StringRef before : {"= ", "    ", "  "}) {
      size_t at = text.find((before + dialect).str());
      if (at != StringRef::npos)
        return text.substr(at + before.size()).take_until([](char c) { return isSpace(c); });
    }
  return {};
}

std::string llmmem::findOtherInput(StringRef file, StringRef text) {
  if (!text.ltrim().starts_with("{") || text.ltrim().starts_with("{-#"))
    return "";
  Expected<json::Value> value = parseJsonTree(text);
  if (!value) {
    consumeError(value.takeError());
    return "";
  }
  const json::Object *object = value->getAsObject();
  if (object && object->get("model_type"))
    return ("'" + file + "' is a model's config; make a program of it first: llmmem-import " +
            file + " --batch 8 --seq 1024 -o model.mlir")
        .str();
  if (object && object->getString("format") == "llmmem-problem")
    return ("'" + file + "' is a llmmem-problem, which llmmem-plan plans: llmmem-plan " + file)
        .str();
  return ("'" + file + "' is JSON; expected a program in MLIR, as llmmem-import writes").str();
}
