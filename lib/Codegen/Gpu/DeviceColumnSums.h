//===- DeviceColumnSums.h - Sums over rows, column by column, on a GPU -----===//
//
// A block takes some columns of every row and distributes the rows over its threads; its warps meet
// in a tree. Sums need no memory between launches, and are combined in a fixed order that depends
// on the shape alone.
//
// On sm_90a the rows are those of a cluster of blocks, so that a block can take a whole line of 128
// bytes of each: 768 columns of bf16 are 12 lines, for each of which 8 blocks have a part of the
// rows and meet in the first one's workgroup memory. Elsewhere a block takes 32 bytes of every row,
// or 16 where that leaves multiprocessors without a block, and is far from DRAM's rate.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_DEVICECOLUMNSUMS_H
#define LLMMEM_LIB_CODEGEN_GPU_DEVICECOLUMNSUMS_H

#include "Emitter/ExactSums.h"

namespace llmmem {

struct ColumnSums {
  Buffer into; // Null, or what each sum begins with.
  int64_t rows, width;
  int64_t period;  // No vector of columns crosses a multiple of it.
  int64_t buffers; // The buffers that a term reads.
  ColumnTerm term;
};

/// Computes result[j] = into[j] + sum of term(row, j) over the rows, each with the rounding errors
/// of its additions.
void emitColumnSumsOnDevice(KernelEmitter &e, const ColumnSums &sums);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_DEVICECOLUMNSUMS_H
