//===- Integers.cpp - Arithmetic of integers in functions of matmuls --------===//

#include "Integers.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::gemm;

Integers gemm::bitsOf(Writer &w, Value value, VectorType type) {
  return {&w, vector::BitCastOp::create(w.builder, w.loc(), type, value)};
}

Integers gemm::zeros(Writer &w, VectorType type) {
  return {&w, arith::ConstantOp::create(w.builder, w.loc(), w.builder.getZeroAttr(type))};
}

Integers gemm::chosenLanes(Integers a, Integers b, ArrayRef<int64_t> order) {
  return {a.w, vector::ShuffleOp::create(a.w->builder, a.w->loc(), a.value, b.value, order)};
}

Value gemm::spread(Writer &w, Value one, int64_t lanes) {
  return vector::BroadcastOp::create(w.builder, w.loc(), VectorType::get(lanes, one.getType()),
                                     one);
}

Integers gemm::sumsOfLanes(ArrayRef<Integers> eight) {
  constexpr int64_t kLanes = 8;
  SmallVector<Integers> left(eight);
  for (int64_t run = 1; run < kLanes; run *= 2) {
    SmallVector<int64_t> even, odd;
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      int64_t of = lane / (2 * run) * 2 * run + lane % run, second = lane / run % 2 * kLanes;
      even.push_back(of + second);
      odd.push_back(of + run + second);
    }
    SmallVector<Integers> next;
    for (size_t i = 0; i < left.size(); i += 2)
      next.push_back(chosenLanes(left[i], left[i + 1], even) +
                     chosenLanes(left[i], left[i + 1], odd));
    left = next;
  }
  return left.front();
}

static Integers everySecondLane(Integers x, int64_t first) {
  SmallVector<int64_t> order;
  for (int64_t lane = first; lane < cast<VectorType>(x.value.getType()).getNumElements(); lane += 2)
    order.push_back(lane);
  return chosenLanes(x, x, order);
}

Integers gemm::sumsOfPairs(Integers x, Integers y) {
  Integers products = x.asWords() * y.asWords();
  return everySecondLane(products, 0) + everySecondLane(products, 1);
}

Integers gemm::sumsOfBytePairs(Integers unsignedBytes, Integers signedBytes) {
  auto product = [&](int64_t first) {
    return everySecondLane(unsignedBytes, first).asWordsWithoutSigns() *
           everySecondLane(signedBytes, first).asWords();
  };
  Integers sum = product(0) + product(1);
  sum = sum.with<arith::MinSIOp>(sum.like(32767)).with<arith::MaxSIOp>(sum.like(-32768));
  return sum.narrow(16);
}
