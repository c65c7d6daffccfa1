//===- NativeObject.h - Modules of kernels as an object file ----*- C++ -*-===//

#ifndef LLMMEM_EXECUTION_NATIVEOBJECT_H
#define LLMMEM_EXECUTION_NATIVEOBJECT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/MemoryBuffer.h"

namespace llmmem {

/// Returns the processor that code for other machines is compiled for: on x86-64 a level with AVX2
/// and FMA ("x86-64-v3"), elsewhere the baseline of this architecture.
std::string portableProcessor();

/// Compiles a module that `buildKernelsToLLVMPipeline` lowers to a position-independent object file
/// of this system for `processor`. It exports the functions of the module under their names. It
/// needs only `llmmem_parallel_for` of llmmem's runtime, and libm. Consumes `module`.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> compileToObject(mlir::ModuleOp module,
                                                                    llvm::StringRef processor);

} // namespace llmmem

#endif // LLMMEM_EXECUTION_NATIVEOBJECT_H
