//===- NativeCode.h - Lowered modules as code of this machine --------------===//

#ifndef LLMMEM_EXECUTION_NATIVECODE_H
#define LLMMEM_EXECUTION_NATIVECODE_H

#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/IR/BuiltinOps.h"

namespace llmmem {

using PackedEntry = void (*)(void **);

struct NativeCode {
  std::unique_ptr<mlir::ExecutionEngine> engine;
  /// Takes a pointer to each parameter.
  PackedEntry entry = nullptr;
};

struct NativeOptions {
  /// As LLVM names it ("x86-64-v3"), in the place of this machine's, which must have all of its
  /// instructions.
  std::string processor;
  /// Off for code that spends its time in calls: no bit changes, and compiling is faster.
  bool optimize = true;
};

/// Compiles a module in the LLVM dialect, which may call llmmem's runtime, and finds `function`.
llvm::Expected<NativeCode> compileToNative(mlir::ModuleOp lowered, llvm::StringRef function,
                                           const NativeOptions &options = {});

} // namespace llmmem

#endif // LLMMEM_EXECUTION_NATIVECODE_H
