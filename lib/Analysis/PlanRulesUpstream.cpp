//===- PlanRulesUpstream.cpp - The verifier's own rules for MLIR's dialects ---===//

#include "PlanRulesUpstream.h"
#include "PlanBytes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"

using namespace mlir;
using namespace llmmem;

bool llmmem::isKnownUpstream(Operation *op) {
  return isa_and_present<arith::ArithDialect, linalg::LinalgDialect, math::MathDialect,
                         tensor::TensorDialect, tosa::TosaDialect>(op->getDialect()) ||
         isa<scf::ForOp>(op);
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// Returns whether the sizes and places that a view names are there before the step runs. In a
/// loop, whose ops keep the order of the text, they may be any number.
static bool isShapeKnown(Operation *view) {
  if (isa_and_present<LoopLikeOpInterface>(view->getParentOp()))
    return true;
  for (Value number : view->getOperands().drop_front()) {
    Operation *writer = number.getDefiningOp();
    if (!writer || !isPlanConstant(writer))
      return false;
  }
  return true;
}

/// Returns the value that a loop began with, where it carries `argument` unchanged; null otherwise.
static Value initialOf(BlockArgument argument) {
  auto loop = dyn_cast_if_present<LoopLikeOpInterface>(argument.getOwner()->getParentOp());
  OpOperand *initial = loop ? loop.getTiedLoopInit(argument) : nullptr;
  return initial && loop.getTiedLoopYieldedValue(argument)->get() == argument ? initial->get()
                                                                              : Value();
}

/// Returns whether the elements of `value` lie one after another: no slice is on the way to its
/// bytes.
static bool isContiguous(Value value) {
  while (value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      value = initialOf(argument);
      continue;
    }
    auto result = cast<OpResult>(value);
    std::optional<unsigned> viewed = planViewedOperand(result);
    if (!viewed)
      return true;
    if (isa<tensor::ExtractSliceOp>(result.getOwner()))
      return false;
    value = result.getOwner()->getOperand(*viewed);
  }
  return true;
}

std::optional<unsigned> llmmem::viewedOperandUpstream(OpResult result) {
  Operation *op = result.getOwner();
  bool isView = false;
  unsigned operand = 0;
  if (isa<tensor::ExtractSliceOp>(op)) {
    isView = isShapeKnown(op);
  } else if (isa<tensor::CastOp, tensor::BitcastOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                 tensor::ReshapeOp>(op)) {
    isView = isShapeKnown(op) && isContiguous(op->getOperand(0));
  } else if (isa<tosa::ReshapeOp, tosa::IdentityOp>(op)) {
    isView =
        op->getNumResults() == 1 && (isa<tosa::IdentityOp>(op) || isContiguous(op->getOperand(0)));
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    operand = loop.getInitArgsMutable()[result.getResultNumber()].getOperandNumber();
    isView = loop.getYieldedValues()[result.getResultNumber()] ==
             loop.getRegionIterArgs()[result.getResultNumber()];
  }
  return isView ? std::optional(operand) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// In place
//===----------------------------------------------------------------------===//

/// Returns whether `value` shows all bytes that it lies in, so that equal numbers are equal places.
static bool showsAll(Value value) { return planBytesOf(planRootOf(value)) == planBytesOf(value); }

/// Returns the operands that look at the bytes of `operand`, itself among them.
static SmallVector<OpOperand *> lookingAt(OpOperand &operand) {
  SmallVector<OpOperand *> looking;
  Value root = planRootOf(operand.get());
  for (OpOperand &other : operand.getOwner()->getOpOperands())
    if (planRootOf(other.get()) == root)
      looking.push_back(&other);
  return looking;
}

/// Returns the bytes of one element in memory; -1 for what is no number, and 0 for elements of four
/// bits, of which two share a byte.
static int64_t elementBytes(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (auto complex = dyn_cast<ComplexType>(element))
    return 2 * elementBytes(complex.getElementType());
  if (!element.isIntOrIndexOrFloat())
    return -1;
  if (element.isInteger(4))
    return 0;
  return element.isIndex() ? 8 : llvm::alignTo(element.getIntOrFloatBitWidth(), 8) / 8;
}

/// Returns operands where each element of the result is made of the same elements of the operands.
static SmallVector<unsigned> ofElements(OpResult result) {
  SmallVector<unsigned> operands;
  auto made = dyn_cast<RankedTensorType>(result.getType());
  for (OpOperand &operand : result.getOwner()->getOpOperands()) {
    auto read = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!made || !read || made.getShape() != read.getShape() ||
        elementBytes(made) != elementBytes(read) || !showsAll(operand.get()))
      continue;
    if (llvm::all_of(lookingAt(operand),
                     [&](OpOperand *other) { return other->get() == operand.get(); }))
      operands.push_back(operand.getOperandNumber());
  }
  return operands;
}

/// Returns whether no other operand looks at the destination.
static bool isAlone(OpOperand &destination) {
  return showsAll(destination.get()) && lookingAt(destination).size() == 1;
}

/// Returns whether the bytes of `operand` are read at those points alone at which the result of
/// `destination` is written, each of which is written once.
static bool isReadAtItsPoint(linalg::LinalgOp op, OpOperand &operand, OpOperand &destination) {
  AffineMap written = op.getMatchingIndexingMap(&destination);
  if (!written.isPermutation() || op.getNumParallelLoops() != op.getNumLoops())
    return false;
  return llvm::all_of(lookingAt(operand), [&](OpOperand *other) {
    return other->get() == operand.get() && op.getMatchingIndexingMap(other) == written;
  });
}

static SmallVector<unsigned> ofStructured(linalg::LinalgOp op, OpResult result) {
  OpOperand &destination = *op.getDpsInitOperand(result.getResultNumber());
  SmallVector<unsigned> operands;
  if (isAlone(destination) ||
      (showsAll(destination.get()) && isReadAtItsPoint(op, destination, destination)))
    operands.push_back(destination.getOperandNumber());
  // The result of an addition into an operand uses the bytes of that operand alone, which may be an
  // input as well.
  const bool isAddedTo = op.payloadUsesValueFromOperand(&destination);
  for (OpOperand *input : op.getDpsInputOperands()) {
    bool isItself = !operands.empty() && planRootOf(input->get()) == planRootOf(destination.get());
    if ((!isAddedTo || isItself) && isa<RankedTensorType>(input->get().getType()) &&
        showsAll(input->get()) &&
        elementBytes(input->get().getType()) == elementBytes(destination.get().getType()) &&
        isReadAtItsPoint(op, *input, destination))
      operands.push_back(input->getOperandNumber());
  }
  return operands;
}

SmallVector<unsigned> llmmem::inPlaceOperandsUpstream(OpResult result) {
  Operation *op = result.getOwner();
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return ofStructured(structured, result);
  bool isOfElements = op->hasTrait<OpTrait::Elementwise>();
  if (isa<tosa::TosaDialect>(op->getDialect()))
    isOfElements = op->hasTrait<OpTrait::tosa::TosaElementwiseOperator>() ||
                   isa<tosa::MulOp, tosa::NegateOp, tosa::CastOp>(op);
  if (isOfElements)
    return ofElements(result);
  OpOperand *destination = nullptr;
  if (auto loop = dyn_cast<scf::ForOp>(op))
    destination = &loop.getInitArgsMutable()[result.getResultNumber()];
  else if (auto writing = dyn_cast<DestinationStyleOpInterface>(op))
    destination = writing.getDpsInitOperand(result.getResultNumber());
  bool isMade = destination && isa<TensorType>(result.getType()) &&
                !viewedOperandUpstream(result) && isAlone(*destination);
  return isMade ? SmallVector<unsigned>{destination->getOperandNumber()} : SmallVector<unsigned>();
}
