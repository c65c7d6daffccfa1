//===- DoubleFunctions.cpp - Functions of f64 without libm -----------------===//
//
// Kernels compute in f64 the angles of rotations, the powers of the optimizer's corrections, whose
// results are rounded to f32, and everything in a step of f64. A device has no libm, and results of
// libms differ in the last bits. Errors stay below two units in the last place (sine and cosine, to
// angles of a million; powers grow by one unit for each factor).
//
//===----------------------------------------------------------------------===//

#include "DoubleFunctions.h"
#include "llmmem/Conversion/Passes.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace llmmem;

//===----------------------------------------------------------------------===//
// Sine and cosine
//===----------------------------------------------------------------------===//

namespace {
/// Splits x = quarterTurns * pi / 2 + high + low, where |high| <= pi / 4 (Cody & Waite 1980, with
/// one rounding an addition because the factors are fused).
struct Reduced {
  Num quarterTurns, high, low;

  explicit Reduced(Num x) {
    Num quarters = x * 0x1.45f306dc9c883p-1;
    quarterTurns = {
        x.builder,
        math::RoundEvenOp::create(*x.builder, x.value.getLoc(), quarters.value).getResult()};
    Num first = fma(-quarterTurns, x.like(0x1.921fb54442d18p0), x),
        second = x.like(0x1.1a62633145c07p-54);
    high = fma(-quarterTurns, second, first);
    low = fma(-quarterTurns, second, first - high);
  }

  /// Returns whether bit `bit` of `quarterTurns`, plus `offset`, is set.
  Value has(unsigned bit, int64_t offset) const {
    OpBuilder &builder = *quarterTurns.builder;
    Location loc = quarterTurns.value.getLoc();
    Type type = builder.getI64Type();
    if (auto vector = dyn_cast<VectorType>(quarterTurns.type()))
      type = vector.clone(type);
    auto constant = [&](int64_t value) -> Value {
      TypedAttr attribute = builder.getI64IntegerAttr(value);
      if (auto vector = dyn_cast<VectorType>(type))
        attribute = DenseElementsAttr::get(vector, cast<IntegerAttr>(attribute).getValue());
      return arith::ConstantOp::create(builder, loc, attribute);
    };
    Value whole = arith::FPToSIOp::create(builder, loc, type, quarterTurns.value);
    Value shifted = arith::AddIOp::create(builder, loc, whole, constant(offset));
    Value masked = arith::AndIOp::create(builder, loc, shifted, constant(1 << bit));
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, masked, constant(0));
  }
};
} // namespace

Num llmmem::polynomial(Num x, ArrayRef<double> coefficients) {
  Num sum = x.like(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    sum = sum * x + coefficient;
  return sum;
}

/// Computes sine and cosine on [-pi/4, pi/4] by the polynomials of FDLIBM (k_sin.c, k_cos.c).
static Num sineOf(Num high, Num low) {
  Num square = high * high, cube = square * high;
  Num tail =
      polynomial(square, {0x1.111111110f8a6p-7, -0x1.a01a019c161d5p-13, 0x1.71de357b1fe7dp-19,
                          -0x1.ae5e68a2b9cebp-26, 0x1.5d93a5acfd57cp-33});
  return high - ((square * (low * 0.5 - cube * tail) - low) - cube * -0x1.5555555555549p-3);
}
static Num cosineOf(Num high, Num low) {
  Num square = high * high, half = square * 0.5, rest = 1.0 - half;
  Num tail = square * polynomial(square, {0x1.555555555554cp-5, -0x1.6c16c16c15177p-10,
                                          0x1.a01a019cb159p-16, -0x1.27e4f809c52adp-22,
                                          0x1.1ee9ebdb4b1c4p-29, -0x1.8fae9be8838d4p-37});
  return rest + (((1.0 - rest) - half) + (square * tail - high * low));
}

/// Computes sin(x + quarters * pi / 2).
static Num expandSine(Num x, int64_t quarters) {
  Reduced reduced(x);
  Num sine = sineOf(reduced.high, reduced.low), cosine = cosineOf(reduced.high, reduced.low);
  Num value = select(reduced.has(0, quarters), cosine, sine);
  return select(reduced.has(1, quarters), -value, value);
}

//===----------------------------------------------------------------------===//
// Powers
//===----------------------------------------------------------------------===//

/// Returns the integer that `x` was converted from, if there is one.
static Value wholeNumber(Value x) {
  while (auto wider = x.getDefiningOp<arith::ExtFOp>())
    x = wider.getIn();
  auto conversion = x.getDefiningOp<arith::SIToFPOp>();
  return conversion && isa<IntegerType>(conversion.getIn().getType()) ? conversion.getIn()
                                                                      : Value();
}

/// Computes x^n by squaring, from the low bit up; x^-n is 1 / x^n.
static Num expandPower(Num x, Value exponent) {
  OpBuilder &builder = *x.builder;
  Location loc = x.value.getLoc();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(exponent.getType(), value));
  };
  Value zero = constant(0), one = constant(1);
  SmallVector<Type> types = {x.type(), x.type(), exponent.getType()};
  Value magnitude = math::AbsIOp::create(builder, loc, exponent);
  auto loop = scf::WhileOp::create(
      builder, loc, types, ValueRange{x.like(1.0).value, x.value, magnitude},
      [&](OpBuilder &nested, Location, ValueRange carried) {
        Value left =
            arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::sgt, carried[2], zero);
        scf::ConditionOp::create(nested, loc, left, carried);
      },
      [&](OpBuilder &nested, Location, ValueRange carried) {
        Num product{&nested, carried[0]}, square{&nested, carried[1]};
        Value bit = arith::AndIOp::create(nested, loc, carried[2], one);
        Value isSet = arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::ne, bit, zero);
        Value next = arith::ShRSIOp::create(nested, loc, carried[2], one);
        Num chosen = select(isSet, product * square, product);
        scf::YieldOp::create(nested, loc, ValueRange{chosen.value, (square * square).value, next});
      });
  Num power{&builder, loop.getResult(0)};
  Value inverse = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, exponent, zero);
  return select(inverse, 1.0 / power, power);
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {
template <typename Op, int64_t quarters>
struct ExpandSine : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF64())
      return failure();
    rewriter.replaceOp(op, expandSine({&rewriter, op.getOperand()}, quarters).value);
    return success();
  }
};

template <typename Op, Num (*expand)(Num)>
struct ExpandFunction : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF64())
      return failure();
    rewriter.replaceOp(op, expand({&rewriter, op.getOperand()}).value);
    return success();
  }
};

struct ExpandPower : OpRewritePattern<math::PowFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::PowFOp op, PatternRewriter &rewriter) const override {
    Value exponent = wholeNumber(op.getRhs());
    if (!op.getType().isF64() || !exponent)
      return failure();
    rewriter.replaceOp(op, expandPower({&rewriter, op.getLhs()}, exponent).value);
    return success();
  }
};
} // namespace

void llmmem::populateExpandDoubleFunctionsPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandSine<math::SinOp, 0>, ExpandSine<math::CosOp, 1>, ExpandPower,
               ExpandFunction<math::ExpOp, expandExp>, ExpandFunction<math::LogOp, expandLog>,
               ExpandFunction<math::TanhOp, expandTanh>, ExpandFunction<math::ErfOp, expandErf>>(
      patterns.getContext());
}
