//===- MmaMatmul.h - Matmuls of 16-bit floats on tensor cores -------------===//
//
// Matmuls without a library use this: one launch, with a block of threads for each tile of C. Each
// element of C is summed in f32 by mma.sync over `inner` from 0 up in steps of 16 and then over the
// terms, whatever the tiles, and rounded once.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_MMAMATMUL_H
#define LLMMEM_LIB_CODEGEN_GPU_MMAMATMUL_H

#include "Emitter/Matmuls.h"

namespace llmmem {

/// Returns whether A and B are of one 16-bit float type.
bool isMmaMatmul(const Matmul &matmul);

/// Emits the launch of make(0), ..., make(count - 1), one of which is `first`, into the device
/// kernel of `e`. Where `isWarpgroupMatmul` says so, wgmma multiplies (WarpgroupMatmul.h).
void emitMmaMatmuls(KernelEmitter &e, int64_t count, const Matmul &first,
                    llvm::function_ref<Matmul(Index number)> make);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_MMAMATMUL_H
