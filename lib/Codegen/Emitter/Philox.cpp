//===- Philox.cpp - Random numbers without a state ------------------------===//
//
// Words are kept in 64-bit integers, which hold the product of two of them.
//
//===----------------------------------------------------------------------===//

#include "Philox.h"
#include "Ranks.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/RandomOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <cmath>

using namespace mlir;
using namespace llmmem;

namespace {
/// Wraps 64-bit integer arithmetic in the shape of `type`.
struct Words {
  OpBuilder &builder;
  Location loc;
  Type type;

  Value constant(uint64_t value) const {
    APInt bits(64, value);
    TypedAttr attribute = builder.getIntegerAttr(builder.getI64Type(), bits);
    if (auto vector = dyn_cast<VectorType>(type))
      attribute = DenseElementsAttr::get(vector, bits);
    return arith::ConstantOp::create(builder, loc, attribute);
  }
  Value low(Value a) const { return arith::AndIOp::create(builder, loc, a, constant(0xFFFFFFFF)); }
  Value high(Value a) const { return arith::ShRUIOp::create(builder, loc, a, constant(32)); }
  Value exclusiveOr(Value a, Value b) const { return arith::XOrIOp::create(builder, loc, a, b); }
  Value times(Value a, uint64_t b) const {
    return arith::MulIOp::create(builder, loc, a, constant(b));
  }
  Value plus(Value a, Value b) const { return arith::AddIOp::create(builder, loc, a, b); }
  Value isEqual(Value a, uint64_t b) const {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, a, constant(b));
  }
  Value choose(Value condition, Value a, Value b) const {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  Value splat(Value a) const {
    return isa<VectorType>(type) ? vector::BroadcastOp::create(builder, loc, type, a).getResult()
                                 : a;
  }
};
} // namespace

/// Returns the number of the random stream that the op samples from, as i64.
static Value streamOf(KernelEmitter &e) {
  Operation *root = e.operation(), *kernel = e.builder().getInsertionBlock()->getParentOp();
  while (!isa<func::FuncOp>(root->getParentOp()))
    root = root->getParentOp();
  while (!isa<func::FuncOp>(kernel))
    kernel = kernel->getParentOp();
  SmallVector<Operation *> random = randomOps(root);
  auto arguments = cast<func::FuncOp>(kernel).getArguments().take_back(random.size());
  return arguments[llvm::find(random, e.operation()) - random.begin()];
}

Philox::Philox(KernelEmitter &emitter, Buffer seedBuffer) : e(emitter), stream(streamOf(e)) {
  OpBuilder &builder = e.builder();
  for (unsigned k = 0; k < 2; ++k) {
    Value word = e.loadRaw(seedBuffer, e.index(k));
    seed[k] = arith::ExtUIOp::create(builder, word.getLoc(), builder.getI64Type(), word);
  }
  auto random = cast<RandomOpInterface>(e.operation());
  auto sharding = dyn_cast_or_null<llm::ShardingAttr>(random.getSampleSharding());
  SmallVector<int64_t> shape = random.getSampleShape();
  unsigned split = seedBuffer.size == 4 ? 1 : 0; // Has the dimensions up to the last split one.
  for (unsigned number = 0; sharding && number < sharding.getRank(); ++number)
    split = sharding.getAxes(number).empty() ? split : number + 1;
  for (unsigned number = 0; number < split; ++number) {
    ArrayAttr axes = sharding ? sharding.getAxes(number) : ArrayAttr();
    Dimension dimension{shape[number], 1, {}};
    if (axes && !axes.empty()) {
      dimension.ranks = llm::groupSizeOf(e.operation(), axes);
      dimension.position = positionInGroup(e, axes);
    }
    dimensions.push_back(dimension);
  }
  // The parts of ranks follow each other, and in each part those of its micro-batches.
  if (seedBuffer.size == 4) {
    Index number = e.loadIndex(seedBuffer, e.index(2)), &position = dimensions.front().position;
    position = position.value ? position * e.loadIndex(seedBuffer, e.index(3)) + number : number;
  }
  for (int64_t size : ArrayRef(shape).drop_front(split))
    inner *= size;
}

//===----------------------------------------------------------------------===//
// Numbers of elements
//===----------------------------------------------------------------------===//

Index Philox::numberInWhole(Index element) {
  // These are the dimensions' indices, the innermost first.
  Index rest = element / inner, number = element % inner;
  int64_t stride = inner;
  for (const Dimension &dimension : llvm::reverse(dimensions)) {
    Index index = &dimension == dimensions.begin() ? rest : rest % dimension.size;
    if (dimension.position.value)
      index = dimension.position * dimension.size + index;
    number = number + index * stride;
    stride *= dimension.size * dimension.ranks;
    rest = rest / dimension.size;
  }
  return number;
}

/// Vectors begin at multiples of their lanes, or lie inside rows that are neighbours. What is split
/// along its first dimension is contiguous.
bool Philox::areNeighbours(unsigned lanes) const {
  return dimensions.size() <= 1 || inner * dimensions.back().size % lanes == 0;
}

Value Philox::numbersInWhole(Index first, unsigned lanes, int64_t step) {
  if (areNeighbours(lanes))
    return elementNumbers(dimensions.empty() ? first : numberInWhole(first), lanes, step);
  OpBuilder &b = e.builder();
  Location loc = seed[0].getLoc();
  auto type = VectorType::get({lanes}, b.getI64Type());
  Value numbers = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  for (unsigned lane = 0; lane < lanes; ++lane)
    numbers = vector::InsertOp::create(
        b, loc, elementNumbers(numberInWhole(first + lane * step), 1), numbers, lane);
  return numbers;
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

std::array<Value, 4> Philox::blockOf(OpBuilder &builder, std::array<Value, 4> counter,
                                     std::array<Value, 2> key) {
  Words words{builder, counter[0].getLoc(), counter[0].getType()};
  for (unsigned round = 0; round < 10; ++round) {
    if (round > 0) {
      key[0] = words.low(words.plus(key[0], words.constant(0x9E3779B9)));
      key[1] = words.low(words.plus(key[1], words.constant(0xBB67AE85)));
    }
    Value left = words.times(counter[0], 0xD2511F53), right = words.times(counter[2], 0xCD9E8D57);
    Value first = words.exclusiveOr(words.exclusiveOr(words.high(right), counter[1]), key[0]);
    Value third = words.exclusiveOr(words.exclusiveOr(words.high(left), counter[3]), key[1]);
    counter = {first, words.low(right), third, words.low(left)};
  }
  return counter;
}

std::array<Value, 4> Philox::wordsOf(Value block) {
  Words words{e.builder(), seed[0].getLoc(), block.getType()};
  Value number = words.splat(stream);
  return blockOf(e.builder(),
                 {words.low(block), words.high(block), words.low(number), words.high(number)},
                 {words.splat(seed[0]), words.splat(seed[1])});
}

/// Computes u >= p in integers: word >= ceil(p 2^32), exactly.
static uint64_t thresholdOf(double p) {
  return static_cast<uint64_t>(std::ceil(std::ldexp(p, 32)));
}

Value Philox::keepsApart(Value element, double p) {
  Words words{e.builder(), seed[0].getLoc(), element.getType()};
  Value block = arith::ShRUIOp::create(words.builder, words.loc, element, words.constant(2));
  std::array<Value, 4> word = wordsOf(block);
  Value which = arith::AndIOp::create(words.builder, words.loc, element, words.constant(3));
  Value lower = words.choose(words.isEqual(which, 0), word[0], word[1]);
  Value upper = words.choose(words.isEqual(which, 2), word[2], word[3]);
  Value isLower = arith::CmpIOp::create(words.builder, words.loc, arith::CmpIPredicate::ult, which,
                                        words.constant(2));
  return arith::CmpIOp::create(words.builder, words.loc, arith::CmpIPredicate::uge,
                               words.choose(isLower, lower, upper), words.constant(thresholdOf(p)));
}

/// Returns one bit for each word of enough blocks to cover the elements from any `first`, which may
/// lie inside a block; a shift then selects those of the elements.
Value Philox::keepsTogether(Index first, unsigned lanes, double p) {
  OpBuilder &b = e.builder();
  Location loc = seed[0].getLoc();
  unsigned blocks = lanes / 2;
  auto blocksType = VectorType::get({blocks}, b.getI64Type());
  auto shortType = blocksType.clone(b.getI32Type());
  std::array<Value, 4> word = wordsOf(elementNumbers(first / 4, blocks));
  for (Value &w : word)
    w = arith::TruncIOp::create(b, loc, shortType, w);
  auto interleave = [&](Value even, Value odd) -> Value {
    return vector::InterleaveOp::create(b, loc, even, odd);
  };
  Value inOrder = interleave(interleave(word[0], word[2]), interleave(word[1], word[3]));
  auto orderType = cast<VectorType>(inOrder.getType());
  Value bound = arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(orderType, APInt(32, thresholdOf(p) - 1)));
  Value keeps = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ugt, inOrder, bound);
  IntegerType allBits = b.getIntegerType(2 * lanes), theirBits = b.getIntegerType(lanes);
  Value bits = vector::ExtractOp::create(
      b, loc, vector::BitCastOp::create(b, loc, VectorType::get({1}, allBits), keeps), 0);
  Value offset = arith::IndexCastOp::create(b, loc, allBits, (first % 4).value);
  bits = arith::TruncIOp::create(b, loc, theirBits, arith::ShRUIOp::create(b, loc, bits, offset));
  Value asVector = vector::BroadcastOp::create(b, loc, VectorType::get({1}, theirBits), bits);
  return vector::BitCastOp::create(b, loc, VectorType::get({lanes}, b.getI1Type()), asVector);
}

Value Philox::keeps(Index first, unsigned lanes, double p, int64_t step) {
  bool isPowerOfTwo = (lanes & (lanes - 1)) == 0;
  if (step == 1 && areNeighbours(lanes) && lanes >= 8 && isPowerOfTwo && thresholdOf(p) > 0)
    return keepsTogether(dimensions.empty() ? first : numberInWhole(first), lanes, p);
  return keepsApart(numbersInWhole(first, lanes, step), p);
}
