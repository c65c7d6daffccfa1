//===- WarpgroupMatmul.h - Matmuls by wgmma -------------------------------===//
//
// MmaMatmul.h describes these, with the instructions of sm_90a: each element of C is summed in f32
// by wgmma over `inner` from 0 up in steps of 16 and then over the terms, whatever the tiles, and
// rounded once.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_WARPGROUPMATMUL_H
#define LLMMEM_LIB_CODEGEN_GPU_WARPGROUPMATMUL_H

#include "Emitter/Matmuls.h"

namespace llmmem {

/// Returns whether the options allow wgmma and C has more rows than a warpgroup multiplies and as
/// many columns as a line of shared memory. Smaller ones would leave most of a tile empty, and are
/// left to mma.sync.
bool isWarpgroupMatmul(const KernelOptions &options, const Matmul &matmul);

/// Does what `emitMmaMatmuls` does.
void emitWarpgroupMatmuls(KernelEmitter &e, int64_t count, const Matmul &first,
                          llvm::function_ref<Matmul(Index number)> make);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_WARPGROUPMATMUL_H
