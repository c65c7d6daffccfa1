//===- SplitMatmul.h - A matmul whose sum several blocks share ------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_SPLITMATMUL_H
#define LLMMEM_LIB_CODEGEN_GPU_SPLITMATMUL_H

#include "Emitter/Matmuls.h"
#include "llmmem/Targets/SplitSums.h"

namespace llmmem {

/// Emits two launches. In the first, tensor cores write each part's sums to `sums` (f32, parts
/// `SumParts::distance` apart). In the second, every element adds its parts from the first to the
/// last, and `initial`, and is rounded once. C and `initial` are whole buffers, A is transposed and
/// B is not: a weight's gradient.
void emitSplitMatmul(KernelEmitter &e, const Matmul &matmul, llm::SumParts parts, Buffer sums);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_SPLITMATMUL_H
