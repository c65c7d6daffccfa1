//===- KernelNumbers.h - Arithmetic of kernels, written as in C ------------===//
//
// Operators and functions emit an op where `builder` stands.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_CODEGEN_EMITTER_KERNELNUMBERS_H
#define LLMMEM_CODEGEN_EMITTER_KERNELNUMBERS_H

#include "mlir/IR/Builders.h"

namespace llmmem {

/// Represents a floating-point value of a kernel: one number, or a vector of lanes. An operation on
/// a vector and a number splats the number.
struct Num {
  mlir::OpBuilder *builder = nullptr;
  mlir::Value value;

  mlir::Type type() const { return value.getType(); }
  /// Returns the same constant in this value's type.
  Num like(double constant) const;
};

Num operator+(Num a, Num b);
Num operator-(Num a, Num b);
Num operator*(Num a, Num b);
Num operator/(Num a, Num b);
Num operator-(Num a);
inline Num operator+(Num a, double b) { return a + a.like(b); }
inline Num operator-(Num a, double b) { return a - a.like(b); }
inline Num operator-(double a, Num b) { return b.like(a) - b; }
inline Num operator*(Num a, double b) { return a * a.like(b); }
inline Num operator/(Num a, double b) { return a / a.like(b); }
inline Num operator/(double a, Num b) { return b.like(a) / b; }
/// Returns a b + c, rounded once.
Num fma(Num a, Num b, Num c);
Num exp(Num x);
Num tanh(Num x);
Num erf(Num x);
Num log(Num x);
Num sqrt(Num x);
Num sin(Num x);
Num cos(Num x);
Num power(Num base, Num exponent);
/// Returns the larger one, or NaN if either is NaN, because NaNs of the fill pattern must
/// propagate.
Num maximum(Num a, Num b);
/// Returns the smaller one, or NaN if either is NaN.
Num minimum(Num a, Num b);
/// Converts `x` to another element type, rounded to nearest even where that is narrower.
Num convert(Num x, mlir::Type element);
/// Returns a where `condition` (one bit, or one for each lane) is set, else b.
Num select(mlir::Value condition, Num a, Num b);
/// Return the sum and the maximum of all lanes, in a fixed tree.
Num sumOfLanes(Num x);
Num maximumOfLanes(Num x);

/// Represents a position or a count, as an MLIR index, or as an integer of fewer bits.
struct Index {
  mlir::OpBuilder *builder = nullptr;
  mlir::Value value;

  Index like(int64_t constant) const;
};

Index operator+(Index a, Index b);
Index operator-(Index a, Index b);
Index operator*(Index a, Index b);
/// Divides numbers that are not negative, rounding down.
Index operator/(Index a, Index b);
Index operator%(Index a, Index b);
inline Index operator+(Index a, int64_t b) { return a + a.like(b); }
inline Index operator-(Index a, int64_t b) { return a - a.like(b); }
inline Index operator*(Index a, int64_t b) { return a * a.like(b); }
inline Index operator/(Index a, int64_t b) { return a / a.like(b); }
inline Index operator%(Index a, int64_t b) { return a % a.like(b); }
inline Index ceilDiv(Index a, Index b) { return (a + (b - 1)) / b; }
inline Index roundUp(Index a, int64_t granule) { return (a + (granule - 1)) / granule * granule; }
Index minimum(Index a, Index b);
Index maximum(Index a, Index b);
mlir::Value equal(Index a, Index b);
mlir::Value less(Index a, Index b);
/// Converts `index`, by way of i64.
Num toNumber(Index index, mlir::FloatType type);
/// Returns first, first + step, ...: the numbers of `lanes` elements, as i64.
mlir::Value elementNumbers(Index first, unsigned lanes, int64_t step = 1);

/// Represents a row held in registers: whole vectors, then one vector of the remaining elements.
using Row = llvm::SmallVector<Num>;

} // namespace llmmem

#endif // LLMMEM_CODEGEN_EMITTER_KERNELNUMBERS_H
