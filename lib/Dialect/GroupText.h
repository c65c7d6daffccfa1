//===- GroupText.h - The text of an op whose body is ops of the dialect ----===//
//
//   llm.kernel(%a = %x, %b = %y) : functional type { ... } attributes {...}
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_DIALECT_GROUPTEXT_H
#define LLMMEM_LIB_DIALECT_GROUPTEXT_H

#include "mlir/IR/OpImplementation.h"

namespace llmmem::llm {

/// Parse and print an op whose operands are the arguments of its one region, as above. Attributes
/// in `elided` are not printed.
mlir::ParseResult parseGroup(mlir::OpAsmParser &parser, mlir::OperationState &result);
void printGroup(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                llvm::ArrayRef<llvm::StringRef> elided = {});

} // namespace llmmem::llm

#endif // LLMMEM_LIB_DIALECT_GROUPTEXT_H
