//===- LlmRecurrent.cpp - Carried states: what they mean and cost ----------===//

#include "LlmVJP.h"
#include "LlmVerify.h"
#include "llmmem/Dialect/RecurrentOps.h"
#include "llmmem/Dialect/StateScan.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Support/Count.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

#define GET_OP_CLASSES
#include "llmmem/Dialect/RecurrentOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

static LogicalResult expectHeads(Operation *op, StringRef name, Value value) {
  if (tensorType(value).getRank() == 4)
    return success();
  return op->emitOpError() << "'" << name << "' has shape [" << tensorType(value).getShape()
                           << "], expected [batch, seq, heads, elements]";
}

/// Verifies what all three ops read: queries, keys, values and gates.
template <typename Scan>
static LogicalResult verifyRows(Scan op) {
  for (auto [name, value] : {std::pair<StringRef, Value>("q", op.getQ()), {"v", op.getV()}})
    if (failed(expectHeads(op, name, value)))
      return failure();
  if (failed(expectSameElement(op, {op.getQ(), op.getK(), op.getV()})))
    return failure();
  ArrayRef<int64_t> q = tensorType(op.getQ()).getShape(), v = tensorType(op.getV()).getShape();
  if (failed(expectShape(op, "k", op.getK(), q)) ||
      failed(expectShape(op, "v", op.getV(), {q[0], q[1], v[2], v[3]})))
    return failure();
  if (v[2] % q[2] != 0)
    return op.emitOpError() << "has " << v[2] << " heads and " << q[2]
                            << " groups, expected a whole number of heads for each group";
  if (!op.getScale().isFinite())
    return op.emitOpError("needs a finite scale");
  for (auto [name, gate] :
       {std::pair<StringRef, Value>("decay", op.getDecay()), {"strength", op.getStrength()}})
    if (failed(expectStatistic(op, name, gate, {q[0], q[1], v[2]}, op.getV())))
      return failure();
  return success();
}

/// Verifies the states after each chunk, too.
template <typename Scan>
static LogicalResult verifyChunks(Scan op) {
  constexpr int64_t kLongestChunk = 256; // The backward holds pairs of its tokens.
  if (failed(verifyRows(op)))
    return failure();
  const auto chunk = static_cast<int64_t>(op.getChunk());
  if (chunk < 1 || chunk > kLongestChunk)
    return op.emitOpError() << "has chunks of " << chunk << " tokens, expected 1 to "
                            << kLongestChunk;
  const StateScan scan(op);
  return expectStatistic(op, "states", op.getStates(),
                         {scan.batch, scan.chunks(chunk), scan.heads, scan.key, scan.value},
                         op.getV());
}

LogicalResult StateScanOp::verify() { return verifyChunks(*this); }

LogicalResult StateScanGradOp::verify() {
  if (failed(verifyChunks(*this)))
    return failure();
  const StateScan scan(*this);
  if (failed(expectSameElement(*this, {getQ(), getDq()})))
    return failure();
  return expectShape(*this, "dq", getDq(), {scan.batch, scan.seq, scan.heads, scan.key});
}

LogicalResult CachedScanOp::verify() {
  if (failed(verifyRows(*this)))
    return failure();
  const StateScan scan(*this);
  if (failed(expectStatistic(*this, "state", getState(),
                             {scan.batch, scan.heads, scan.key, scan.value}, getV())))
    return failure();
  return expectShape(*this, "positions", getPositions(), {scan.batch, scan.seq});
}

LogicalResult ScaleColumnsOp::verify() {
  if (failed(expectSameElement(*this, {getX(), getWeight()})))
    return failure();
  return expectShape(*this, "weight", getWeight(), {lastDim(getX())});
}

//===----------------------------------------------------------------------===//
// Cost, storage and ranks
//===----------------------------------------------------------------------===//

/// An element of the state forgets, adds a product and is read; by the delta rule also by the key.
template <typename Scan>
static Count flopsOfTokens(Scan op) {
  const StateScan scan(op);
  return Count(scan.tokens()) * scan.stateElements() * (op.getDelta() ? 7 : 5);
}

int64_t StateScanOp::getFlops() { return flopsOfTokens(*this); }
int64_t CachedScanOp::getFlops() { return flopsOfTokens(*this); }

/// Counts the products of a token with the states and its gradient, and with half of the tokens of
/// its chunk.
int64_t StateScanGradOp::getFlops() {
  const StateScan scan(*this);
  const int64_t ofState = getDelta() ? 14 : 8, ofKeys = getDelta() ? 6 : 3,
                ofValues = getDelta() ? 5 : 2;
  const Count ofPairs = Count(getChunk()) * (ofKeys * scan.key + ofValues * scan.value);
  return Count(scan.tokens()) * (Count(ofState) * scan.stateElements() + ofPairs);
}

int64_t StateScanGradOp::getWorkspaceBytes() {
  const StateScan scan(*this);
  const ScanWorkspace parts(scan, static_cast<int64_t>(getChunk()));
  return bytesOfType(tensorType(getStates()).clone({scan.batch, scan.heads, parts.size}));
}

static Count elements(Value value) { return tensorType(value).getNumElements(); }
int64_t LogisticOp::getFlops() { return 3 * elements(getX()); }
int64_t SoftplusOp::getFlops() { return 5 * elements(getX()); }
int64_t ExpOp::getFlops() { return elements(getX()); }
int64_t ScaleColumnsOp::getFlops() { return elements(getX()); }

SmallVector<unsigned> CachedScanOp::getInPlaceOperands(unsigned result) {
  if (result == 0)
    return {};
  return {getStateMutable().getOperandNumber()};
}
bool CachedScanOp::isRecomputable() { return false; }
SmallVector<unsigned> LogisticOp::getInPlaceOperands(unsigned) { return {0}; }
SmallVector<unsigned> SoftplusOp::getInPlaceOperands(unsigned) { return {0}; }
SmallVector<unsigned> ExpOp::getInPlaceOperands(unsigned) { return {0}; }
SmallVector<unsigned> ScaleColumnsOp::getInPlaceOperands(unsigned) { return {0}; }

// A rank has some of the heads, and whole sequences.
static constexpr StringLiteral kScanned = "b S h K, b S h K, b S h V, b S h, b S h";
std::string StateScanOp::getShardingRule() { return (kScanned + " -> b S h V, b C h K V").str(); }
std::string CachedScanOp::getShardingRule() {
  return (kScanned + ", b h K V, b S -> b S h V, b h K V").str();
}
std::string LogisticOp::getShardingRule() { return "... -> ..."; }
std::string SoftplusOp::getShardingRule() { return "... -> ..."; }
std::string ExpOp::getShardingRule() { return "... -> ..."; }
std::string ScaleColumnsOp::getShardingRule() { return "... o, o -> ... o"; }

//===----------------------------------------------------------------------===//
// Differentiation
//===----------------------------------------------------------------------===//

/// Adds what the heads of a group contribute to the gradient of their query or key.
static Value sumOfGroups(OpBuilder &builder, Location loc, Value gradient, RankedTensorType type) {
  if (gradient.getType() == type)
    return gradient;
  ArrayRef<int64_t> shape = type.getShape();
  const int64_t heads = tensorType(gradient).getDimSize(2) / shape[2];
  auto grouped =
      RankedTensorType::get({shape[0], shape[1], shape[2], heads, shape[3]}, type.getElementType());
  return SumHeadsOp::create(builder, loc, type, ReshapeOp::create(builder, loc, grouped, gradient));
}

LogicalResult StateScanOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                    OperandGradients operandGradients) {
  if (failed(expectFirstResultOnly(*this, resultGradients)))
    return failure();
  const StateScan scan(*this);
  auto ofHeads = RankedTensorType::get({scan.batch, scan.seq, scan.heads, scan.key},
                                       getQ().getType().getElementType());
  auto gradient = StateScanGradOp::create(
      builder, getLoc(), ofHeads, ofHeads, getV().getType(), getDecay().getType(),
      getStrength().getType(), getQ(), getK(), getV(), getDecay(), getStrength(), getStates(),
      resultGradients[0], getDeltaAttr(), getScaleAttr(), getChunkAttr());
  for (auto [number, part] : llvm::enumerate(gradient.getResults()))
    if (active[number])
      operandGradients[number] =
          sumOfGroups(builder, getLoc(), part, tensorType(getOperand(number)));
  return success();
}

/// y' = y (1 - y), and 1 - y is the logistic of -x.
Value LogisticOp::buildGradient(OpBuilder &builder, Value dy) {
  Type type = getX().getType();
  Value negative = ScaleOp::create(builder, getLoc(), type, getX(), builder.getF64FloatAttr(-1.0));
  Value rest = LogisticOp::create(builder, getLoc(), type, negative);
  Value slope = MulOp::create(builder, getLoc(), type, getY(), rest);
  return MulOp::create(builder, getLoc(), type, dy, slope);
}

Value SoftplusOp::buildGradient(OpBuilder &builder, Value dy) {
  Value slope = LogisticOp::create(builder, getLoc(), getX().getType(), getX());
  return MulOp::create(builder, getLoc(), getX().getType(), dy, slope);
}

Value ExpOp::buildGradient(OpBuilder &builder, Value dy) {
  return MulOp::create(builder, getLoc(), getX().getType(), dy, getY());
}

LogicalResult ScaleColumnsOp::buildVJP(OpBuilder &builder, Gradients resultGradients, Flags active,
                                       OperandGradients operandGradients) {
  Value dy = resultGradients[0];
  if (active[1]) {
    Value products = MulOp::create(builder, getLoc(), dy.getType(), getX(), dy);
    operandGradients[1] = SumRowsOp::create(builder, getLoc(), getWeight().getType(), products,
                                            /*into=*/Value());
  }
  if (active[0])
    operandGradients[0] = ScaleColumnsOp::create(builder, getLoc(), dy.getType(), dy, getWeight());
  return success();
}
