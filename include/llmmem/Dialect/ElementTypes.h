//===- ElementTypes.h - What is so of each floating-point type -------------===//
//
// Rows of ElementTypes.def. What holds numbers and is not computed with (i4, i8, f8) is in
// FewerBits.h. Example: `traitsOf(bf16)->dtype` is "BF16".
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DIALECT_ELEMENTTYPES_H
#define LLMMEM_DIALECT_ELEMENTTYPES_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/APFloat.h"

namespace llmmem::llm {

struct ElementTraits {
  llvm::StringRef dtype, word;
  int64_t bytes;
  bool isWide, isHalf, isOfLibraries;
  /// The rounding of a type, and the meaning of its bits.
  const llvm::fltSemantics *semantics;
};

/// In the order of the table.
llvm::ArrayRef<ElementTraits> elementTypes();

/// The row of a type; null where it has none.
const ElementTraits *traitsOf(mlir::Type element);

inline bool isHalf(mlir::Type element) {
  const ElementTraits *traits = traitsOf(element);
  return traits && traits->isHalf;
}
inline bool isOfLibraries(mlir::Type element) {
  const ElementTraits *traits = traitsOf(element);
  return traits && traits->isOfLibraries;
}

} // namespace llmmem::llm

#endif // LLMMEM_DIALECT_ELEMENTTYPES_H
