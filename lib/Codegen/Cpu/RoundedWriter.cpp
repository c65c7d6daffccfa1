//===- RoundedWriter.cpp - Rounds activations for integer products -------===//

#include "RoundedWriter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::gemm;

SmallVector<Integers> RoundedWriter::round(Factors factors, Pointer scaleTo) {
  // Without signs, numbers are in the order of their bits, and NaN is above all.
  Integers most = zeros(w, VectorType::get(w.sizes.lanes, i32()));
  for (int64_t v = 0; v < vectorsOfGroup(); ++v)
    most = most.with<arith::MaxSIOp>((wordsOf(factors(v)) & 0x7FFFFFFF).value);
  Value largest =
      vector::ReductionOp::create(w.builder, w.loc(), vector::CombiningKind::MAXSI, most.value);
  Value number = arith::BitcastOp::create(w.builder, w.loc(), w.accumulatorType, largest);
  Num scale = Num{&w.builder, number} / 127.0, each = w.spread(scale);
  w.store(scaleTo, scale);
  SmallVector<Integers> rounded;
  for (int64_t v = 0; v < vectorsOfGroup(); ++v)
    rounded.push_back(nearest(factors(v) / each));
  return rounded;
}

/// Rounds to nearest with ties to even: adding a number whose last place is 1 rounds. A scale that
/// is no normal number may be too small for the largest factor.
Integers RoundedWriter::nearest(Num x) {
  Integers sum = wordsOf(x + static_cast<double>(3 << 22));
  sum = sum - Integers{&w, sum.like(0x4B400000)};
  return sum.with<arith::MinSIOp>(sum.like(127)).with<arith::MaxSIOp>(sum.like(-127));
}

Integers RoundedWriter::wordsOf(Num x) {
  auto type = cast<VectorType>(x.type());
  return {&w, arith::BitcastOp::create(w.builder, w.loc(), type.clone(i32()), x.value)};
}

void RoundedWriter::storeIntegers(Pointer to, Integers x) {
  LLVM::StoreOp::create(w.builder, w.loc(), x.value, to.address, /*alignment=*/4);
}

Integers RoundedWriter::loadIntegers(Pointer from, Type type) {
  return {&w, LLVM::LoadOp::create(w.builder, w.loc(), type, from.address, /*alignment=*/4)};
}

ValueRange RoundedWriter::carry(Index upper, ValueRange initial, Body body) {
  auto loop = scf::ForOp::create(w.builder, w.loc(), w.constant(0).value, upper.value,
                                 w.constant(1).value, initial);
  OpBuilder::InsertionGuard guard(w.builder);
  w.builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next = body({&w.builder, loop.getInductionVar()}, loop.getRegionIterArgs());
  scf::YieldOp::create(w.builder, w.loc(), next);
  return loop.getResults();
}
