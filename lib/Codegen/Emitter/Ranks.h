//===- Ranks.h - The position of a kernel's rank in the mesh -----------===//

#ifndef LLMMEM_LIB_CODEGEN_EMITTER_RANKS_H
#define LLMMEM_LIB_CODEGEN_EMITTER_RANKS_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"

namespace llmmem {

/// Calls `function` of the runtime with `arguments` at the insertion point of `e`. Returns its
/// result, or null where `result` is null.
mlir::Value callRuntime(KernelEmitter &e, llvm::StringRef function, mlir::ValueRange arguments,
                        mlir::Type result = {});

/// Returns the position of the rank that runs the kernel in its group. It is read once, at the
/// kernel's entry.
Index positionInGroup(KernelEmitter &e, mlir::ArrayAttr axes);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_EMITTER_RANKS_H
