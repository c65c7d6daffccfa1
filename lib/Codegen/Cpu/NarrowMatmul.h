//===- NarrowMatmul.h - Matmuls of few rows by a matrix as it lies --------===//
//
// A matmul of few rows, as in a step of decoding, reads each element of B once or a few times.
// Copying B into a panel first would cost more than the matmul. Here B is read in place, in rows of
// vectors or, transposed, in squares that are transposed in registers. Each element of C is the
// chain of fused multiply-adds that `emitGeneratedMatmul` promises, so the bits are those of the
// variant with panels.
//
// Such a matmul is as fast as memory is read, so the order of reads is chosen first: sixteen rows
// of B, each from its beginning to its end in a strip, while sums stay in the first cache; or,
// transposed, as many rows as a vector has lanes that are far from each other, so that each is part
// of a long stream. Lines of both are prefetched.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_CPU_NARROWMATMUL_H
#define LLMMEM_LIB_CODEGEN_CPU_NARROWMATMUL_H

#include "Emitter/Matmuls.h"

namespace llmmem {

/// Returns whether a matmul has few enough rows, and the simple form that this code supports.
bool isNarrowMatmul(const Matmul &matmul);

/// Emits one strip of C, all rows of the columns from `column` on: at most `narrowStrip` of them,
/// stored from `target` on.
void emitNarrowStrip(mlir::Operation *op, KernelEmitter &e, const Matmul &matmul, Index column,
                     Index columns, const Matrix &target);

/// Returns the columns of a strip.
int64_t narrowStrip(KernelEmitter &e, const Matmul &matmul);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_CPU_NARROWMATMUL_H
