//===- EmptyRows.h - Tiles of rows that are all zeros -----------------------===//
//
// Places of an expert that no token has are zeros, and so are their products, whatever is in the
// weights. A block whose rows of A are such places writes zeros and reads no weight.
//
// A block reads the choices of its rows, 4 bytes each, and not the rows: in a step of decoding most
// experts have none, and each has as many blocks as it has tiles of columns. Every warp reads them
// by itself, so no warp waits for another.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_GPU_EMPTYROWS_H
#define LLMMEM_LIB_CODEGEN_GPU_EMPTYROWS_H

#include "Emitter/Matmuls.h"
#include "llmmem/Codegen/Gpu/DeviceLoops.h"

namespace llmmem {

/// Describes the part of C that a block computes; it may end after C's last row and column.
struct TileOfC {
  Index row;
  int64_t rows;
  Index column;
  int64_t columns;
};

/// Describes a thread of a block, and how many it has: whole warps.
struct BlockOfThreads {
  Index thread;
  int64_t count;
};

/// Runs `multiply`, which computes the tile, on all threads of the block. If the matmul has
/// `choices`, it runs only where one of A's rows has something; otherwise the tile is zeros.
void multiplyUnlessEmpty(KernelEmitter &e, const Matmul &matmul, const TileOfC &tile,
                         const BlockOfThreads &block, llvm::function_ref<void()> multiply);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_GPU_EMPTYROWS_H
