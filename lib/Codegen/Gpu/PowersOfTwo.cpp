//===- PowersOfTwo.cpp - 2^x on a GPU --------------------------------------===//

#include "llmmem/Codegen/Gpu/PowersOfTwo.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace llmmem;

/// Works on a vector element by element, because the hardware has such instructions for single
/// numbers only.
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

/// Corrects the device's approximate reciprocal once. These are the steps by which ptxas computes
/// the correctly rounded `rcp.rn.f32`, without its branch for numbers near the bounds of f32, which
/// `x` must not be near. So the result is 1 / x correctly rounded, whatever bits the approximation
/// has.
Num llmmem::reciprocal(Num x) {
  Num near = ofEachLane(x, [&](Value one) -> Value {
    OpBuilder &b = *x.builder;
    return NVVM::RcpApproxFtzF32Op::create(b, one.getLoc(), b.getF32Type(), one);
  });
  return fma(near, fma(-x, near, x.like(1.0)), near);
}
