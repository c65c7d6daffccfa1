//===- LlmFolds.cpp - Ops that have an identity ----------------------------===//
//
// Each fold gives the very bits that the op gives. What a plan counts must not change after
// planning, so an op of a planned function is left alone, and so is one in a kernel, which does not
// return an operand. So canonicalize may run before a plan is made; verify-plan refuses whatever
// else it does after one.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Dialect/ElementTypes.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Dialect/TiledOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

/// Returns whether the op's place is decided: by a plan of its function (a schedule counts ops,
/// offsets count bytes), or by the kernel that contains it.
static bool isFixed(Operation *op) {
  if (isa<KernelOp, TiledOp>(op->getParentOp()))
    return true;
  constexpr StringLiteral marks[] = {LlmDialect::kPolicy, LlmDialect::kSchedule,
                                     LlmDialect::kArena};
  auto function = op->getParentOfType<FunctionOpInterface>();
  return function && llvm::any_of(marks, [&](StringRef name) { return function->hasAttr(name); });
}

static Type elementOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getElementType();
}

/// Returns whether all elements of `value` are `number`, with its sign.
static bool isFillOf(Value value, double number) {
  auto fill = value.getDefiningOp<FillOp>();
  return fill && fill.getValue().bitwiseIsEqual(llvm::APFloat(number));
}

/// Returns whether each number of type `from` is one of type `to`.
static bool isWidening(Type from, Type to) {
  return isHalf(from) ? to.isF32() || to.isF64() : from.isF32() && to.isF64();
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  if (isFixed(*this))
    return {};
  if (getX().getType() == getY().getType())
    return getX();
  auto inner = getX().getDefiningOp<CastOp>();
  bool undoes = inner && inner.getX().getType() == getY().getType() &&
                isWidening(elementOf(inner.getX()), elementOf(inner.getY()));
  return undoes ? OpFoldResult(inner.getX()) : OpFoldResult();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (isFixed(*this))
    return {};
  if (getX().getType() == getY().getType())
    return getX();
  auto inner = getX().getDefiningOp<ReshapeOp>();
  if (!inner)
    return {};
  if (inner.getX().getType() == getY().getType())
    return inner.getX();
  getXMutable().assign(inner.getX());
  return getResult();
}

// -0 + -0 is -0 and x + -0 is x. The first does not hold for 0, because -0 + 0 is 0.
OpFoldResult AddOp::fold(FoldAdaptor) {
  if (isFixed(*this))
    return {};
  if (isFillOf(getB(), -0.0))
    return getA();
  return isFillOf(getA(), -0.0) ? OpFoldResult(getB()) : OpFoldResult();
}

OpFoldResult MulOp::fold(FoldAdaptor) {
  if (isFixed(*this))
    return {};
  if (isFillOf(getB(), 1.0))
    return getA();
  return isFillOf(getA(), 1.0) ? OpFoldResult(getB()) : OpFoldResult();
}

OpFoldResult DropoutOp::fold(FoldAdaptor) {
  return !isFixed(*this) && getP().isZero() ? OpFoldResult(getX()) : OpFoldResult();
}

LogicalResult SplitOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &results) {
  if (isFixed(*this))
    return failure();
  if (getParts().size() == 1) {
    results.push_back(getX());
    return success();
  }
  auto concat = getX().getDefiningOp<ConcatOp>();
  if (!concat || concat.getParts().getTypes() != getParts().getTypes())
    return failure();
  llvm::append_range(results, concat.getParts());
  return success();
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  if (isFixed(*this))
    return {};
  if (getParts().size() == 1)
    return getParts().front();
  auto split = getParts().front().getDefiningOp<SplitOp>();
  bool undoes = split && llvm::equal(getParts(), split.getParts());
  return undoes ? OpFoldResult(split.getX()) : OpFoldResult();
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  bool keepsOrder = llvm::is_sorted(getOrder());
  return !isFixed(*this) && keepsOrder ? OpFoldResult(getX()) : OpFoldResult();
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  bool takesAll = getX().getType() == getY().getType();
  return !isFixed(*this) && takesAll ? OpFoldResult(getX()) : OpFoldResult();
}

OpFoldResult PadOp::fold(FoldAdaptor) {
  bool addsNothing = getX().getType() == getY().getType();
  return !isFixed(*this) && addsNothing ? OpFoldResult(getX()) : OpFoldResult();
}
