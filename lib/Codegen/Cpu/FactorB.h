//===- FactorB.h - The elements of B, however they are held ---------------===//
//
// Functions of matmuls read B by the number of an element: from memory as it is, widened, or
// unpacked from fewer bits (docs/Design/FewerBits.md). In a function's arguments, B is a pointer in
// its place; where it is packed, three more stand behind all others: the number of B's first
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
  /// Of the function that is written; its pointer is `argument`.
  FactorB(Writer &w, unsigned argument);

  /// B from its element `count` on.
  FactorB operator+(Index count) const;

  /// One element, or whole vectors of one group from a multiple of the lanes on, widened.
  Num load(Index place, int64_t lanes) const;
  /// The first `count` lanes; the others are 0. Groups hold whole vectors, so of a packed B these
  /// are all lanes, or none where the count is not above 0.
  Num loadFirst(Index place, Index count) const;

  /// Stored numbers from byte `byte` behind B's first element on, as `count` integers of the type.
  mlir::Value loadStored(Index byte, int64_t count, mlir::Type integer) const;
  /// The number of the group that `place` is in; its scale, and its zero point in the lowest bits
  /// of a word.
  Index groupOf(Index place) const;
  Num scaleOf(Index group) const;
  Num scalesOf(Index group, int64_t count) const; // of neighbours
  mlir::Value zeroBitsOf(Index group) const;
  /// Byte `number` of the zero points, which holds two: that of an odd group in its upper half.
  mlir::Value zeroByte(Index number) const;

  /// Asks for the cache line of element `place`, which may lie beyond B.
  void prefetch(Index place) const;

  /// For calls of functions that take B: its pointer, and what stands behind all other arguments.
  mlir::Value pointer() const;
  llvm::SmallVector<mlir::Value> rest() const;
  static llvm::SmallVector<mlir::Type> restTypes(mlir::MLIRContext *context);

private:
  /// What `numbersOf` takes for the zero point of a group.
  std::optional<Num> zeroOfGroup(Index group) const;

  Writer *w;
  Pointer payload, scales, zeros;
  Index begin;
};

/// What a call of such a function passes for B, from its element `first` on.
mlir::Value addressOfB(mlir::Operation *op, KernelEmitter &e, const Matrix &b, Index first);
llvm::SmallVector<mlir::Value> restOfB(mlir::Operation *op, KernelEmitter &e, const Matrix &b,
                                       Index first);

} // namespace llmmem::gemm

#endif // LLMMEM_LIB_CODEGEN_CPU_FACTORB_H
