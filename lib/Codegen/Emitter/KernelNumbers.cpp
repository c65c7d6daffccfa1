//===- KernelNumbers.cpp - The arithmetic of kernels ----------------------===//

#include "llmmem/Codegen/Emitter/KernelEmitter.h"
#include "llmmem/Dialect/ElementTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace llmmem;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

static Location locationOf(Value value) { return value.getLoc(); }

static Value makeConstant(OpBuilder &builder, Location loc, Type type, double constant) {
  auto element = cast<FloatType>(getElementTypeOrSelf(type));
  APFloat rounded(constant);
  bool losesInfo = false;
  rounded.convert(element.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  TypedAttr attribute = FloatAttr::get(element, rounded);
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(vector, cast<FloatAttr>(attribute).getValue());
  return arith::ConstantOp::create(builder, loc, attribute);
}

Num Num::like(double constant) const {
  return {builder, makeConstant(*builder, locationOf(value), type(), constant)};
}

/// Puts `value` in every lane of `type`, if it is a number and `type` is not.
static Value splatTo(OpBuilder &builder, Value value, Type type) {
  if (!isa<VectorType>(type) || isa<VectorType>(value.getType()))
    return value;
  auto vector = VectorType::get(cast<VectorType>(type).getShape(), value.getType());
  return vector::BroadcastOp::create(builder, locationOf(value), vector, value);
}

template <typename Op>
static Num binary(Num a, Num b) {
  Value left = splatTo(*a.builder, a.value, b.type());
  Value right = splatTo(*a.builder, b.value, a.type());
  return {a.builder, Op::create(*a.builder, locationOf(a.value), left, right)};
}
template <typename Op>
static Num unary(Num x) {
  return {x.builder, Op::create(*x.builder, locationOf(x.value), x.value)};
}

Num llmmem::operator+(Num a, Num b) { return binary<arith::AddFOp>(a, b); }
Num llmmem::operator-(Num a, Num b) { return binary<arith::SubFOp>(a, b); }
Num llmmem::operator*(Num a, Num b) { return binary<arith::MulFOp>(a, b); }
Num llmmem::operator/(Num a, Num b) { return binary<arith::DivFOp>(a, b); }
Num llmmem::operator-(Num a) { return unary<arith::NegFOp>(a); }
Num llmmem::fma(Num a, Num b, Num c) {
  for (Num other : {b, c})
    a.value = splatTo(*a.builder, a.value, other.type());
  Value factor = splatTo(*a.builder, b.value, a.type()),
        sum = splatTo(*a.builder, c.value, a.type());
  return {a.builder, math::FmaOp::create(*a.builder, locationOf(a.value), a.value, factor, sum)};
}
Num llmmem::exp(Num x) { return unary<math::ExpOp>(x); }
Num llmmem::tanh(Num x) { return unary<math::TanhOp>(x); }
Num llmmem::erf(Num x) { return unary<math::ErfOp>(x); }
Num llmmem::log(Num x) { return unary<math::LogOp>(x); }
Num llmmem::sqrt(Num x) { return unary<math::SqrtOp>(x); }
Num llmmem::sin(Num x) { return unary<math::SinOp>(x); }
Num llmmem::cos(Num x) { return unary<math::CosOp>(x); }
Num llmmem::power(Num base, Num exponent) { return binary<math::PowFOp>(base, exponent); }
Num llmmem::maximum(Num a, Num b) { return binary<arith::MaximumFOp>(a, b); }
Num llmmem::minimum(Num a, Num b) { return binary<arith::MinimumFOp>(a, b); }

Num llmmem::select(Value condition, Num a, Num b) {
  Type lanes = isa<VectorType>(a.type()) ? a.type() : b.type();
  if (isa<VectorType>(condition.getType()))
    lanes = condition.getType();
  Value left = splatTo(*a.builder, a.value, lanes), right = splatTo(*a.builder, b.value, lanes);
  return {a.builder,
          arith::SelectOp::create(*a.builder, locationOf(a.value), condition, left, right)};
}

//===----------------------------------------------------------------------===//
// Rounding
//===----------------------------------------------------------------------===//

static Type withElement(Type type, Type element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.clone(element);
  return element;
}

/// Converts f64 to f32 with the last bit set where anything was lost (round to odd), so that
/// rounding again to a narrower type equals rounding once (Boldo & Melquiond 2008).
static Value roundToOdd(OpBuilder &builder, Location loc, Value x) {
  Type single = withElement(x.getType(), builder.getF32Type());
  Type bits = withElement(x.getType(), builder.getI32Type());
  auto constant = [&](int32_t value) -> Value {
    TypedAttr attribute = builder.getI32IntegerAttr(value);
    if (auto vector = dyn_cast<VectorType>(bits))
      attribute = DenseElementsAttr::get(vector, cast<IntegerAttr>(attribute).getValue());
    return arith::ConstantOp::create(builder, loc, attribute);
  };
  Value near = arith::TruncFOp::create(builder, loc, single, x);
  Value back = arith::ExtFOp::create(builder, loc, x.getType(), near);
  Value exact = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UEQ, back, x);
  Value tooFar = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT,
                                       math::AbsFOp::create(builder, loc, back),
                                       math::AbsFOp::create(builder, loc, x));
  Value asBits = arith::BitcastOp::create(builder, loc, bits, near);
  Value towardsZero = arith::SubIOp::create(builder, loc, asBits, constant(1));
  Value truncated = arith::SelectOp::create(builder, loc, tooFar, towardsZero, asBits);
  Value odd = arith::OrIOp::create(builder, loc, truncated, constant(1));
  Value chosen = arith::SelectOp::create(builder, loc, exact, asBits, odd);
  return arith::BitcastOp::create(builder, loc, single, chosen);
}

Num llmmem::convert(Num x, Type element) {
  Type from = getElementTypeOrSelf(x.type());
  if (from == element)
    return x;
  OpBuilder &builder = *x.builder;
  Location loc = locationOf(x.value);
  Value value = x.value;
  // The expansion of bf16 and the instructions for f16 know f32 only.
  if (element.isF64() && llm::isHalf(from))
    value = arith::ExtFOp::create(builder, loc, withElement(value.getType(), builder.getF32Type()),
                                  value);
  if (llm::isHalf(element) && from.isF64())
    value = roundToOdd(builder, loc, value);
  Type type = withElement(value.getType(), element);
  if (element.getIntOrFloatBitWidth() >
      getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth())
    return {x.builder, arith::ExtFOp::create(builder, loc, type, value)};
  return {x.builder, arith::TruncFOp::create(builder, loc, type, value)};
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

static Value lanesOf(OpBuilder &builder, Value x, int64_t begin, int64_t count) {
  SmallVector<int64_t> mask;
  for (int64_t lane = begin; lane < begin + count; ++lane)
    mask.push_back(lane);
  return vector::ShuffleOp::create(builder, locationOf(x), x, x, mask);
}

/// Adds halves until one lane is left; an odd lane is combined last.
static Num acrossLanes(Num x, function_ref<Num(Num, Num)> combine) {
  auto vector = dyn_cast<VectorType>(x.type());
  if (!vector)
    return x;
  int64_t lanes = vector.getNumElements();
  auto lane = [&](int64_t number) -> Num {
    return {x.builder, vector::ExtractOp::create(*x.builder, locationOf(x.value), x.value, number)};
  };
  if (lanes == 1)
    return lane(0);
  int64_t half = lanes / 2;
  Num halves = combine({x.builder, lanesOf(*x.builder, x.value, 0, half)},
                       {x.builder, lanesOf(*x.builder, x.value, half, half)});
  Num together = acrossLanes(halves, combine);
  return lanes % 2 ? combine(together, lane(lanes - 1)) : together;
}

Num llmmem::sumOfLanes(Num x) {
  return acrossLanes(x, [](Num a, Num b) { return a + b; });
}
Num llmmem::maximumOfLanes(Num x) {
  return acrossLanes(x, [](Num a, Num b) { return maximum(a, b); });
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

Index Index::like(int64_t constant) const {
  auto attribute = builder->getIntegerAttr(value.getType(), constant);
  return {builder, arith::ConstantOp::create(*builder, locationOf(value), attribute)};
}

template <typename Op>
static Index binary(Index a, Index b) {
  return {a.builder, Op::create(*a.builder, locationOf(a.value), a.value, b.value)};
}

Index llmmem::operator+(Index a, Index b) { return binary<arith::AddIOp>(a, b); }
Index llmmem::operator-(Index a, Index b) { return binary<arith::SubIOp>(a, b); }
Index llmmem::operator*(Index a, Index b) { return binary<arith::MulIOp>(a, b); }
Index llmmem::operator/(Index a, Index b) { return binary<arith::DivUIOp>(a, b); }
Index llmmem::operator%(Index a, Index b) { return binary<arith::RemUIOp>(a, b); }
Index llmmem::minimum(Index a, Index b) { return binary<arith::MinSIOp>(a, b); }
Index llmmem::maximum(Index a, Index b) { return binary<arith::MaxSIOp>(a, b); }

static Value compare(arith::CmpIPredicate predicate, Index a, Index b) {
  return arith::CmpIOp::create(*a.builder, locationOf(a.value), predicate, a.value, b.value);
}
Value llmmem::equal(Index a, Index b) { return compare(arith::CmpIPredicate::eq, a, b); }
Value llmmem::less(Index a, Index b) { return compare(arith::CmpIPredicate::slt, a, b); }

Value llmmem::elementNumbers(Index first, unsigned lanes, int64_t step) {
  OpBuilder &b = *first.builder;
  Location loc = first.value.getLoc();
  Type integer = b.getI64Type();
  Value number = arith::IndexCastOp::create(b, loc, integer, first.value);
  if (lanes == 1)
    return number;
  auto type = VectorType::get({lanes}, integer);
  SmallVector<int64_t> steps;
  for (unsigned lane = 0; lane < lanes; ++lane)
    steps.push_back(lane * step);
  Value offsets =
      arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, ArrayRef<int64_t>(steps)));
  Value base = vector::BroadcastOp::create(b, loc, type, number);
  return arith::AddIOp::create(b, loc, base, offsets);
}

Num llmmem::toNumber(Index index, FloatType type) {
  OpBuilder &b = *index.builder;
  Location loc = index.value.getLoc();
  Value integer = arith::IndexCastOp::create(b, loc, b.getI64Type(), index.value);
  return {&b, arith::SIToFPOp::create(b, loc, type, integer)};
}
