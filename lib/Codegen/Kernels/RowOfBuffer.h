//===- RowOfBuffer.h - A row that several loops read -----------------------===//

#ifndef LLMMEM_LIB_CODEGEN_KERNELS_ROWOFBUFFER_H
#define LLMMEM_LIB_CODEGEN_KERNELS_ROWOFBUFFER_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"
#include "llvm/ADT/DenseMap.h"

namespace llmmem {

/// A row of a buffer, from element `begin` on, that several loops read. On a GPU a thread keeps the
/// vectors that it has of a short one in registers; else each loop loads them again.
class RowOfBuffer {
public:
  /// Stands where the row's turn begins.
  RowOfBuffer(KernelEmitter &e, Buffer buffer, Index begin)
      : e(e), buffer(buffer), begin(begin), turn(e.builder().getInsertionBlock()) {}

  Num load(Index j, unsigned lanes) {
    mlir::Value known = kept.lookup(j.value);
    if (!known)
      known = e.loadRaw(buffer, begin + j, lanes);
    // What a loop or a branch has loaded is not there after it.
    if (e.builder().getInsertionBlock() == turn)
      kept[j.value] = known;
    return convert({&e.builder(), known}, e.wideType());
  }

private:
  KernelEmitter &e;
  Buffer buffer;
  Index begin;
  mlir::Block *turn;
  /// By the place in the row: loops with equal shares have equal places.
  llvm::DenseMap<mlir::Value, mlir::Value> kept;
};

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_KERNELS_ROWOFBUFFER_H
