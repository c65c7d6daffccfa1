//===- PowersOfTwo.cpp - 2^x where x is at most 0 --------------------------===//

#include "PowersOfTwo.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace llmmem;

/// Added to a number below 2^22 it leaves the nearest whole number in the low bits.
static constexpr double kShift = 3 << 22;

/// The polynomial of degree 5 with p(0) = 1 and the least relative error, 4.4e-7, for 2^r, |r| <=
/// 1/2 (Remez' exchange).
static constexpr double kCoefficients[] = {
    0.001112550768273673, 0.009666282524684459, 0.055574004733197846,
    0.2402235065068621,   0.6931428306083526,   1.0,
};

Num llmmem::powerOfTwo(Num x) {
  OpBuilder &b = *x.builder;
  Location loc = x.value.getLoc();
  Type word = b.getI32Type();
  x = maximum(x, x.like(-125.0));
  Num shifted = x + kShift, rest = x - (shifted - kShift);
  Num power = rest.like(kCoefficients[0]);
  for (double coefficient : ArrayRef(kCoefficients).drop_front())
    power = fma(power, rest, rest.like(coefficient));
  // 2^n for the whole number n: its exponent, from the low bits of `shifted`.
  auto constant = [&](int32_t number) -> Value {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(number));
  };
  Value bits = arith::BitcastOp::create(b, loc, word, shifted.value);
  bits = arith::ShLIOp::create(b, loc, bits, constant(23));
  bits = arith::AddIOp::create(b, loc, bits, constant(127 << 23));
  return power * Num{&b, arith::BitcastOp::create(b, loc, x.type(), bits)};
}
