//===- Register.h - What the C interface registers --------------------------===//
//
// These stand apart from Passes.cpp, which would read the headers of all dialects for two calls.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CAPI_PASSES_REGISTER_H
#define LLMMEM_LIB_CAPI_PASSES_REGISTER_H

#include "mlir/IR/DialectRegistry.h"

namespace llmmem::capi {

/// Registers the func dialect and llmmem's own.
void registerDialects(mlir::DialectRegistry &registry);
void registerPasses();

} // namespace llmmem::capi

#endif // LLMMEM_LIB_CAPI_PASSES_REGISTER_H
