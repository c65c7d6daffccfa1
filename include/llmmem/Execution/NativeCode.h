//===- NativeCode.h - Lowered modules as code of this machine --------------===//

#ifndef LLMMEM_EXECUTION_NATIVECODE_H
#define LLMMEM_EXECUTION_NATIVECODE_H

#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/IR/BuiltinOps.h"

namespace llmmem {

using PackedEntry = void (*)(void **);

struct NativeCode {
  std::unique_ptr<mlir::ExecutionEngine> engine;
  /// Takes for each parameter the place where it is.
  PackedEntry entry = nullptr;
};

/// Compiles a module in the LLVM dialect, which may call llmmem's runtime, and finds `function`.
llvm::Expected<NativeCode> compileToNative(mlir::ModuleOp lowered, llvm::StringRef function);

} // namespace llmmem

#endif // LLMMEM_EXECUTION_NATIVECODE_H
