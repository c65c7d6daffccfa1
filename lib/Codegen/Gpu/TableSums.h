//===- TableSums.h - Rows of a table summed by id, on a GPU ---------------===//
//
// A block takes up to 64 rows of the table, as far apart as there are blocks, so that frequent ids,
// which are neighbours, fall into different blocks. It reads all ids once, lists the positions that
// look up its rows, sorts them by row, and sums each row in registers, in the order of the
// positions. This takes one launch, no atomics and no intermediate results between launches, and
// each row is written once.
//
// Example, a table of 130 rows: there are three blocks, and the second takes the rows 1, 4, 7, ...,
// 127. Of the ids 4, 9, 1, 4 it lists (position 0, its row 1), (2, 0), (3, 1), and sums position 2
// for its row 0, and positions 0 and 3 for its row 1. Row 9 is the first block's.
//
// Reading all ids costs each block 4 bytes a token, mostly from the second-level cache: 32 KiB for
// 8192 tokens, where its rows have 96 KiB (width 768, bf16) or 512 KiB (4096).
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_TABLESUMS_H
#define LLMMEM_LIB_CODEGEN_GPU_TABLESUMS_H

#include "Emitter/VocabularyPart.h"
#include "llmmem/Codegen/Emitter/KernelEmitter.h"

namespace llmmem {

/// Computes table[id] = into[id] (0 where `into` is null) + the sum of `terms` over the positions
/// whose id, clamped into the table, is `id`. It accumulates in the compute type in the order of
/// the positions and rounds once, as on a CPU. Where `into` is the table itself, rows that no id
/// looks up are not accessed. Ids whose rows another rank has add to none.
void emitTableSums(KernelEmitter &e, Buffer ids, Buffer terms, Buffer into, Buffer table,
                   int64_t width, VocabularyPart &vocabulary);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_TABLESUMS_H
