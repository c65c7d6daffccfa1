//===- LlmCaches.cpp - Steps with caches: what is valid, and what it costs -===//

#include "LlmVerify.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Support/Count.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

static Count elements(Value value) { return tensorType(value).getNumElements(); }
static Count bytes(Value value) { return bytesOfType(value.getType()); }

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

LogicalResult PositionsOp::verify() {
  if (tensorType(getPositions()).getRank() != 2)
    return emitOpError("'positions' must be [batch, seq]");
  int64_t batch = tensorType(getPositions()).getDimSize(0);
  if (failed(expectShape(*this, "lengths", getLengths(), {batch})) ||
      (getCounts() && failed(expectShape(*this, "counts", getCounts(), {batch}))))
    return failure();
  auto context = static_cast<int64_t>(getContext());
  if (context >= 1 && context <= INT32_MAX)
    return success();
  return emitOpError() << "has a context of " << context << ", expected 1 to " << INT32_MAX;
}

LogicalResult llm::expectCaches(Operation *op, Value keys, Value values, Value k, Value v,
                                Value positions, Value table) {
  if (tensorType(k).getRank() != 3 || tensorType(keys).getRank() != 3)
    return op->emitOpError("needs 'k' as [batch, seq, width], and 'keys' as [batch, rows, width] "
                           "or [pages, page, width]");
  if (failed(expectSameElement(op, {keys, values, k, v})) ||
      failed(expectShape(op, "v", v, tensorType(k).getShape())) ||
      failed(expectShape(op, "values", values, tensorType(keys).getShape())) ||
      failed(expectShape(op, "positions", positions, leadingDims(k))))
    return failure();
  return expectCache(op, "keys", keys, k, table);
}

LogicalResult llm::expectCache(Operation *op, StringRef name, Value cache, Value row, Value table) {
  int64_t batch = tensorType(row).getDimSize(0);
  ArrayRef<int64_t> shape = tensorType(cache).getShape();
  if (failed(expectShape(op, name, cache, {table ? shape[0] : batch, shape[1], lastDim(row)})))
    return failure();
  if (!table || (tensorType(table).getRank() == 2 && tensorType(table).getDimSize(0) == batch))
    return success();
  return op->emitOpError() << "'table' has shape [" << tensorType(table).getShape()
                           << "], expected [" << batch << ", pages of a sequence]";
}

LogicalResult AppendCacheOp::verify() {
  return expectCaches(*this, getKeys(), getValues(), getK(), getV(), getPositions(), getTable());
}

LogicalResult LastRowsOp::verify() {
  if (tensorType(getX()).getRank() != 3)
    return emitOpError("'x' must be [batch, seq, width]");
  int64_t batch = tensorType(getX()).getDimSize(0);
  if (failed(expectSameElement(*this, {getX(), getY()})) ||
      failed(expectShape(*this, "counts", getCounts(), {batch})))
    return failure();
  return expectShape(*this, "y", getY(), {batch, 1, lastDim(getX())});
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

int64_t CachedAttentionOp::getCapacity() {
  Count rows = tensorType(getKeys()).getDimSize(1);
  return getTable() ? rows * lastDim(getTable()) : rows;
}
int64_t CachedAttentionOp::getReach() {
  return getWindow() ? static_cast<int64_t>(*getWindow()) : getCapacity();
}

int64_t PositionsOp::getFlops() { return elements(getPositions()); }
int64_t LastRowsOp::getFlops() { return 0; }
int64_t LastRowsOp::getBytesMoved() { return 2 * bytes(getY()) + bytes(getCounts()); }
int64_t AppendCacheOp::getFlops() { return 0; }
int64_t AppendCacheOp::getBytesMoved() {
  return 2 * (bytes(getK()) + bytes(getV())) + bytes(getPositions());
}

// A plan is made before lengths are known, so it assumes full caches.
int64_t CachedAttentionOp::getFlops() { return 4 * elements(getQ()) * Count(getReach()); }
Type CachedAttentionOp::getUnpackedType() {
  return getScales().empty() ? Type() : tensorType(getKeys()).getElementType();
}
int64_t CachedAttentionOp::getBytesMoved() {
  Count batch = tensorType(getQ()).getDimSize(0);
  Count row = bytes(getK()) / (batch * tensorType(getK()).getDimSize(1)), fresh;
  for (Value value : {Value(getK()), Value(getV()), Value(getPositions())})
    fresh += bytes(value);
  if (getSinks())
    fresh += bytes(getSinks());
  if (!getScales().empty()) {
    row += bytes(getScales()[0]) / (batch * tensorType(getK()).getDimSize(1));
    fresh += bytes(getScales()[0]) + bytes(getScales()[1]);
  }
  return 2 * bytes(getQ()) + fresh + 2 * batch * Count(getReach()) * row;
}
