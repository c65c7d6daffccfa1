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

/// Compiles a module in the LLVM dialect, which may call llmmem's runtime, and finds `function`.
/// `processor`, as LLVM names it ("x86-64-v3"), replaces this machine's, which must have all of its
/// instructions.
llvm::Expected<NativeCode> compileToNative(mlir::ModuleOp lowered, llvm::StringRef function,
                                           llvm::StringRef processor = "");

} // namespace llmmem

#endif // LLMMEM_EXECUTION_NATIVECODE_H
