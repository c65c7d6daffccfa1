//===- ExecutionContext.h - One MLIR context for all tests of a program ----===//

#ifndef LLMMEM_UNITTESTS_EXECUTIONCONTEXT_H
#define LLMMEM_UNITTESTS_EXECUTIONCONTEXT_H

#include "llmmem/Execution/CompiledStep.h"

namespace llmmem::test {

/// Returns a context with everything that compiling a step needs. It is made once, since loading
/// the dialects takes a while.
inline mlir::MLIRContext &executionContext() {
  static mlir::MLIRContext *shared = [] {
    mlir::DialectRegistry registry;
    registerExecution(registry);
    auto *created = new mlir::MLIRContext(registry);
    created->loadAllAvailableDialects();
    return created;
  }();
  return *shared;
}

} // namespace llmmem::test

#endif // LLMMEM_UNITTESTS_EXECUTIONCONTEXT_H
