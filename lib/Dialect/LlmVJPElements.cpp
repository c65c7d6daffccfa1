//===- LlmVJPElements.cpp - Gradients of element-wise and shape ops --------===//

#include "LlmVJP.h"

using namespace mlir;
using namespace llmmem::llm;

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Value GeluOp::buildGradient(OpBuilder &builder, Value dy) {
  return GeluGradOp::create(builder, getLoc(), getX().getType(), getX(), dy, getExactAttr());
}

Value SiluOp::buildGradient(OpBuilder &builder, Value dy) {
  return SiluGradOp::create(builder, getLoc(), getX().getType(), getX(), dy, getAlphaAttr());
}

Value ClampOp::buildGradient(OpBuilder &builder, Value dy) {
  return ClampGradOp::create(builder, getLoc(), getX().getType(), getX(), dy, getLowAttr(),
                             getHighAttr());
}

Value ScaleOp::buildGradient(OpBuilder &builder, Value dy) {
  return ScaleOp::create(builder, getLoc(), getX().getType(), dy, getFactorAttr());
}

Value SoftcapOp::buildGradient(OpBuilder &builder, Value dy) {
  return SoftcapGradOp::create(builder, getLoc(), getX().getType(), getY(), dy, getCapAttr());
}

// Both operands have dy itself as gradient, without a copy and without bytes.
LogicalResult AddOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                              OperandGradients operandGradients) {
  for (auto [gradient, isActive] : llvm::zip_equal(operandGradients, active))
    if (isActive)
      gradient = resultGradients[0];
  return success();
}

LogicalResult AddBiasOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                  OperandGradients operandGradients) {
  if (active[1])
    operandGradients[1] = SumRowsOp::create(builder, getLoc(), getBias().getType(),
                                            resultGradients[0], /*into=*/Value());
  if (active[0])
    operandGradients[0] = resultGradients[0];
  return success();
}

LogicalResult MulOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                              OperandGradients operandGradients) {
  Value dy = resultGradients[0];
  if (active[0])
    operandGradients[0] = MulOp::create(builder, getLoc(), getA().getType(), dy, getB());
  if (active[1])
    operandGradients[1] = MulOp::create(builder, getLoc(), getB().getType(), dy, getA());
  return success();
}

Value DropoutOp::buildGradient(OpBuilder &builder, Value dy) {
  return DropoutOp::create(builder, getLoc(), getX().getType(), dy, getSeed(), getPAttr(),
                           getKeyAttr(), getShardingAttr());
}

Value StoredDropoutOp::buildGradient(OpBuilder &builder, Value dy) {
  return ApplyMaskOp::create(builder, getLoc(), getX().getType(), dy, getMask(), getPAttr());
}

Value ApplyMaskOp::buildGradient(OpBuilder &builder, Value dy) {
  return ApplyMaskOp::create(builder, getLoc(), getX().getType(), dy, getMask(), getPAttr());
}

Value CastOp::buildGradient(OpBuilder &builder, Value dy) {
  return CastOp::create(builder, getLoc(), getX().getType(), dy);
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

Value ReshapeOp::buildGradient(OpBuilder &builder, Value dy) {
  return ReshapeOp::create(builder, getLoc(), getX().getType(), dy);
}

Value RepeatHeadsOp::buildGradient(OpBuilder &builder, Value dy) {
  return SumHeadsOp::create(builder, getLoc(), getX().getType(), dy);
}

// A part without readers has the gradient 0, and the whole needs its columns.
LogicalResult SplitOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                OperandGradients operandGradients) {
  if (!active[0])
    return success();
  SmallVector<Value> parts(resultGradients);
  for (auto [gradient, part] : llvm::zip_equal(parts, getParts()))
    if (!gradient)
      gradient = FillOp::create(builder, getLoc(), part.getType(), builder.getF64FloatAttr(0.0));
  operandGradients[0] = ConcatOp::create(builder, getLoc(), getX().getType(), parts);
  return success();
}

LogicalResult ConcatOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                 OperandGradients operandGradients) {
  auto split = SplitOp::create(builder, getLoc(), getParts().getTypes(), resultGradients[0]);
  for (auto [number, part] : llvm::enumerate(split.getParts()))
    if (active[number])
      operandGradients[number] = part;
  return success();
}
