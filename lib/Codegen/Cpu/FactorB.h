//===- FactorB.h - The elements of B, however they are held ---------------===//
//
// Functions of matmuls read B by the number of an element: from memory directly, widened, or
// unpacked from fewer bits (docs/Design/FewerBits.md). Among a function's arguments, B is a pointer
// in its place. Where B is packed, three more arguments follow all others: the number of B's first
// element, the scales, and the zero points (null where there are none).
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_CPU_FACTORB_H
#define LLMMEM_LIB_CODEGEN_CPU_FACTORB_H

#include "Emitter/Matmuls.h"
#include "GemmWriter.h"

namespace llmmem::gemm {

class FactorB {
public:
  /// Reads B in the function that is emitted; its pointer is `argument`.
  FactorB(Writer &w, unsigned argument);

  /// Returns B from its element `count` on.
  FactorB operator+(Index count) const;

  /// Loads one element, or whole vectors of one group from a multiple of the lanes on, widened.
  Num load(Index place, int64_t lanes) const;
  /// Loads the first `count` lanes; the others are 0. Groups hold whole vectors, so for a packed B
  /// these are all lanes, or none where the count is not above 0.
  Num loadFirst(Index place, Index count) const;

  /// Loads stored numbers from byte `byte` after B's first element on, as `count` integers of the
  /// type.
  mlir::Value loadStored(Index byte, int64_t count, mlir::Type integer) const;
  /// Return the number of the group that contains `place`, and its scale and its zero point, the
  /// latter in the lowest bits of a word.
  Index groupOf(Index place) const;
  Num scaleOf(Index group) const;
  Num scalesOf(Index group, int64_t count) const; // Those of neighbours.
  mlir::Value zeroBitsOf(Index group) const;
  /// Returns byte `number` of the zero points, which holds two: that of an odd group in its upper
  /// half.
  mlir::Value zeroByte(Index number) const;

  /// Prefetches the cache line of element `place`, which may lie beyond B.
  void prefetch(Index place) const;

  /// These serve calls of functions that take B: its pointer, and the arguments that follow all
  /// others.
  mlir::Value pointer() const;
  llvm::SmallVector<mlir::Value> rest() const;
  static llvm::SmallVector<mlir::Type> restTypes(mlir::MLIRContext *context);

private:
  /// Returns what `numbersOf` takes for the zero point of a group.
  std::optional<Num> zeroOfGroup(Index group) const;

  Writer *w;
  Pointer payload, scales, zeros;
  Index begin;
};

/// Returns what a call of such a function passes for B, from its element `first` on.
mlir::Value addressOfB(mlir::Operation *op, KernelEmitter &e, const Matrix &b, Index first);
llvm::SmallVector<mlir::Value> restOfB(mlir::Operation *op, KernelEmitter &e, const Matrix &b,
                                       Index first);

} // namespace llmmem::gemm

#endif // LLMMEM_LIB_CODEGEN_CPU_FACTORB_H
