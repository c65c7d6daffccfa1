//===- TestDialect.h - Ops of the classes that the dialect has no op of yet ===//

#ifndef LLMMEM_UNITTESTS_DIALECT_TESTDIALECT_H
#define LLMMEM_UNITTESTS_DIALECT_TESTDIALECT_H

#include "llmmem/Dialect/LlmOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include "TestDialect.h.inc"

#define GET_OP_CLASSES
#include "TestOps.h.inc"

namespace llmmem::test {

/// A context with everything that compiling a step needs and the test dialect; a new one each time.
std::unique_ptr<mlir::MLIRContext> testContext();

/// Returns the module of `text`, or null after a diagnostic.
mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef text, mlir::MLIRContext &context);

/// Returns the number of ops of this name in `root`.
int64_t countOps(mlir::Operation *root, llvm::StringRef name);

} // namespace llmmem::test

#endif // LLMMEM_UNITTESTS_DIALECT_TESTDIALECT_H
