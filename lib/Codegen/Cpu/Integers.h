//===- Integers.h - Arithmetic of integers in functions of matmuls -*- C++ -*-===//

#ifndef LLMMEM_LIB_CODEGEN_CPU_INTEGERS_H
#define LLMMEM_LIB_CODEGEN_CPU_INTEGERS_H

#include "GemmWriter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace llmmem::gemm {

/// Represents an integer, or a vector of them.
struct Integers {
  Writer *w;
  mlir::Value value;

  template <typename Op>
  Integers with(mlir::Value other) const {
    return {w, Op::create(w->builder, w->loc(), value, other)};
  }
  mlir::Value like(int64_t number) const {
    mlir::Type type = value.getType();
    mlir::TypedAttr one = w->builder.getIntegerAttr(mlir::getElementTypeOrSelf(type), number);
    if (auto vector = llvm::dyn_cast<mlir::VectorType>(type))
      one = mlir::DenseElementsAttr::get(vector, llvm::cast<mlir::IntegerAttr>(one).getValue());
    return mlir::arith::ConstantOp::create(w->builder, w->loc(), one);
  }
  Integers operator+(Integers other) const { return with<mlir::arith::AddIOp>(other.value); }
  Integers operator-(Integers other) const { return with<mlir::arith::SubIOp>(other.value); }
  Integers operator*(Integers other) const { return with<mlir::arith::MulIOp>(other.value); }
  Integers operator&(int64_t bits) const { return with<mlir::arith::AndIOp>(like(bits)); }
  Integers down(int64_t bits) const {
    return bits ? with<mlir::arith::ShRUIOp>(like(bits)) : *this;
  }

  Integers asWords() const { // Of 32 bits, with their signs.
    return {w, mlir::arith::ExtSIOp::create(w->builder, w->loc(), typeOf(32), value)};
  }
  Integers asWordsWithoutSigns() const {
    return {w, mlir::arith::ExtUIOp::create(w->builder, w->loc(), typeOf(32), value)};
  }
  Integers narrow(unsigned bits) const {
    return {w, mlir::arith::TruncIOp::create(w->builder, w->loc(), typeOf(bits), value)};
  }
  mlir::Type typeOf(unsigned bits) const {
    return llvm::cast<mlir::VectorType>(value.getType()).clone(w->builder.getIntegerType(bits));
  }
  Num asNumbers() const {
    auto type = llvm::cast<mlir::VectorType>(value.getType());
    mlir::Type numbers = type.clone(w->accumulatorType);
    return {&w->builder, mlir::arith::SIToFPOp::create(w->builder, w->loc(), numbers, value)};
  }
};

Integers bitsOf(Writer &w, mlir::Value value, mlir::VectorType type);
Integers zeros(Writer &w, mlir::VectorType type);
/// Selects lanes of `a`, and after them those of `b`, by their numbers.
Integers chosenLanes(Integers a, Integers b, llvm::ArrayRef<int64_t> order);
mlir::Value spread(Writer &w, mlir::Value one, int64_t lanes);

/// Returns the sums of the lanes of eight vectors of eight lanes, in their order.
Integers sumsOfLanes(llvm::ArrayRef<Integers> eight);

/// Adds products of neighbours, in a pattern that LLVM recognises as one instruction of a
/// processor. For integers of up to 16 bits with signs, in 32 bits (vpmaddwd, vpdpwssd): (1, 2, 3,
/// 4) and (5, 6, 7, 8) give (17, 53).
Integers sumsOfPairs(Integers x, Integers y);
/// Does the same for bytes without signs times bytes with signs, where the sum of two needs no more
/// than 16 bits (vpmaddubsw saturates larger sums).
Integers sumsOfBytePairs(Integers unsignedBytes, Integers signedBytes);

} // namespace llmmem::gemm

#endif // LLMMEM_LIB_CODEGEN_CPU_INTEGERS_H
