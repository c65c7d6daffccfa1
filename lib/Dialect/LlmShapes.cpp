//===- LlmShapes.cpp - Transposes and ranges: what is valid, costs, splits -===//
//
// and how each is differentiated: by another of them, without a kept value.
//
//===----------------------------------------------------------------------===//

#include "LlmVerify.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

//===----------------------------------------------------------------------===//
// What is valid
//===----------------------------------------------------------------------===//

LogicalResult TransposeOp::verify() {
  ArrayRef<int64_t> shape = tensorType(getX()).getShape(), order = getOrder();
  if (order.size() != shape.size() || !isPermutationVector(order))
    return emitOpError() << "has order [" << order << "], expected each of the " << shape.size()
                         << " dimensions of x once";
  if (failed(expectSameElement(*this, {getX(), getY()})))
    return failure();
  return expectShape(*this, "y", getY(), applyPermutation(shape, order));
}

/// `part` must be a range of the columns of `whole`, from `begin` on.
static LogicalResult expectRange(Operation *op, Value whole, Value part, int64_t begin) {
  if (failed(expectSameElement(op, {whole, part})))
    return failure();
  if (leadingDims(part) != leadingDims(whole))
    return op->emitOpError() << "has a range of shape [" << tensorType(part).getShape()
                             << "] in a whole of shape [" << tensorType(whole).getShape() << "]";
  if (begin < 0 || begin > lastDim(whole) - lastDim(part))
    return op->emitOpError() << "has a range of " << lastDim(part) << " columns from " << begin
                             << " on, but the whole has " << lastDim(whole);
  return success();
}
LogicalResult SliceOp::verify() { return expectRange(*this, getX(), getY(), getBegin()); }
LogicalResult PadOp::verify() { return expectRange(*this, getY(), getX(), getBegin()); }

//===----------------------------------------------------------------------===//
// Costs and shards
//===----------------------------------------------------------------------===//

int64_t TransposeOp::getFlops() { return 0; }
int64_t SliceOp::getFlops() { return 0; }
int64_t PadOp::getFlops() { return 0; }

std::string TransposeOp::getShardingRule() {
  std::string of;
  for (size_t dimension = 0; dimension < getOrder().size(); ++dimension)
    of += "d" + std::to_string(dimension) + " ";
  std::string to;
  for (int64_t dimension : getOrder())
    to += " d" + std::to_string(dimension);
  return of + "->" + to;
}
std::string SliceOp::getShardingRule() { return "... X -> ... Y"; }
std::string PadOp::getShardingRule() { return "... X -> ... Y"; }

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

Value TransposeOp::buildGradient(OpBuilder &builder, Value dy) {
  return TransposeOp::create(builder, getLoc(), getX().getType(), dy,
                             invertPermutationVector(getOrder()));
}

Value SliceOp::buildGradient(OpBuilder &builder, Value dy) {
  return PadOp::create(builder, getLoc(), getX().getType(), dy, getBegin());
}

Value PadOp::buildGradient(OpBuilder &builder, Value dy) {
  return SliceOp::create(builder, getLoc(), getX().getType(), dy, getBegin());
}
