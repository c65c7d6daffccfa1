//===- LibraryForm.h - What matmuls of one algorithm have in common --------===//

#ifndef LLMMEM_CODEGEN_GPU_LIBRARYFORM_H
#define LLMMEM_CODEGEN_GPU_LIBRARYFORM_H

#include "llmmem/Dialect/LlmOps.h"

namespace llmmem {

/// All of a call of cuBLASLt but its addresses: sizes, layouts, types, epilogue, workspace. A
/// module's `llm.missing_products` lists such forms: kernels are then written without calls of
/// them.
mlir::DictionaryAttr libraryFormOf(llm::LibraryProductOp op);

} // namespace llmmem

#endif // LLMMEM_CODEGEN_GPU_LIBRARYFORM_H
