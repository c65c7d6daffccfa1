//===- ProgramFile.h - A program from a file --------------------------------===//
//
// Every tool reads its program by this, or by the readProgram below it where MLIR's own main parses
// (Support/ProgramText.h): what is too deep for a stack is refused before anything recurses over
// it.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PIPELINES_PROGRAMFILE_H
#define LLMMEM_PIPELINES_PROGRAMFILE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/SourceMgr.h"
#include <memory>

namespace llmmem {

/// Holds a program, and what its diagnostics quote.
struct ProgramFile {
  llvm::SourceMgr sources;
  std::unique_ptr<mlir::SourceMgrDiagnosticHandler> handler;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  /// Reads `path` into `context`. Fails where it cannot be read or, after a located diagnostic, is
  /// no program or has sizes that cannot be counted (checkSizes).
  static llvm::Expected<std::unique_ptr<ProgramFile>> parse(mlir::MLIRContext &context,
                                                            llvm::StringRef path);
};

} // namespace llmmem

#endif // LLMMEM_PIPELINES_PROGRAMFILE_H
