//===- EmptyRows.h - Tiles of rows that are all zeros -----------------------===//
//
// Places of an expert that no token has are zeros, and so are their products, whatever is in the
// weights. A block whose rows of A are such places writes zeros and reads no weight.
//
// A block looks at the first elements of its rows, one thread a row: 32 bytes of each, which tell
// nearly always that a row is a token's. Only where all of these are zeros are the rows read whole.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_EMPTYROWS_H
#define LLMMEM_LIB_CODEGEN_GPU_EMPTYROWS_H

#include "Emitter/Matmuls.h"
#include "llmmem/Codegen/Gpu/DeviceLoops.h"

namespace llmmem {

/// The part of C that a block computes; it may end behind C's last row and column.
struct TileOfC {
  Index row;
  int64_t rows;
  Index column;
  int64_t columns;
};

/// What a block has to look at its rows with. `slots` is workgroup memory of an i32 for each of its
/// warps, which nobody else uses until all threads have left the look.
struct BlockOfThreads {
  Index thread;
  int64_t count;
  Buffer slots;
};

/// Workgroup memory for the slots of a block of so many threads.
Buffer slotsOfThreads(KernelEmitter &e, int64_t threads);

/// Runs `multiply`, which computes the tile, on all threads of the block; if `chosenShare` is set,
/// only where A's rows are not all zeros, and else the tile is zeros.
void multiplyUnlessEmpty(KernelEmitter &e, const Matmul &matmul, const TileOfC &tile,
                         const BlockOfThreads &block, llvm::function_ref<void()> multiply);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_EMPTYROWS_H
