//===- Register.cpp - What the C interface registers ------------------------===//

#include "Register.h"
#include "llmmem/InitAll.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

void llmmem::capi::registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::func::FuncDialect>();
  registerAllDialects(registry);
}

void llmmem::capi::registerPasses() { registerAllPasses(); }
