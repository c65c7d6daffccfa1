//===- PowersOfTwo.cpp - 2^x on a GPU --------------------------------------===//

#include "llmmem/Codegen/Gpu/PowersOfTwo.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

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

/// 2^n for the whole number n in the low bits of `shifted`: its exponent.
static Num wholePower(Num shifted) {
  OpBuilder &b = *shifted.builder;
  Location loc = shifted.value.getLoc();
  Type word = b.getI32Type();
  auto vector = dyn_cast<VectorType>(shifted.type());
  if (vector)
    word = vector.clone(word);
  auto constant = [&](int32_t number) -> Value {
    TypedAttr attribute = b.getI32IntegerAttr(number);
    if (vector)
      attribute = DenseElementsAttr::get(cast<VectorType>(word), number);
    return arith::ConstantOp::create(b, loc, attribute);
  };
  Value bits = arith::BitcastOp::create(b, loc, word, shifted.value);
  bits = arith::ShLIOp::create(b, loc, bits, constant(23));
  bits = arith::AddIOp::create(b, loc, bits, constant(127 << 23));
  return {&b, arith::BitcastOp::create(b, loc, shifted.type(), bits)};
}

/// Two factors of 2^x, |x| <= 125: that of the rest, near 1, and that of the whole number.
static std::pair<Num, Num> factorsOfPower(Num x) {
  Num shifted = x + kShift, rest = x - (shifted - kShift);
  Num power = rest.like(kCoefficients[0]);
  for (double coefficient : ArrayRef(kCoefficients).drop_front())
    power = fma(power, rest, rest.like(coefficient));
  return {power, wholePower(shifted)};
}

/// Of a vector element by element: the hardware has such instructions for numbers alone.
static Num ofEachLane(Num x, function_ref<Value(Value)> ofOne) {
  OpBuilder &b = *x.builder;
  Location loc = x.value.getLoc();
  auto vector = dyn_cast<VectorType>(x.type());
  if (!vector)
    return {&b, ofOne(x.value)};
  Value all = x.value;
  for (int64_t lane = 0; lane < vector.getNumElements(); ++lane) {
    Value one = vector::ExtractOp::create(b, loc, x.value, lane);
    all = vector::InsertOp::create(b, loc, ofOne(one), all, lane);
  }
  return {&b, all};
}

Num llmmem::powerOfTwo(Num x) {
  OpBuilder &b = *x.builder;
  return ofEachLane(x, [&](Value one) -> Value {
    return LLVM::CallIntrinsicOp::create(b, one.getLoc(), one.getType(),
                                         b.getStringAttr(kApproximatePower), one)
        .getResult(0);
  });
}

Num llmmem::onePlusPowerOfTwo(Num x) {
  auto [ofRest, whole] = factorsOfPower(x);
  return fma(ofRest, whole, x.like(1.0));
}

/// The device's approximate reciprocal, corrected once. These are the steps by which ptxas writes
/// the correctly rounded `rcp.rn.f32`, less its branch for numbers near the bounds of f32, which
/// `x` must not be near: so the result is 1 / x correctly rounded, whatever bits the approximation
/// has.
Num llmmem::reciprocal(Num x) {
  Num near = ofEachLane(x, [&](Value one) -> Value {
    OpBuilder &b = *x.builder;
    return NVVM::RcpApproxFtzF32Op::create(b, one.getLoc(), b.getF32Type(), one);
  });
  return fma(near, fma(-x, near, x.like(1.0)), near);
}
