//===- LlmSharding.h - Rules of sharding that ops do not declare -----------===//

#ifndef LLMMEM_LIB_DIALECT_LLMSHARDING_H
#define LLMMEM_LIB_DIALECT_LLMSHARDING_H

#include "mlir/IR/MLIRContext.h"

namespace llmmem::llm {

/// Attaches them to their ops, which must be registered.
void attachShardings(mlir::MLIRContext *context);

} // namespace llmmem::llm

#endif // LLMMEM_LIB_DIALECT_LLMSHARDING_H
