//===- FewerBits.cpp - Reading and rounding to fewer bits -----------------===//

#include "FewerBits.h"
#include "Rows.h"
#include "llmmem/Dialect/FewerBits.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include <cmath>

using namespace mlir;
using namespace llmmem;

namespace {

/// Holds the bits of 2^23 in f32, to which an integer below 2^23 is added.
constexpr uint32_t kTwoTo23 = 0x4B000000;

/// Wraps operations on i32, or on a vector of them, with constants.
struct Words {
  OpBuilder &builder;
  Location loc;
  Value value;

  Words with(Value other) const { return {builder, loc, other}; }
  Value constant(uint32_t number) const {
    TypedAttr attribute = builder.getI32IntegerAttr(static_cast<int32_t>(number));
    if (auto lanes = dyn_cast<VectorType>(value.getType()))
      attribute = DenseElementsAttr::get(lanes, cast<IntegerAttr>(attribute).getValue());
    return arith::ConstantOp::create(builder, loc, attribute);
  }
  template <typename Op>
  Words apply(uint32_t number) const {
    return with(Op::create(builder, loc, value, constant(number)));
  }
  Words operator&(uint32_t number) const { return apply<arith::AndIOp>(number); }
  Words operator|(uint32_t number) const { return apply<arith::OrIOp>(number); }
  Words operator^(uint32_t number) const { return apply<arith::XOrIOp>(number); }
  Words operator+(uint32_t number) const { return apply<arith::AddIOp>(number); }
  Words operator<<(uint32_t number) const { return apply<arith::ShLIOp>(number); }
  Words operator>>(uint32_t number) const { return apply<arith::ShRUIOp>(number); }
  Words operator|(Words other) const {
    return with(arith::OrIOp::create(builder, loc, value, other.value));
  }
  Words operator+(Words other) const {
    return with(arith::AddIOp::create(builder, loc, value, other.value));
  }
  /// Returns whether they are larger, as numbers without a sign.
  Value above(uint32_t number) const {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ugt, value, constant(number));
  }
  Num asFloat() const {
    Type type = builder.getF32Type();
    if (auto lanes = dyn_cast<VectorType>(value.getType()))
      type = lanes.clone(type);
    return {&builder, arith::BitcastOp::create(builder, loc, type, value)};
  }
  static Words of(Num x) {
    Type type = x.builder->getI32Type();
    if (auto lanes = dyn_cast<VectorType>(x.type()))
      type = lanes.clone(type);
    Location loc = x.value.getLoc();
    return {*x.builder, loc, arith::BitcastOp::create(*x.builder, loc, type, x.value)};
  }
};

/// Describes the fields of an f8, and how it lies in an f32.
struct SmallFloat {
  explicit SmallFloat(Type element) : isE4(isa<Float8E4M3FNType>(element)) {}
  bool isE4;
  int significand() const { return isE4 ? 3 : 2; }
  int bias() const { return isE4 ? 7 : 15; }
  /// Returns the bits of f32's significand that an f8 has no place for.
  int dropped() const { return 23 - significand(); }
  /// Returns the largest number, without its sign: what lies above is NaN, or infinity.
  uint32_t largest() const { return isE4 ? 0x7E : 0x7B; }
  uint32_t special() const { return isE4 ? 0x7FC00000 : 0x7F800000; }
};

} // namespace

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static Num numbersOfSmallFloats(Words words, SmallFloat format) {
  Words sign = (words & 0x80) << 24, rest = words & 0x7F;
  Words bits = sign | (rest << format.dropped());
  // Exponents of f8 have another bias; below the smallest normal number f32's are exact, too.
  Num number = bits.asFloat() * std::ldexp(1.0, 127 - format.bias());
  return select(rest.above(format.largest()), (bits | format.special()).asFloat(), number);
}

Num llmmem::numbersOf(OpBuilder &builder, Location loc, Value words, Type element,
                      std::optional<Num> zero) {
  Words bits{builder, loc, words};
  if (element.isInteger(4))
    return ((bits & 15) | kTwoTo23).asFloat() - *zero;
  // With the sign's bit flipped, it is 128 more than the number.
  if (element.isInteger(8))
    return ((bits & 255) ^ (kTwoTo23 | 128)).asFloat() - static_cast<double>((1 << 23) + 128);
  return numbersOfSmallFloats(bits, SmallFloat(element));
}

Num llmmem::zeroOf(OpBuilder &builder, Location loc, Value words) {
  return ((Words{builder, loc, words} & 15) | kTwoTo23).asFloat();
}

Num llmmem::integersAsNumbers(OpBuilder &builder, Location loc, Value words) {
  return (Words{builder, loc, words} | kTwoTo23).asFloat() - static_cast<double>(1 << 23);
}

Num llmmem::significandOf(Num x) { return ((Words::of(x) & 0x7FFFFF) | 0x3F800000).asFloat(); }

Value llmmem::wordsOfBytes(OpBuilder &builder, Location loc, Value bytes) {
  Type type = builder.getI32Type();
  if (auto lanes = dyn_cast<VectorType>(bytes.getType()))
    type = lanes.clone(type);
  return arith::ExtUIOp::create(builder, loc, type, bytes);
}

Value llmmem::separateNibbles(OpBuilder &builder, Location loc, Value words) {
  Words bits{builder, loc, words};
  int64_t bytes = cast<VectorType>(words.getType()).getNumElements();
  SmallVector<int64_t> order;
  for (int64_t lane = 0; lane < 2 * bytes; ++lane)
    order.push_back(lane % 2 * bytes + lane / 2);
  return vector::ShuffleOp::create(builder, loc, words, (bits >> 4).value, order);
}

//===----------------------------------------------------------------------===//
// Rounding
//===----------------------------------------------------------------------===//

/// Adding a number whose last place is 1 rounds to an integer, which its last bits are.
static Words integersOf(Num x) { return Words::of(x + std::ldexp(1.5, 23)); }

static Words smallFloatsOf(Num x, SmallFloat format) {
  Words bits = Words::of(x), sign = (bits & 0x80000000) >> 24, size = bits & 0x7FFFFFFF;
  // It rounds to nearest with ties to even: half of the last place that stays, and one more where
  // that is odd.
  uint32_t half = (1u << (format.dropped() - 1)) - 1;
  Words rounded = (size + half + ((size >> format.dropped()) & 1)) >> format.dropped();
  Words normal = rounded + static_cast<uint32_t>(-((127 - format.bias()) << format.significand()));
  // Below the smallest normal number all have its last place.
  Num magnitude = size.asFloat();
  Words small =
      integersOf(magnitude * std::ldexp(1.0, format.bias() - 1 + format.significand())) & 15;
  Value isSmall =
      arith::CmpFOp::create(bits.builder, bits.loc, arith::CmpFPredicate::OLT, magnitude.value,
                            magnitude.like(std::ldexp(1.0, 1 - format.bias())).value);
  Value chosen =
      arith::SelectOp::create(bits.builder, bits.loc, isSmall, small.value, normal.value);
  return sign | bits.with(chosen);
}

static Value lowestBytes(Words words) {
  Type type = words.builder.getI8Type();
  if (auto lanes = dyn_cast<VectorType>(words.value.getType()))
    type = lanes.clone(type);
  return arith::TruncIOp::create(words.builder, words.loc, type, words.value);
}

Value llmmem::bytesOfIntegers(Num x) { return lowestBytes(integersOf(x)); }

Value llmmem::bytesOfNumbers(Num x, Type element) {
  return element.isInteger(8) ? bytesOfIntegers(x)
                              : lowestBytes(smallFloatsOf(x, SmallFloat(element)));
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

HeldBuffer llmmem::heldOperand(KernelEmitter &e, OpOperand &held, MutableOperandRange scales,
                               MutableOperandRange zeros) {
  if (scales.empty())
    return {e.operand(held)};
  Type element = getElementTypeOrSelf(held.get());
  return {e.operand(held),
          e.operand(scales),
          e.operand(zeros),
          {element, llm::groupSizeOf(held.get(), scales[0].get())}};
}

static Value widen(KernelEmitter &e, Value bytes) {
  return wordsOfBytes(e.builder(), e.location(), bytes);
}

/// Returns number `index` of a buffer of i4 in the lowest bits of a word: the first of a byte is in
/// its lower bits.
static Value nibble(KernelEmitter &e, Buffer bytes, Index index) {
  Value word = widen(e, e.loadRaw(bytes, index / 2));
  Value shift = arith::IndexCastOp::create(e.builder(), e.location(), e.builder().getI32Type(),
                                           (index % 2 * 4).value);
  return arith::ShRUIOp::create(e.builder(), e.location(), word, shift);
}

static Value nibbles(KernelEmitter &e, Buffer bytes, Index index, unsigned lanes) {
  Value pairs = e.loadRaw(bytes, index / 2, lanes / 2);
  if (lanes == 2)
    pairs = vector::BroadcastOp::create(e.builder(), e.location(),
                                        VectorType::get({1}, e.builder().getI8Type()), pairs);
  return separateNibbles(e.builder(), e.location(), widen(e, pairs));
}

GroupScale llmmem::groupScale(KernelEmitter &e, const HeldBuffer &x, Index index) {
  Index group = index / x.format.group;
  GroupScale made{e.load(x.scales, group), std::nullopt};
  if (x.format.hasZeros())
    made.zero = zeroOf(e.builder(), e.location(), nibble(e, x.zeros, group));
  return made;
}

Num llmmem::load(KernelEmitter &e, const HeldBuffer &x, Index index, unsigned lanes,
                 const GroupScale &group) {
  Value words = x.format.perByte() == 1 ? widen(e, e.loadRaw(x.payload, index, lanes))
                : lanes == 1            ? nibble(e, x.payload, index)
                                        : nibbles(e, x.payload, index, lanes);
  return numbersOf(e.builder(), e.location(), words, x.format.element, group.zero) * group.scale;
}

Num llmmem::load(KernelEmitter &e, const HeldBuffer &x, Index index, unsigned lanes) {
  if (!x.isPacked())
    return e.load(x.payload, index, lanes);
  return load(e, x, index, lanes, groupScale(e, x, index));
}

Row llmmem::loadRow(KernelEmitter &e, const HeldBuffer &x, Index index, int64_t width) {
  if (!x.isPacked())
    return loadRow(e, x.payload, index, width);
  Row row;
  for (int64_t first = 0; first < width; first += e.lanes())
    row.push_back(load(e, x, index + first, std::min<int64_t>(e.lanes(), width - first)));
  return row;
}
