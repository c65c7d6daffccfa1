//===- ColumnSums.h - Sums over rows, column by column ---------------------===//

#ifndef LLMMEM_LIB_CODEGEN_KERNELS_COLUMNSUMS_H
#define LLMMEM_LIB_CODEGEN_KERNELS_COLUMNSUMS_H

#include "Emitter/ExactSums.h"

namespace llmmem {

/// Computes result[j] = into[j] + sum of term(row, j) over the rows, for `width` columns of the
/// first result, each with the rounding errors of its additions. `buffers` says how many of them a
/// term reads.
void emitColumnSumsOf(KernelEmitter &e, Buffer into, int64_t rows, int64_t width, ColumnTerm term,
                      int64_t buffers = 1);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_KERNELS_COLUMNSUMS_H
