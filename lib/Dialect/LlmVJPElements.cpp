//===- LlmVJPElements.cpp - Gradients of element-wise and shape ops --------===//

#include "LlmVJP.h"

using namespace mlir;
using namespace llmmem::llm;

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

LogicalResult GeluOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                               OperandGradients &operandGradients) {
  operandGradients.assign(active.size(), Value());
  if (active[0])
    operandGradients[0] = GeluGradOp::create(builder, getLoc(), getX().getType(), getX(),
                                             resultGradients[0], getExactAttr());
  return success();
}

LogicalResult SiluOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                               OperandGradients &operandGradients) {
  operandGradients.assign(active.size(), Value());
  if (active[0])
    operandGradients[0] = SiluGradOp::create(builder, getLoc(), getX().getType(), getX(),
                                             resultGradients[0], getAlphaAttr());
  return success();
}

LogicalResult ClampOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                OperandGradients &operandGradients) {
  operandGradients.assign(active.size(), Value());
  if (active[0])
    operandGradients[0] = ClampGradOp::create(builder, getLoc(), getX().getType(), getX(),
                                              resultGradients[0], getLowAttr(), getHighAttr());
  return success();
}

LogicalResult ScaleOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                OperandGradients &operandGradients) {
  operandGradients.assign(active.size(), Value());
  if (active[0])
    operandGradients[0] =
        ScaleOp::create(builder, getLoc(), getX().getType(), resultGradients[0], getFactorAttr());
  return success();
}

LogicalResult SoftcapOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                  OperandGradients &operandGradients) {
  operandGradients.assign(active.size(), Value());
  if (active[0])
    operandGradients[0] = SoftcapGradOp::create(builder, getLoc(), getX().getType(), getY(),
                                                resultGradients[0], getCapAttr());
  return success();
}

// Both operands have dy itself as gradient, without a copy and without bytes.
LogicalResult AddOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                              OperandGradients &operandGradients) {
  operandGradients.assign(active.size(), Value());
  for (auto [gradient, isActive] : llvm::zip_equal(operandGradients, active))
    if (isActive)
      gradient = resultGradients[0];
  return success();
}

LogicalResult AddBiasOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                  OperandGradients &operandGradients) {
  operandGradients.assign(active.size(), Value());
  if (active[1])
    operandGradients[1] = SumRowsOp::create(builder, getLoc(), getBias().getType(),
                                            resultGradients[0], /*into=*/Value());
  if (active[0])
    operandGradients[0] = resultGradients[0];
  return success();
}

LogicalResult MulOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                              OperandGradients &operandGradients) {
  Value dy = resultGradients[0];
  operandGradients.assign(active.size(), Value());
  if (active[0])
    operandGradients[0] = MulOp::create(builder, getLoc(), getA().getType(), dy, getB());
  if (active[1])
    operandGradients[1] = MulOp::create(builder, getLoc(), getB().getType(), dy, getA());
  return success();
}

LogicalResult DropoutOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                  OperandGradients &operandGradients) {
  operandGradients.assign(active.size(), Value());
  if (active[0])
    operandGradients[0] = DropoutOp::create(builder, getLoc(), getX().getType(), resultGradients[0],
                                            getSeed(), getPAttr(), getKeyAttr(), getShardingAttr());
  return success();
}

LogicalResult StoredDropoutOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                        OperandGradients &operandGradients) {
  operandGradients.assign(active.size(), Value());
  if (active[0])
    operandGradients[0] = ApplyMaskOp::create(builder, getLoc(), getX().getType(),
                                              resultGradients[0], getMask(), getPAttr());
  return success();
}

LogicalResult ApplyMaskOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                    OperandGradients &operandGradients) {
  operandGradients.assign(active.size(), Value());
  if (active[0])
    operandGradients[0] = ApplyMaskOp::create(builder, getLoc(), getX().getType(),
                                              resultGradients[0], getMask(), getPAttr());
  return success();
}

LogicalResult CastOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                               OperandGradients &operandGradients) {
  operandGradients.assign(active.size(), Value());
  if (active[0])
    operandGradients[0] = CastOp::create(builder, getLoc(), getX().getType(), resultGradients[0]);
  return success();
}

// It has no operand, so no gradient.
LogicalResult FillOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                               OperandGradients &operandGradients) {
  operandGradients.clear();
  return success();
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                  OperandGradients &operandGradients) {
  operandGradients.assign(active.size(), Value());
  if (active[0])
    operandGradients[0] =
        ReshapeOp::create(builder, getLoc(), getX().getType(), resultGradients[0]);
  return success();
}

LogicalResult RepeatHeadsOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                      OperandGradients &operandGradients) {
  operandGradients.assign(active.size(), Value());
  if (active[0])
    operandGradients[0] =
        SumHeadsOp::create(builder, getLoc(), getX().getType(), resultGradients[0]);
  return success();
}

// A part without readers has the gradient 0, and the whole needs its columns.
LogicalResult SplitOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                OperandGradients &operandGradients) {
  operandGradients.assign(active.size(), Value());
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
                                 OperandGradients &operandGradients) {
  operandGradients.assign(active.size(), Value());
  auto split = SplitOp::create(builder, getLoc(), getParts().getTypes(), resultGradients[0]);
  for (auto [number, part] : llvm::enumerate(split.getParts()))
    if (active[number])
      operandGradients[number] = part;
  return success();
}
