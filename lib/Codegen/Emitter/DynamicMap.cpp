//===- DynamicMap.cpp - Numbers of many magnitudes in 8 bits ---------------===//

#include "DynamicMap.h"
#include "FewerBits.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include <cmath>

using namespace mlir;
using namespace llmmem;

/// Returns where x is above the bound; false for a NaN.
static Value isAbove(Num x, Num bound) {
  return arith::CmpFOp::create(*x.builder, x.value.getLoc(), arith::CmpFPredicate::OGT, x.value,
                               bound.value);
}
static Value isAbove(Num x, double bound) { return isAbove(x, x.like(bound)); }

static Num magnitudeOf(Num x) { return select(isAbove(x.like(0.0), x), -x, x); }

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Returns 0.1 + 0.9 (j + 1/2) / 2^e: the fraction is the significand of code + 1/2, less 1.
static Num placeInDecade(Num middle) {
  return fma(significandOf(middle) - 1.0, middle.like(0.9), middle.like(0.1));
}

Num DynamicMap::numbersOf(OpBuilder &builder, Location loc, Value bytes) const {
  Num code = integersAsNumbers(builder, loc, wordsOfBytes(builder, loc, bytes));
  code = isSigned ? code - 127.0 : code + 1.0;
  Num middle = magnitudeOf(code) + 0.5, scale = code.like(std::pow(10.0, lowest() - top()));
  for (int decade = lowest() + 1; decade <= top(); ++decade)
    scale = select(isAbove(middle, std::ldexp(1.0, decade)),
                   code.like(std::pow(10.0, decade - top())), scale);
  Num number = placeInDecade(middle) * scale;
  number = select(isAbove(middle, codeOfOne()), code.like(1.0), number);
  number = select(isAbove(middle, codeOfZero() + 1.0), number, code.like(0.0));
  return isSigned ? select(isAbove(code.like(0.0), code), -number, number) : number;
}

//===----------------------------------------------------------------------===//
// Rounding
//===----------------------------------------------------------------------===//

/// Returns the midpoint between the largest number of the previous decade and the smallest of this
/// one: 10^(e-1-top) (1 - 0.9 / 2^e) and 10^(e-1-top) (1 + 4.5 / 2^e).
static double beginOfDecade(int decade, int top) {
  return std::pow(10.0, decade - 1 - top) * (1.0 + std::ldexp(1.8, -decade));
}

/// The code of a midpoint is an integer, so that rounding to the nearest one finds the part.
Num DynamicMap::codesOfMagnitudes(Num x) const {
  auto codesPerUnit = [&](int decade) {
    return std::ldexp(std::pow(10.0, top() - decade), decade) / 0.9;
  };
  Num first = x.like(std::ldexp(1.0, lowest())), slope = x.like(codesPerUnit(lowest()));
  for (int decade = lowest() + 1; decade <= top(); ++decade) {
    Value isIn = isAbove(x, beginOfDecade(decade, top()));
    first = select(isIn, x.like(std::ldexp(1.0, decade)), first);
    slope = select(isIn, x.like(codesPerUnit(decade)), slope);
  }
  // The code is first + (x / 10^(e-top) - 0.1) / 0.9 * 2^e - 1/2.
  Num code = fma(x, slope, first * (8.0 / 9.0) - 0.5), last = first * 2.0 - 1.0;
  code = select(isAbove(code, first), code, first);
  code = select(isAbove(last, code), code, last);
  double smallest = std::pow(10.0, lowest() - top()) * (0.1 + std::ldexp(0.45, -lowest()));
  code = select(isAbove(x, smallest / 2), code, x.like(codeOfZero()));
  return select(isAbove(x, 1.0 - std::ldexp(0.225, -top())), x.like(codeOfOne()), code);
}

Value DynamicMap::bytesOf(Num x) const {
  Num code = codesOfMagnitudes(isSigned ? magnitudeOf(x) : x);
  if (!isSigned)
    return bytesOfIntegers(code - 1.0);
  // There is no -1: the number nearest to it is the smallest.
  Num negative = -select(isAbove(code, 127.0), code.like(127.0), code);
  return bytesOfIntegers(select(isAbove(x.like(0.0), x), negative, code) + 127.0);
}
