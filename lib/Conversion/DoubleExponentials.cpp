//===- DoubleExponentials.cpp - exp, log and tanh of f64 without libm ------===//
//
// Uses the polynomials of FDLIBM (e_exp.c, e_log.c), with selects instead of its branches, so that
// all lanes run the same code. Errors stay below one unit in the last place, and those of tanh
// below three; infinities, zeros and NaNs are as in C.
//
//===----------------------------------------------------------------------===//

#include "DoubleFunctions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace llmmem;

static constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;

namespace {
/// Represents 64-bit integers, one for each lane of a number.
struct Bits {
  OpBuilder *builder;
  Value value;

  static Bits of(Num x) {
    Type type = typeFor(x);
    return {x.builder, arith::BitcastOp::create(*x.builder, x.value.getLoc(), type, x.value)};
  }
  /// Converts a number that is an integer.
  static Bits whole(Num x) {
    return {x.builder, arith::FPToSIOp::create(*x.builder, x.value.getLoc(), typeFor(x), x.value)};
  }
  Num asNumber(Type type) const {
    return {builder, arith::BitcastOp::create(*builder, value.getLoc(), type, value)};
  }
  Num toNumber(Type type) const {
    return {builder, arith::SIToFPOp::create(*builder, value.getLoc(), type, value)};
  }
  template <typename Op>
  Bits with(int64_t constant) const {
    TypedAttr attribute = builder->getI64IntegerAttr(constant);
    if (auto vector = dyn_cast<VectorType>(value.getType()))
      attribute = DenseElementsAttr::get(vector, APInt(64, constant, /*isSigned=*/true));
    Value other = arith::ConstantOp::create(*builder, value.getLoc(), attribute);
    return {builder, Op::create(*builder, value.getLoc(), value, other)};
  }
  Bits operator+(int64_t other) const { return with<arith::AddIOp>(other); }
  Bits operator&(int64_t other) const { return with<arith::AndIOp>(other); }
  Bits operator<<(int64_t other) const { return with<arith::ShLIOp>(other); }
  Bits operator>>(int64_t other) const { return with<arith::ShRSIOp>(other); }
  Bits operator-(Bits other) const {
    return {builder, arith::SubIOp::create(*builder, value.getLoc(), value, other.value)};
  }

private:
  static Type typeFor(Num x) {
    Type integer = x.builder->getI64Type();
    auto vector = dyn_cast<VectorType>(x.type());
    return vector ? vector.clone(integer) : integer;
  }
};
} // namespace

static Value compare(arith::CmpFPredicate predicate, Num a, Num b) {
  return arith::CmpFOp::create(*a.builder, a.value.getLoc(), predicate, a.value, b.value);
}
static Value isBelow(Num a, double b) { return compare(arith::CmpFPredicate::OLT, a, a.like(b)); }
static Value isAbove(Num a, double b) { return compare(arith::CmpFPredicate::OGT, a, a.like(b)); }
/// Returns `y`, or `x` itself where that is a NaN.
static Num unlessNaN(Num x, Num y) {
  return select(compare(arith::CmpFPredicate::UNO, x, x), x, y);
}

/// Returns 2^k for an integer from -1022 to 1023.
static Num powerOfTwo(Bits k, Type type) { return ((k + 1023) << 52).asNumber(type); }

namespace {
/// Splits x = doublings ln(2) + (high - low), with the rest between -ln(2) / 2 and ln(2) / 2, and
/// holds exp(rest) - 1.
struct ReducedExponent {
  Bits doublings;
  Num restLessOne;

  static ReducedExponent of(Num x) {
    Num quotient = x * 0x1.71547652b82fep+0;
    Num whole{x.builder, math::RoundEvenOp::create(*x.builder, x.value.getLoc(), quotient.value)};
    Num high = x - whole * kLn2High, low = whole * kLn2Low, rest = high - low;
    Num square = rest * rest;
    Num c = rest - square * polynomial(square, {0x1.555555555553ep-3, -0x1.6c16c16bebd93p-9,
                                                0x1.1566aaf25de2cp-14, -0x1.bbd41c5d26bf1p-20,
                                                0x1.6376972bea4d0p-25});
    return {Bits::whole(whole), high - (low - rest * c / (2.0 - c))};
  }
};
} // namespace

Num llmmem::expandExp(Num x) {
  // Beyond these bounds the result is 0 or infinity.
  Num bounded = select(isBelow(x, -800.0), x.like(-800.0), x);
  bounded = select(isAbove(bounded, 800.0), x.like(800.0), bounded);
  ReducedExponent reduced = ReducedExponent::of(bounded);
  // It takes two steps, because 2^k may overflow where the result does not.
  Bits half = reduced.doublings >> 1, other = reduced.doublings - half;
  Num power = (reduced.restLessOne + 1.0) * powerOfTwo(half, x.type());
  return unlessNaN(x, power * powerOfTwo(other, x.type()));
}

Num llmmem::expandLog(Num x) {
  constexpr int64_t mantissa = (int64_t(1) << 52) - 1, one = int64_t(0x3ff00000) << 32,
                    rootOfHalf = int64_t(0x3fe6a09e) << 32; // Its upper word.
  Value isSmall = isBelow(x, 0x1p-1022);
  Num normal = select(isSmall, x * 0x1p54, x);
  // Splits x = 2^k (1 + f), between the roots of 1/2 and 2.
  Bits shifted = Bits::of(normal) + (one - rootOfHalf);
  Num k = ((shifted >> 52) + -1023).toNumber(x.type());
  k = select(isSmall, k - 54.0, k);
  Num f = ((shifted & mantissa) + rootOfHalf).asNumber(x.type()) - 1.0;
  Num half = f * f * 0.5, s = f / (f + 2.0), z = s * s, w = z * z;
  Num even = w * polynomial(w, {0x1.999999997fa04p-2, 0x1.c71c51d8e78afp-3, 0x1.39a09d078c69fp-3});
  Num odd = z * polynomial(w, {0x1.5555555555593p-1, 0x1.2492494229359p-2, 0x1.7466496cb03dep-3,
                               0x1.2f112df3e5244p-3});
  Num result = (s * (half + (odd + even)) + k * kLn2Low - half) + f + k * kLn2High;
  double infinity = std::numeric_limits<double>::infinity();
  Value isInfinite = compare(arith::CmpFPredicate::OEQ, x, x.like(infinity));
  Value isZero = compare(arith::CmpFPredicate::OEQ, x, x.like(0.0));
  result = select(isInfinite, x, result);
  result = select(isZero, x.like(-infinity), result);
  result = select(isBelow(x, 0.0), x.like(std::numeric_limits<double>::quiet_NaN()), result);
  return unlessNaN(x, result);
}

/// Computes t / (t + 2) with t = exp(2 |x|) - 1.
Num llmmem::expandTanh(Num x) {
  Num size{x.builder, math::AbsFOp::create(*x.builder, x.value.getLoc(), x.value)};
  Num bounded = select(isAbove(size, 22.0), x.like(22.0), size); // The result is 1 from here on.
  ReducedExponent reduced = ReducedExponent::of(bounded + bounded);
  Num scale = powerOfTwo(reduced.doublings, x.type());
  Num t = (scale - 1.0) + reduced.restLessOne * scale;
  Num result = select(isBelow(bounded, 1.0), t / (t + 2.0), 1.0 - 2.0 / (t + 2.0));
  result = {x.builder,
            math::CopySignOp::create(*x.builder, x.value.getLoc(), result.value, x.value)};
  return unlessNaN(x, result);
}
