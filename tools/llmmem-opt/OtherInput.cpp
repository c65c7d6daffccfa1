//===- OtherInput.cpp - What was given in the place of a program -----------===//

#include "OtherInput.h"
#include "llmmem/Support/JsonTree.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace llmmem;

static bool isOfName(char c) { return isAlnum(c) || c == '_' || c == '$'; }

StringRef llmmem::findPrettyOp(StringRef text, function_ref<bool(StringRef)> isRegistered) {
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    line = line.ltrim();
    if (line.starts_with("%"))
      line = line.split(" = ").second;
    StringRef dialect = line.take_while(isOfName);
    StringRef op = line.take_while([](char c) { return isOfName(c) || c == '.'; });
    if (!dialect.empty() && isAlpha(dialect.front()) && op.size() > dialect.size() + 1 &&
        op[dialect.size()] == '.' && !isRegistered(dialect))
      return op;
  }
  return {};
}

std::string llmmem::adviseOnPrettyOp(StringRef op) {
  std::string advice = ("'" + op +
                        "' is written as its own dialect's library prints it, which is not here; "
                        "print the generic form: ")
                           .str();
  for (StringRef dialect : {"stablehlo.", "mhlo.", "chlo.", "sdy."})
    if (op.starts_with(dialect))
      return advice + "stablehlo-opt --mlir-print-op-generic, or in JAX "
                      "lowered.compiler_ir('stablehlo').operation.get_asm(print_generic_op_form="
                      "True)";
  return advice + "the tool that wrote it prints it with --mlir-print-op-generic";
}

bool llmmem::mayCallInRegions(StringRef text) {
  return text.contains("\"sdy.") && text.contains("call");
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
