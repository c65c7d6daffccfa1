//===- NativeObject.h - Modules of kernels as an object file ----*- C++ -*-===//

#ifndef LLMMEM_EXECUTION_NATIVEOBJECT_H
#define LLMMEM_EXECUTION_NATIVEOBJECT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/MemoryBuffer.h"

namespace llmmem {

/// What code that another machine is to run is compiled for: of x86-64 a level with AVX2 and
/// FMA, else whatever this architecture has everywhere. "x86-64-v3"
std::string portableProcessor();

/// Compiles a module of what `buildKernelsToLLVMPipeline` lowers to an object file of this system
/// for `processor`, position-independent. It has the functions of the module under their names,
/// and needs of llmmem's runtime `llmmem_parallel_for` alone, and libm. Of `module` nothing useful
/// is left.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> compileToObject(mlir::ModuleOp module,
                                                                    llvm::StringRef processor);

} // namespace llmmem

#endif // LLMMEM_EXECUTION_NATIVEOBJECT_H
