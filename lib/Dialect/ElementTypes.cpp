//===- ElementTypes.cpp - What is so of each floating-point type -----------===//

#include "llmmem/Dialect/ElementTypes.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace llmmem;
using llvm::APFloat;

llvm::ArrayRef<llm::ElementTraits> llm::elementTypes() {
  static const ElementTraits rows[] = {
#define LLMMEM_ELEMENT_TYPE(KIND, TYPE, SEMANTICS, WORD, BYTES, IS_WIDE, IS_HALF, IS_OF_LIBRARIES) \
  {#KIND,                                                                                          \
   WORD,                                                                                           \
   BYTES,                                                                                          \
   IS_WIDE,                                                                                        \
   IS_HALF,                                                                                        \
   IS_OF_LIBRARIES,                                                                                \
   &APFloat::EnumToSemantics(APFloat::SEMANTICS)},
#include "llmmem/Dialect/ElementTypes.def"
  };
  return rows;
}

const llm::ElementTraits *llm::traitsOf(Type element) {
  llvm::ArrayRef<ElementTraits> rows = elementTypes();
  size_t row = 0;
#define LLMMEM_ELEMENT_TYPE(KIND, TYPE, ...)                                                       \
  if (isa_and_nonnull<TYPE>(element))                                                              \
    return &rows[row];                                                                             \
  ++row;
#include "llmmem/Dialect/ElementTypes.def"
  return nullptr;
}
