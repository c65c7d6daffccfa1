//===- InputFile.h - A program to run, and what its diagnostics quote -------===//

#ifndef LLMMEM_TOOLS_LLMMEM_RUN_INPUTFILE_H
#define LLMMEM_TOOLS_LLMMEM_RUN_INPUTFILE_H

#include "llmmem/Pipelines/ProgramFile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

struct InputFile {
  std::unique_ptr<ProgramFile> program;
  mlir::func::FuncOp function;

  /// Fails where it cannot be read (after a located diagnostic, where it is no program) or has no
  /// step.
  static llvm::Expected<std::unique_ptr<InputFile>> read(mlir::MLIRContext &context,
                                                         llvm::StringRef path);
  bool keepsCaches();
};

} // namespace llmmem

#endif // LLMMEM_TOOLS_LLMMEM_RUN_INPUTFILE_H
