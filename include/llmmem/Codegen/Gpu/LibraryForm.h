//===- LibraryForm.h - What matmuls of one algorithm have in common --------===//

#ifndef LLMMEM_CODEGEN_GPU_LIBRARYFORM_H
#define LLMMEM_CODEGEN_GPU_LIBRARYFORM_H

#include "llmmem/Dialect/LlmOps.h"

namespace llmmem {

/// Returns everything in a call of cuBLASLt except its addresses: sizes, layouts, types, epilogue,
/// workspace. A module's `llm.missing_products` lists such forms, and kernels are then emitted
/// without calls of them.
mlir::DictionaryAttr libraryFormOf(llm::LibraryProductOp op);

} // namespace llmmem

#endif // LLMMEM_CODEGEN_GPU_LIBRARYFORM_H
