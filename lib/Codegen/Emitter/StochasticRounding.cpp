//===- StochasticRounding.cpp - Stores in bf16 that lose nothing on average ----===//

#include "StochasticRounding.h"
#include "Philox.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace llmmem;

/// Returns `element` in the shape of `like`.
static Type shapedAs(Type like, Type element) {
  auto vector = dyn_cast<VectorType>(like);
  return vector ? Type(vector.clone(element)) : element;
}

static Value constantAs(KernelEmitter &e, Type type, int64_t value) {
  OpBuilder &b = e.builder();
  auto element = cast<IntegerType>(getElementTypeOrSelf(type));
  TypedAttr attribute = b.getIntegerAttr(element, value);
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(vector, Attribute(attribute));
  return arith::ConstantOp::create(b, e.location(), attribute);
}

/// Returns the bits of f32 numbers, in 64 bits each.
static Value bitsOf(KernelEmitter &e, Num x) {
  OpBuilder &b = e.builder();
  Value bits =
      arith::BitcastOp::create(b, e.location(), shapedAs(x.type(), b.getI32Type()), x.value);
  return arith::ExtUIOp::create(b, e.location(), shapedAs(x.type(), b.getI64Type()), bits);
}

std::array<Value, 2> llmmem::randomBitsOf(KernelEmitter &e, std::array<Num, 4> values, Index step) {
  OpBuilder &b = e.builder();
  Location loc = e.location();
  std::array<Value, 4> counter;
  for (auto [word, value] : llvm::zip_equal(counter, values))
    word = bitsOf(e, value);
  Type words = counter[0].getType();
  Value number = arith::IndexCastOp::create(b, loc, b.getI64Type(), step.value);
  if (isa<VectorType>(words))
    number = vector::BroadcastOp::create(b, loc, words, number);
  std::array<Value, 4> block = Philox::blockOf(b, counter, {number, constantAs(e, words, 0)});
  auto randomBits = [&](Value word) -> Value {
    Value low = arith::AndIOp::create(b, loc, word, constantAs(e, words, 0xFFFF));
    return arith::TruncIOp::create(b, loc, shapedAs(words, b.getI32Type()), low);
  };
  return {randomBits(block[0]), randomBits(block[1])};
}

/// The 16 bits that are cut off carry into the others with the probability that they represent.
void llmmem::storeStochastically(KernelEmitter &e, Buffer buffer, Index index, Num x,
                                 Value randomBits) {
  OpBuilder &b = e.builder();
  Location loc = e.location();
  Type words = shapedAs(x.type(), b.getI32Type());
  Value bits = arith::BitcastOp::create(b, loc, words, x.value);
  bits = arith::AddIOp::create(b, loc, bits, randomBits);
  bits = arith::ShRUIOp::create(b, loc, bits, constantAs(e, words, 16));
  bits = arith::TruncIOp::create(b, loc, shapedAs(words, b.getI16Type()), bits);
  e.storeRaw(buffer, index,
             arith::BitcastOp::create(b, loc, shapedAs(words, b.getBF16Type()), bits));
}
