//===- RowOfBuffer.h - A row that several loops read ----------------------===//

#ifndef LLMMEM_LIB_CODEGEN_KERNELS_ROWOFBUFFER_H
#define LLMMEM_LIB_CODEGEN_KERNELS_ROWOFBUFFER_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"
#include "llvm/ADT/DenseMap.h"

namespace llmmem {

/// Reads a row of a buffer, from element `begin` on, that several loops read. On a GPU a thread
/// keeps its vectors of a short row in registers; otherwise each loop loads them again.
class RowOfBuffer {
public:
  /// Construct it where the row's iteration begins.
  RowOfBuffer(KernelEmitter &e, Buffer buffer, Index begin)
      : e(e), buffer(buffer), begin(begin), iteration(e.builder().getInsertionBlock()) {}

  Num load(Index j, unsigned lanes) {
    mlir::Value known = kept.lookup(j.value);
    if (!known)
      known = e.loadRaw(buffer, begin + j, lanes);
    // Values loaded inside a loop or a branch do not dominate the code after it.
    if (e.builder().getInsertionBlock() == iteration)
      kept[j.value] = known;
    return convert({&e.builder(), known}, e.computeType());
  }

private:
  KernelEmitter &e;
  Buffer buffer;
  Index begin;
  mlir::Block *iteration;
  /// Maps the index in the row: loops with equal distributions use equal values.
  llvm::DenseMap<mlir::Value, mlir::Value> kept;
};

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_KERNELS_ROWOFBUFFER_H
