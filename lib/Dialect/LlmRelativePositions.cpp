//===- LlmRelativePositions.cpp - Biases by distance: what they mean and cost ===//

#include "LlmVJP.h"
#include "LlmVerify.h"
#include "llmmem/Dialect/RelativePositions.h"
#include "llmmem/Support/Count.h"
#include "mlir/IR/Builders.h"
#include <cmath>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

//===----------------------------------------------------------------------===//
// Buckets
//===----------------------------------------------------------------------===//

int64_t RelativePositions::bucketOf(int64_t distance) const {
  int64_t ofSide = bidirectional ? buckets / 2 : buckets;
  int64_t first = bidirectional && distance > 0 ? ofSide : 0;
  int64_t x = bidirectional ? std::abs(distance) : std::max<int64_t>(-distance, 0);
  int64_t exact = ofSide / 2;
  if (x < exact)
    return first + x;
  float ratio = std::log(static_cast<float>(x) / static_cast<float>(exact)) /
                static_cast<float>(std::log(static_cast<double>(maxDistance) / exact));
  auto further = static_cast<int64_t>(ratio * static_cast<float>(ofSide - exact));
  return first + std::min(exact + further, ofSide - 1);
}

SmallVector<RelativePositions::Range> RelativePositions::ranges() const {
  SmallVector<Range> ranges(buckets);
  for (int64_t place = 0; place < distances(); ++place) {
    Range &range = ranges[bucketOf(place - (queries - 1))];
    if (range.begin == range.end)
      range.begin = place;
    range.end = place + 1;
  }
  return ranges;
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

template <typename Op>
static LogicalResult verifyBuckets(Op op, Value table, Value bias) {
  ArrayRef<int64_t> shape = tensorType(table).getShape();
  if (shape.size() != 2)
    return op.emitOpError() << "has a table of shape [" << shape << "], expected [buckets, heads]";
  auto queries = static_cast<int64_t>(op.getQueries()), keys = static_cast<int64_t>(op.getKeys());
  if (queries < 1 || keys < 1 || queries > INT32_MAX || keys > INT32_MAX)
    return op.emitOpError() << "has " << queries << " queries and " << keys
                            << " keys, expected 1 to " << INT32_MAX << " of each";
  int64_t least = op.getBidirectional() ? 4 : 2;
  if (shape[0] < least || shape[0] % least != 0)
    return op.emitOpError() << "has " << shape[0] << " buckets, expected a multiple of " << least;
  int64_t exact = shape[0] / least, most = op.getMaxDistance();
  if (most <= exact || most > INT32_MAX)
    return op.emitOpError() << "has a max_distance of " << most << ", expected more than the "
                            << exact << " distances that have a bucket each";
  if (failed(expectSameElement(op, {table, bias})))
    return failure();
  return expectShape(op, "bias", bias, {shape[1], queries + keys - 1});
}

LogicalResult RelativeBiasOp::verify() { return verifyBuckets(*this, getTable(), getBias()); }

LogicalResult RelativeBiasGradOp::verify() {
  if (failed(expectInto(*this, getInto(), getDtable())))
    return failure();
  return verifyBuckets(*this, getDtable(), getDbias());
}

/// `bias` must have a number for each head and distance of `scores`.
static LogicalResult verifyDiagonals(Operation *op, StringRef name, Value bias, Value scores) {
  ArrayRef<int64_t> shape = tensorType(scores).getShape();
  if (shape.size() != 4)
    return op->emitOpError() << "has scores of shape [" << shape
                             << "], expected [batch, heads, queries, keys]";
  if (failed(expectSameElement(op, {scores, bias})))
    return failure();
  return expectShape(op, name, bias, {shape[1], shape[2] + shape[3] - 1});
}

LogicalResult AddRelativeBiasOp::verify() {
  return verifyDiagonals(*this, "bias", getBias(), getScores());
}
LogicalResult SumDiagonalsOp::verify() { return verifyDiagonals(*this, "sums", getSums(), getX()); }

//===----------------------------------------------------------------------===//
// Cost, storage and ranks
//===----------------------------------------------------------------------===//

static Count elements(Value value) { return tensorType(value).getNumElements(); }

int64_t RelativeBiasOp::getFlops() { return 0; }
int64_t RelativeBiasGradOp::getFlops() { return elements(getDbias()); }
int64_t AddRelativeBiasOp::getFlops() { return elements(getScores()); }
int64_t SumDiagonalsOp::getFlops() { return elements(getX()); }

std::string RelativeBiasOp::getShardingRule() { return "R w -> w D"; }
std::string AddRelativeBiasOp::getShardingRule() { return "b w S T, w D -> b w S T"; }

//===----------------------------------------------------------------------===//
// Differentiation
//===----------------------------------------------------------------------===//

Value RelativeBiasOp::buildGradient(OpBuilder &builder, Value dy) {
  return RelativeBiasGradOp::create(builder, getLoc(), getTable().getType(), dy, /*into=*/Value(),
                                    getQueriesAttr(), getKeysAttr(), getMaxDistanceAttr(),
                                    getBidirectionalAttr());
}

LogicalResult AddRelativeBiasOp::buildVJP(OpBuilder &builder, Gradients resultGradients,
                                          Flags active, OperandGradients operandGradients) {
  Value dy = resultGradients[0];
  if (active[1])
    operandGradients[1] = SumDiagonalsOp::create(builder, getLoc(), getBias().getType(), dy);
  if (active[0])
    operandGradients[0] = dy;
  return success();
}

//===----------------------------------------------------------------------===//
// What a decoder reads
//===----------------------------------------------------------------------===//

LogicalResult ShiftTokensOp::verify() {
  if (tensorType(getLabels()).getRank() != 2)
    return emitOpError() << "'labels' has shape [" << tensorType(getLabels()).getShape()
                         << "], expected [batch, seq]";
  for (auto [name, id] : {std::pair("start", getStart()), std::pair("padding", getPadding())})
    if (static_cast<int64_t>(id) < 0 || id > INT32_MAX)
      return emitOpError() << "has a " << name << " of " << static_cast<int64_t>(id)
                           << ", expected an id from 0 up";
  return success();
}
int64_t ShiftTokensOp::getFlops() { return 0; }
std::string ShiftTokensOp::getShardingRule() { return "b S -> b S"; }
