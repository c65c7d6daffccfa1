//===- DoubleErf.cpp - erf of f64 without libm ------------------------------===//
//
// Uses the rational functions of FDLIBM (s_erf.c), one for each of four ranges of |x|. All are
// computed and one is selected, so that all lanes run the same code. The error stays below two
// units in the last place.
//
//===----------------------------------------------------------------------===//

#include "DoubleFunctions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace llmmem;

static Value isBelow(Num a, double b) {
  return arith::CmpFOp::create(*a.builder, a.value.getLoc(), arith::CmpFPredicate::OLT, a.value,
                               a.like(b).value);
}

/// Returns x with its lower 32 bits cleared, so that its square is exact.
static Num upperHalf(Num x) {
  OpBuilder &builder = *x.builder;
  Location loc = x.value.getLoc();
  Type type = builder.getI64Type();
  if (auto vector = dyn_cast<VectorType>(x.type()))
    type = vector.clone(type);
  TypedAttr mask = builder.getI64IntegerAttr(-(int64_t(1) << 32));
  if (auto vector = dyn_cast<VectorType>(type))
    mask = DenseElementsAttr::get(vector, cast<IntegerAttr>(mask).getValue());
  Value bits = arith::BitcastOp::create(builder, loc, type, x.value);
  Value kept =
      arith::AndIOp::create(builder, loc, bits, arith::ConstantOp::create(builder, loc, mask));
  return {&builder, arith::BitcastOp::create(builder, loc, x.type(), kept)};
}

/// Returns erf(x) / x - 1 below 27/32, given the square of x.
static Num nearZero(Num square) {
  return polynomial(square, {1.28379167095512558561e-01, -3.25042107247001499370e-01,
                             -2.84817495755985104766e-02, -5.77027029648944159157e-03,
                             -2.37630166566501626084e-05}) /
         polynomial(square, {1.0, 3.97917223959155352819e-01, 6.50222499887672944485e-02,
                             5.08130628187576562776e-03, 1.32494738004321644526e-04,
                             -3.96022827877536812320e-06});
}

/// Returns erf(1 + s) from 27/32 to 5/4.
static Num nearOne(Num s) {
  Num correction = polynomial(s, {-2.36211856075265944077e-03, 4.14856118683748331666e-01,
                                  -3.72207876035701323847e-01, 3.18346619901161753674e-01,
                                  -1.10894694282396677476e-01, 3.54783043256182359371e-02,
                                  -2.16637559486879084300e-03}) /
                   polynomial(s, {1.0, 1.06420880400844228286e-01, 5.40397917702171048937e-01,
                                  7.18286544141962662868e-02, 1.26171219808761642112e-01,
                                  1.36370839120290507362e-02, 1.19844998467991074170e-02});
  return correction + 8.45062911510467529297e-01;
}

/// Returns log(x exp(x^2) erfc(x)) + 9/16, given s = 1 / x^2, from 5/4 to 20/7.
static Num tailBelow(Num s) {
  return polynomial(s, {-9.86494403484714822705e-03, -6.93858572707181764372e-01,
                        -1.05586262253232909814e+01, -6.23753324503260060396e+01,
                        -1.62396669462573470355e+02, -1.84605092906711035994e+02,
                        -8.12874355063065934246e+01, -9.81432934416914548592e+00}) /
         polynomial(s, {1.0, 1.96512716674392571292e+01, 1.37657754143519042600e+02,
                        4.34565877475229228821e+02, 6.45387271733267880336e+02,
                        4.29008140027567833386e+02, 1.08635005541779435134e+02,
                        6.57024977031928170135e+00, -6.04244152148580987438e-02});
}

/// Returns the same from 20/7 up.
static Num tailAbove(Num s) {
  return polynomial(s, {-9.86494292470009928597e-03, -7.99283237680523006574e-01,
                        -1.77579549177547519889e+01, -1.60636384855821916062e+02,
                        -6.37566443368389627722e+02, -1.02509513161107724954e+03,
                        -4.83519191608651397019e+02}) /
         polynomial(s, {1.0, 3.03380607434824582924e+01, 3.25792512996573918826e+02,
                        1.53672958608443695994e+03, 3.19985821950859553908e+03,
                        2.55305040643316442583e+03, 4.74528541206955367215e+02,
                        -2.24409524465858183362e+01});
}

/// Returns 1 - erfc(x). x^2 is split, so that its exponential keeps all digits.
static Num inTail(Num x) {
  Num s = 1.0 / (x * x), upper = upperHalf(x);
  Num rest = select(isBelow(x, 1.0 / 0.35), tailBelow(s), tailAbove(s));
  Num complement =
      expandExp(-(upper * upper) - 0.5625) * expandExp((upper - x) * (upper + x) + rest) / x;
  return 1.0 - complement;
}

Num llmmem::expandErf(Num x) {
  Location loc = x.value.getLoc();
  Num size{x.builder, math::AbsFOp::create(*x.builder, loc, x.value)};
  Num bounded = select(isBelow(size, 6.0), size, size.like(6.0)); // The result is 1 from here on.
  Num outside = select(isBelow(size, 1.25), size.like(1.25), bounded);
  Num result = select(isBelow(size, 1.25), nearOne(bounded - 1.0), inTail(outside));
  result = {x.builder, math::CopySignOp::create(*x.builder, loc, result.value, x.value)};
  result = select(isBelow(size, 0.84375), x + x * nearZero(x * x), result);
  Value isNaN = arith::CmpFOp::create(*x.builder, loc, arith::CmpFPredicate::UNO, x.value, x.value);
  return select(isNaN, x, result);
}
