//===- FewerBits.h - Reading and rounding to fewer bits -------------------===//
//
// Numbers in fewer bits (docs/Design/FewerBits.md) become f32 in a few instructions. The bits of an
// integer, put into the significand of 2^23, are that integer plus 2^23; those of an f8, moved to
// the places of f32's exponent and significand, are the number times a power of two. Both are
// exact. An element is then one subtraction of integers, which is exact, and one multiplication.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_EMITTER_FEWERBITS_H
#define LLMMEM_LIB_CODEGEN_EMITTER_FEWERBITS_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"

namespace llmmem {

/// Describes stored numbers, and how many neighbours share a scale.
struct PackedFormat {
  mlir::Type element;
  int64_t group = 0;

  int64_t bits() const { return element.getIntOrFloatBitWidth(); }
  /// Returns the stored numbers of a byte.
  int64_t perByte() const { return 8 / bits(); }
  bool hasZeros() const { return group > 0 && element.isInteger(4); }
  explicit operator bool() const { return group > 0; }
};

/// Returns the stored numbers in the lowest bits of `words` (i32, or a vector of them; other bits
/// may be anything), as f32; for i4, less the zero point whose `zeroOf` is `zero`.
Num numbersOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value words, mlir::Type element,
              std::optional<Num> zero);
/// Returns what `numbersOf` subtracts for the zero point in the lowest bits of `words`.
Num zeroOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value words);

/// Returns bytes as words, with zeros above them.
mlir::Value wordsOfBytes(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value bytes);
/// Separates words that hold a byte each into the two i4 of every one, as neighbours: the first of
/// a byte is in its lower bits. The bits above an i4 stay.
mlir::Value separateNibbles(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value words);

/// Returns words below 2^23 as f32.
Num integersAsNumbers(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value words);
/// Returns the lowest bytes of numbers, which are rounded to integers, to nearest with ties to
/// even.
mlir::Value bytesOfIntegers(Num x);
/// Returns the number in [1, 2) that, times a power of two, is `x`, a normal number above 0.
Num significandOf(Num x);

/// Returns numbers, of at most the largest of `element`, rounded to nearest even, as bytes. It does
/// not support i4.
mlir::Value bytesOfNumbers(Num x, mlir::Type element);

/// Describes a tensor that may have fewer bits, as kernels have it.
struct HeldBuffer {
  Buffer payload; // Numbers, or bytes where they are packed.
  Buffer scales = {}, zeros = {};
  PackedFormat format = {};

  bool isPacked() const { return static_cast<bool>(format); }
};

/// Returns the operands of an op that are a tensor, its scales and, for i4, its zero points.
HeldBuffer heldOperand(KernelEmitter &e, mlir::OpOperand &held, mlir::MutableOperandRange scales,
                       mlir::MutableOperandRange zeros);

/// Holds what the elements of a group share.
struct GroupScale {
  Num scale;
  std::optional<Num> zero;
};
/// Returns that of the group that contains element `index` of a packed tensor.
GroupScale groupScale(KernelEmitter &e, const HeldBuffer &x, Index index);

/// Loads elements `index` to `index` + `lanes`, all in one group; for i4 one, or an even number of
/// them from an even `index` on.
Num load(KernelEmitter &e, const HeldBuffer &x, Index index, unsigned lanes = 1);
/// Does the same for a packed tensor, with what their group shares.
Num load(KernelEmitter &e, const HeldBuffer &x, Index index, unsigned lanes,
         const GroupScale &group);
/// Loads `width` elements of one group; it does not support i4.
Row loadRow(KernelEmitter &e, const HeldBuffer &x, Index index, int64_t width);

} // namespace llmmem

#endif // LLMMEM_LIB_CODEGEN_EMITTER_FEWERBITS_H
