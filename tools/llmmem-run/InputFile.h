//===- InputFile.h - A program to run, and what its diagnostics quote -------===//

#ifndef LLMMEM_TOOLS_LLMMEM_RUN_INPUTFILE_H
#define LLMMEM_TOOLS_LLMMEM_RUN_INPUTFILE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"

namespace llmmem {

struct InputFile {
  llvm::SourceMgr sources;
  std::unique_ptr<mlir::SourceMgrDiagnosticHandler> handler;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;

  /// Fails where it cannot be read (after a located diagnostic, where it is no program) or has no
  /// step.
  static llvm::Expected<std::unique_ptr<InputFile>> read(mlir::MLIRContext &context,
                                                         llvm::StringRef path);
  bool keepsCaches();
};

} // namespace llmmem

#endif // LLMMEM_TOOLS_LLMMEM_RUN_INPUTFILE_H
