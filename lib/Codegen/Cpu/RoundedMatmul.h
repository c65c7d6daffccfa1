//===- RoundedMatmul.h - Products of rounded activations -------------------===//
//
// A product by a weight of i4 or i8 whose activations are rounded to 8 bits (`activation_group` of
// llm.linear) is a product of integers: sums of a group are exact, and only the work that is done
// once a group is in f32. So it takes a fraction of the instructions of a product by elements, and
// one row is as fast as the weight is read.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_CPU_ROUNDEDMATMUL_H
#define LLMMEM_LIB_CODEGEN_CPU_ROUNDEDMATMUL_H

#include "Emitter/Matmuls.h"

namespace llmmem {

/// Returns the columns of a strip: whole groups of the weight where these lie along the columns.
int64_t roundedStrip(const Matmul &matmul);

/// Describes row `row` of a strip of C: `columns` from `column` on, at most a strip.
struct StripRow {
  Index row, column, columns;
};

/// Emits the row, stored in row `to` of `target`.
void emitRoundedRow(mlir::Operation *op, KernelEmitter &e, const Matmul &matmul,
                    const StripRow &strip, const Matrix &target, Index to);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_CPU_ROUNDEDMATMUL_H
