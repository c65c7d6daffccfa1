//===- LlmAnnotations.cpp - Words of annotations as enums ------------------===//

#include "llmmem/Dialect/LlmAnnotations.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

std::optional<Phase> llm::readPhase(Operation *op) {
  auto text = op->getAttrOfType<StringAttr>(LlmDialect::kPhase);
  return text ? symbolizePhase(text.getValue()) : std::nullopt;
}

void llm::writePhase(Operation *op, Phase phase) {
  op->setAttr(LlmDialect::kPhase, StringAttr::get(op->getContext(), stringifyPhase(phase)));
}

std::optional<Role> llm::readRole(FunctionOpInterface function, unsigned argument) {
  auto text = function.getArgAttrOfType<StringAttr>(argument, LlmDialect::kRole);
  return text ? symbolizeRole(text.getValue()) : std::nullopt;
}

SmallVector<Decision> llm::readDecisions(Operation *op) {
  SmallVector<Decision> decisions;
  if (auto texts = op->getAttrOfType<ArrayAttr>(LlmDialect::kDecision))
    for (auto text : texts.getAsRange<StringAttr>())
      if (std::optional<Decision> decision = symbolizeDecision(text.getValue()))
        decisions.push_back(*decision);
  return decisions;
}

int64_t llmmem::libraryWorkspaceBytes(Operation *op) {
  auto bytes = op->getAttrOfType<IntegerAttr>(LlmDialect::kLibraryWorkspace);
  return bytes ? bytes.getInt() : 0;
}

bool llmmem::isForLibrary(Operation *op) { return op->hasAttr(LlmDialect::kLibraryWorkspace); }

void llm::writeDecisions(Operation *op, ArrayRef<Decision> decisions) {
  Builder builder(op->getContext());
  SmallVector<Attribute> texts =
      llvm::map_to_vector(decisions, [&](Decision decision) -> Attribute {
        return builder.getStringAttr(stringifyDecision(decision));
      });
  op->setAttr(LlmDialect::kDecision, builder.getArrayAttr(texts));
}
