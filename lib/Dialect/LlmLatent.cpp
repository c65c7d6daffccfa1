//===- LlmLatent.cpp - Latent rows in caches: what is valid, and what it costs ===//

#include "LlmVerify.h"
#include "llmmem/Dialect/ElementTypes.h"
#include "llmmem/Dialect/FewerBits.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/TargetInterface.h"
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

/// `x` must be [..., heads * elements of a head].
static LogicalResult expectHeads(Operation *op, StringRef name, Value x, int64_t heads) {
  if (heads < 1)
    return op->emitOpError() << "has " << heads << " heads, expected at least one";
  if (lastDim(x) % heads == 0)
    return success();
  return op->emitOpError() << "'" << name << "' has width " << lastDim(x)
                           << ", expected a multiple of " << heads << " heads";
}

LogicalResult HeadLinearOp::verify() {
  auto heads = static_cast<int64_t>(getHeads()), first = static_cast<int64_t>(getFirst());
  RankedTensorType weight = getWeight().getType();
  if (failed(expectRank(*this, "x", getX(), 2)) ||
      failed(expectSameElement(*this, {getX(), getY()})) ||
      failed(expectHeld(*this, "weight", getWeight(), getScales(), getZeros(),
                        getX().getType().getElementType(), kGroupStep)) ||
      failed(expectHeads(*this, "x", getX(), heads)) ||
      failed(expectHeads(*this, "y", getY(), heads)))
    return failure();
  if (leadingDims(getX()) != leadingDims(getY()))
    return emitOpError() << "has [" << getX().getType().getShape() << "] before the product and ["
                         << getY().getType().getShape()
                         << "] after it: all dimensions except the last must agree";
  if (weight.getRank() != 2 || weight.getDimSize(0) % heads != 0)
    return emitOpError() << "'weight' has shape [" << weight.getShape() << "], expected [rows of "
                         << heads << " heads, columns]";
  bool inOut = getLayout() == WeightLayout::InOut;
  int64_t in = lastDim(getX()) / heads, out = lastDim(getY()) / heads;
  int64_t rows = inOut ? in : out, columns = inOut ? out : in;
  if (weight.getDimSize(1) != columns)
    return emitOpError() << "'weight' has " << weight.getDimSize(1) << " columns, expected "
                         << columns << ", the " << (inOut ? "results" : "elements") << " of a head";
  if (first >= 0 && first <= weight.getDimSize(0) / heads - rows)
    return success();
  return emitOpError() << "reads " << rows << " rows from row " << first << " on of the "
                       << weight.getDimSize(0) / heads << " that a head has";
}

/// `rows` must be a cache for `row`, [batch, seq, width].
static LogicalResult expectRowCache(Operation *op, Value rows, Value row, Value positions,
                                    Value table) {
  if (tensorType(row).getRank() != 3 || tensorType(rows).getRank() != 3)
    return op->emitOpError("needs 'row' as [batch, seq, width], and 'rows' as [batch, rows, width] "
                           "or [pages, page, width]");
  if (failed(expectSameElement(op, {rows, row})) ||
      failed(expectShape(op, "positions", positions, leadingDims(row))))
    return failure();
  return expectCache(op, "rows", rows, row, table);
}

/// There must be a scale for each row, both of the new ones and of the cache; none where these are
/// floats.
static LogicalResult expectScalesOfRows(LatentAttentionOp op) {
  Type computed = op.getQ().getType().getElementType();
  if (op.getScales().empty())
    return expectHeld(op, "row", op.getRow(), Value(), Value(), computed, 1);
  if (op.getScales().size() != 2)
    return op.emitOpError() << "has " << op.getScales().size()
                            << " scales, expected two: of 'row' and of 'rows'";
  for (auto [held, scales, name] :
       llvm::zip_equal(ArrayRef<Value>{op.getRow(), op.getRows()}, op.getScales(),
                       ArrayRef<StringRef>{"row", "rows"})) {
    if (failed(expectHeld(op, name, held, scales, Value(), computed, 1)))
      return failure();
    if (lastDim(scales) != 1)
      return op.emitOpError() << "'scales' of '" << name << "' have " << lastDim(scales)
                              << " columns, expected one: a row is a group";
  }
  return success();
}

LogicalResult LatentAttentionOp::verify() {
  auto heads = static_cast<int64_t>(getHeads()), rank = static_cast<int64_t>(getRank());
  if (failed(expectRowCache(*this, getRows(), getRow(), getPositions(), getTable())) ||
      failed(expectScalesOfRows(*this)) || failed(expectHeads(*this, "q", getQ(), heads)) ||
      failed(expectSameElement(*this, {getQ(), getOut()})))
    return failure();
  SmallVector<int64_t> shape(leadingDims(getRow()));
  int64_t width = lastDim(getRow());
  if (rank < 1 || rank > width)
    return emitOpError() << "has values of " << rank << " elements, expected 1 to the " << width
                         << " of a row";
  Count columns = Count(heads) * width;
  if (columns.isTooMany())
    return emitOpError() << "has " << heads << " heads of rows of " << width
                         << " elements, more than 2^63 together; make the heads fewer or the rows "
                            "shorter";
  shape.push_back(columns);
  if (failed(expectShape(*this, "q", getQ(), shape)))
    return failure();
  shape.back() = Count(heads) * rank;
  if (failed(expectShape(*this, "out", getOut(), shape)))
    return failure();
  if (getScale().isFinite())
    return success();
  return emitOpError() << "has scale " << getScale().convertToDouble()
                       << ", expected a finite number";
}

LogicalResult AppendRowsOp::verify() {
  return expectRowCache(*this, getRows(), getRow(), getPositions(), getTable());
}

//===----------------------------------------------------------------------===//
// Costs, and whose bytes results may have
//===----------------------------------------------------------------------===//

int64_t HeadLinearOp::getFlops() {
  return 2 * elements(getX()) * (lastDim(getY()) / static_cast<int64_t>(getHeads()));
}
/// Only what is read of the weight counts.
int64_t HeadLinearOp::getBytesMoved() {
  bool inOut = getLayout() == WeightLayout::InOut;
  int64_t rows = lastDim(inOut ? Value(getX()) : Value(getY()));
  Count bytesOfWeight = bytes(getWeight());
  for (Value extra : {Value(getScales()), Value(getZeros())})
    bytesOfWeight += extra ? bytes(extra) : Count();
  return bytes(getX()) + bytes(getY()) + bytesOfWeight / getWeight().getType().getDimSize(0) * rows;
}
Type HeadLinearOp::getUnpackedType() {
  return getScales() ? getWeight().getType().getElementType() : Type();
}
/// Libraries multiply in f32 or less.
bool HeadLinearOp::multipliesMatrices() {
  return !getScales() && isOfLibraries(getX().getType().getElementType());
}
int64_t HeadLinearOp::getLibraryWorkspaceBytes() { return libraryWorkspaceBytes(*this); }
int64_t HeadLinearOp::getWorkspaceBytes() { return getLibraryWorkspaceBytes(); }

int64_t LatentAttentionOp::getCapacity() {
  Count rows = tensorType(getRows()).getDimSize(1);
  return getTable() ? rows * lastDim(getTable()) : rows;
}
// A plan is made before lengths are known, so it assumes a full cache.
int64_t LatentAttentionOp::getFlops() {
  return 2 * (elements(getQ()) + elements(getOut())) * Count(getCapacity());
}
Type LatentAttentionOp::getUnpackedType() {
  return getScales().empty() ? Type() : tensorType(getRows()).getElementType();
}
int64_t LatentAttentionOp::getBytesMoved() {
  Count tokens = elements(getPositions()), batch = tensorType(getRow()).getDimSize(0);
  Count fresh = bytes(getRow()) + (getScales().empty() ? Count() : bytes(getScales()[0]));
  return bytes(getQ()) + bytes(getOut()) + bytes(getPositions()) + fresh +
         batch * Count(getCapacity()) * (fresh / tokens);
}
bool LatentAttentionOp::isRecomputable() { return false; }
int64_t LatentAttentionOp::getWorkspaceBytes() {
  const TargetInterface *targets = llm::getTargets(*this);
  return targets ? targets->getLatentPartsBytes(*this) : 0;
}

int64_t AppendRowsOp::getFlops() { return 0; }
int64_t AppendRowsOp::getBytesMoved() { return 2 * bytes(getRow()) + bytes(getPositions()); }
