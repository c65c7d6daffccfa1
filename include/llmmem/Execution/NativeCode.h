//===- NativeCode.h - Modules of kernels as code of this machine --------------===//

#ifndef LLMMEM_EXECUTION_NATIVECODE_H
#define LLMMEM_EXECUTION_NATIVECODE_H

#include "mlir/IR/BuiltinOps.h"
#include <memory>

namespace llvm::orc {
class LLJIT; // Its header takes five seconds to compile.
} // namespace llvm::orc

namespace llmmem {

using PackedEntry = void (*)(void **);

struct NativeCode {
  /// Owns the code.
  std::shared_ptr<llvm::orc::LLJIT> engine;
  /// Takes a pointer to each parameter.
  PackedEntry entry = nullptr;
};

struct NativeOptions {
  /// Names the processor by LLVM's name ("x86-64-v3"). Empty means this machine's, which otherwise
  /// must have all of its instructions.
  std::string processor;
  /// This is off for code that spends its time in calls: no bit changes, and compiling is faster.
  bool optimize = true;
};

/// Compiles a module that `buildKernelsToLLVMPipeline` lowers or has lowered, which may call
/// llmmem's runtime, and finds `function`, which returns nothing. Consumes `module`. Where
/// LLMMEM_CODE_CACHE names a folder, the code of each function is kept there, and is read from
/// there if the same program has compiled it for the same processor.
llvm::Expected<NativeCode> compileToNative(mlir::ModuleOp module, llvm::StringRef function,
                                           const NativeOptions &options = {});

} // namespace llmmem

#endif // LLMMEM_EXECUTION_NATIVECODE_H
