//===- LlmExperts.cpp - Mixtures of experts: what is valid, costs and splits ===//

#include "LlmVerify.h"
#include "llmmem/Dialect/ElementTypes.h"
#include "llmmem/Dialect/FewerBits.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Support/Count.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

//===----------------------------------------------------------------------===//
// Shared checks
//===----------------------------------------------------------------------===//

/// `table` must have a row of k numbers for each row of `rows`.
static LogicalResult expectRows(Operation *op, StringRef name, Value table, Value rows) {
  if (failed(expectRank(op, name, table, 1)))
    return failure();
  SmallVector<int64_t> shape(leadingDims(rows));
  shape.push_back(lastDim(table));
  return expectShape(op, name, table, shape);
}

/// Tokens must choose at least one of the experts and at most all.
static LogicalResult expectChoices(Operation *op, Value experts, Value logits) {
  if (failed(expectRows(op, "experts", experts, logits)))
    return failure();
  if (lastDim(experts) <= lastDim(logits))
    return success();
  return op->emitOpError() << "chooses " << lastDim(experts) << " of " << lastDim(logits)
                           << " experts, expected at most all of them";
}

/// The tables must be [batch, seq, k] and [expert, batch, capacity] of one batch.
static LogicalResult expectPlaces(Operation *op, Value places, Value choices) {
  if (tensorType(places).getRank() != 3)
    return op->emitOpError() << "needs three dimensions of choices, [batch, seq, k], and has ["
                             << tensorType(places).getShape() << "]";
  if (tensorType(choices).getRank() == 3 &&
      tensorType(choices).getDimSize(1) == tensorType(places).getDimSize(0))
    return success();
  return op->emitOpError() << "'choices' has shape [" << tensorType(choices).getShape()
                           << "], expected [experts, " << tensorType(places).getDimSize(0)
                           << ", capacity]";
}

/// `tokens` must be [batch, seq, width], `rows` [expert, batch, capacity, width], and the tables
/// must fit both.
static LogicalResult expectExchange(Operation *op, Value tokens, StringRef rowsName, Value rows,
                                    Value places, Value choices, Value weights) {
  if (failed(expectPlaces(op, places, choices)) ||
      failed(expectSameElement(op, {tokens, rows, weights})))
    return failure();
  ArrayRef<int64_t> shape = tensorType(places).getShape();
  ArrayRef<int64_t> ofTokens = tensorType(tokens).getShape();
  if (ofTokens.size() != 3 || ofTokens.drop_back() != shape.drop_back())
    return op->emitOpError() << "has tokens of shape [" << ofTokens << "], expected [" << shape[0]
                             << ", " << shape[1] << ", width]";
  if (weights && failed(expectShape(op, "weights", weights, shape)))
    return failure();
  SmallVector<int64_t> expected(tensorType(choices).getShape());
  expected.push_back(ofTokens.back());
  return expectShape(op, rowsName, rows, expected);
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// The kept groups must have as many experts as a token chooses.
static LogicalResult expectGroups(RouteOp op) {
  int64_t experts = lastDim(op.getLogits()), chosen = lastDim(op.getExperts());
  int64_t groups = op.getGroups(), kept = op.getKeptGroups();
  if (groups < 1 || experts % groups != 0)
    return op.emitOpError() << "has " << experts << " experts in " << groups
                            << " groups; expected groups of one size";
  if (kept < 1 || kept > groups || kept * (experts / groups) < chosen)
    return op.emitOpError() << "keeps " << kept << " of " << groups << " groups of "
                            << experts / groups << " experts, expected enough for " << chosen
                            << " choices";
  int64_t best = op.getGroupBest();
  if (best < 1 || best > experts / groups)
    return op.emitOpError() << "takes a group for its " << best << " best experts, expected 1 to "
                            << experts / groups << ", the experts of a group";
  return success();
}

LogicalResult RouteOp::verify() {
  if (failed(expectChoices(*this, getExperts(), getLogits())) || failed(expectGroups(*this)) ||
      failed(expectPositive(*this, "factor", getFactor())) ||
      failed(expectSameElement(*this, {getLogits(), getWeights()})) ||
      failed(expectShape(*this, "weights", getWeights(), tensorType(getExperts()).getShape())))
    return failure();
  if (getBias() &&
      failed(expectStatistic(*this, "bias", getBias(), {lastDim(getLogits())}, getLogits())))
    return failure();
  return expectStatistic(*this, "lse", getLse(), leadingDims(getLogits()), getLogits());
}

LogicalResult RouteGradOp::verify() {
  if (failed(expectChoices(*this, getExperts(), getLogits())) ||
      failed(expectPositive(*this, "factor", getFactor())) ||
      failed(expectSameElement(*this, {getLogits(), getDweights(), getDlogits()})) ||
      failed(expectShape(*this, "dweights", getDweights(), tensorType(getExperts()).getShape())) ||
      failed(expectShape(*this, "dlogits", getDlogits(), tensorType(getLogits()).getShape())))
    return failure();
  return expectStatistic(*this, "lse", getLse(), leadingDims(getLogits()), getLogits());
}

LogicalResult AssignPlacesOp::verify() {
  if (failed(expectShape(*this, "places", getPlaces(), tensorType(getExperts()).getShape())) ||
      failed(expectPlaces(*this, getPlaces(), getChoices())))
    return failure();
  int64_t seq = tensorType(getExperts()).getDimSize(1), capacity = lastDim(getChoices());
  if (capacity > seq)
    return emitOpError() << "gives each expert " << capacity << " places in a sequence of " << seq
                         << " tokens, expected at most one for each";
  if (lastDim(getExperts()) <= tensorType(getChoices()).getDimSize(0))
    return success();
  return emitOpError() << "has " << lastDim(getExperts()) << " choices of each token among "
                       << tensorType(getChoices()).getDimSize(0) << " experts";
}

LogicalResult CountDroppedOp::verify() {
  if (getPlaces().empty())
    return emitOpError("counts in no tensor; expected one or more");
  return success();
}

LogicalResult DispatchOp::verify() {
  return expectExchange(*this, getX(), "y", getY(), getPlaces(), getChoices(), getWeights());
}
LogicalResult CombineOp::verify() {
  return expectExchange(*this, getY(), "x", getX(), getPlaces(), getChoices(), getWeights());
}

LogicalResult CombineWeightsGradOp::verify() {
  if (failed(expectSameElement(*this, {getX(), getDy(), getDweights()})) ||
      failed(expectShape(*this, "dweights", getDweights(), tensorType(getPlaces()).getShape())))
    return failure();
  ArrayRef<int64_t> places = tensorType(getPlaces()).getShape(), x = tensorType(getX()).getShape();
  if (places.size() != 3 || x.size() != 4 || x[1] != places[0])
    return emitOpError() << "has [" << x << "] of experts and [" << places
                         << "] of choices, expected [experts, batch, capacity, width] and [batch, "
                            "seq, k]";
  return expectShape(*this, "dy", getDy(), {places[0], places[1], x[3]});
}

/// The weights of groups must be [groups, in, out], or have the last two dimensions exchanged.
static LogicalResult expectGroupWeight(Operation *op, StringRef name, Value weight,
                                       WeightLayout layout, Value x, Value y) {
  if (failed(expectRank(op, "x", x, 2)) || failed(expectSameElement(op, {x, y})))
    return failure();
  if (leadingDims(x) != leadingDims(y))
    return op->emitOpError() << "has [" << tensorType(x).getShape() << "] before the product and ["
                             << tensorType(y).getShape()
                             << "] after it: all dimensions except the last must agree";
  int64_t groups = tensorType(x).getDimSize(0), in = lastDim(x), out = lastDim(y);
  if (layout == WeightLayout::InOut)
    return expectShape(op, name, weight, {groups, in, out});
  return expectShape(op, name, weight, {groups, out, in});
}

/// If present, it must give for each row of `rows` the choice to which it belongs.
static LogicalResult expectChoicesOfRows(Operation *op, Value choices, Value rows) {
  return choices ? expectShape(op, "choices", choices, leadingDims(rows)) : success();
}

LogicalResult GroupedLinearOp::verify() {
  if (failed(expectGroupWeight(*this, "weight", getWeight(), getLayout(), getX(), getY())) ||
      failed(expectChoicesOfRows(*this, getChoices(), getX())))
    return failure();
  return expectHeld(*this, "weight", getWeight(), getScales(), getZeros(),
                    tensorType(getX()).getElementType(), kGroupStep);
}
LogicalResult GroupedWeightGradOp::verify() {
  if (failed(expectInto(*this, getInto(), getDw())) ||
      failed(expectSameElement(*this, {getX(), getDw()})))
    return failure();
  return expectGroupWeight(*this, "dw", getDw(), getLayout(), getX(), getDy());
}

/// There must be a row of the width of `rows` for each of their groups.
static LogicalResult expectGroupBias(Operation *op, StringRef name, Value bias, Value rows) {
  if (failed(expectRank(op, "rows", rows, 2)) || failed(expectSameElement(op, {rows, bias})))
    return failure();
  return expectShape(op, name, bias, {tensorType(rows).getDimSize(0), lastDim(rows)});
}

LogicalResult AddGroupBiasOp::verify() {
  if (failed(expectGroupBias(*this, "bias", getBias(), getX())))
    return failure();
  return expectChoicesOfRows(*this, getChoices(), getX());
}
LogicalResult SumGroupRowsOp::verify() {
  if (failed(expectInto(*this, getInto(), getDb())))
    return failure();
  return expectGroupBias(*this, "db", getDb(), getDy());
}

/// There must be one number for each row of `x`.
static LogicalResult expectGate(Operation *op, Value gate, Value x) {
  SmallVector<int64_t> shape(leadingDims(x));
  shape.push_back(1);
  if (failed(expectSameElement(op, {x, gate})))
    return failure();
  return expectShape(op, "gate", gate, shape);
}

LogicalResult GateRowsOp::verify() { return expectGate(*this, getGate(), getX()); }
LogicalResult GateRowsGradOp::verify() {
  if (failed(expectGate(*this, getGate(), getX())) ||
      failed(expectSameElement(*this, {getX(), getDy(), getDgate()})) ||
      failed(expectShape(*this, "dy", getDy(), tensorType(getX()).getShape())))
    return failure();
  return expectShape(*this, "dgate", getDgate(), tensorType(getGate()).getShape());
}

LogicalResult RouterLoadOp::verify() {
  int64_t experts = lastDim(getLogits());
  if (failed(expectChoices(*this, getExperts(), getLogits())) ||
      failed(expectStatistic(*this, "lse", getLse(), leadingDims(getLogits()), getLogits())) ||
      failed(expectStatistic(*this, "counts", getCounts(), {experts}, getLogits())))
    return failure();
  return expectStatistic(*this, "sums", getSums(), {experts}, getLogits());
}

LogicalResult RouterLoadGradOp::verify() {
  if (failed(expectSameElement(*this, {getLogits(), getDlogits()})) ||
      failed(expectShape(*this, "dlogits", getDlogits(), tensorType(getLogits()).getShape())) ||
      failed(expectStatistic(*this, "lse", getLse(), leadingDims(getLogits()), getLogits())))
    return failure();
  return expectStatistic(*this, "dsums", getDsums(), {lastDim(getLogits())}, getLogits());
}

/// The coefficient and the number of tokens must be possible divisors.
template <typename BalanceOp>
static LogicalResult expectBalance(BalanceOp op) {
  if (failed(expectAtLeast(op, "coefficient", op.getCoefficient(), 0.0)))
    return failure();
  if (tensorType(op.getCounts()).getRank() != 1)
    return op.emitOpError() << "'counts' has shape [" << tensorType(op.getCounts()).getShape()
                            << "], expected a number for each expert";
  if (static_cast<int64_t>(op.getTokens()) > 0)
    return success();
  return op.emitOpError() << "is of " << static_cast<int64_t>(op.getTokens())
                          << " tokens, expected 1 or more";
}

LogicalResult BalanceLossOp::verify() {
  if (failed(expectBalance(*this)) ||
      failed(expectSameElement(*this, {getCounts(), getSums(), getLoss()})))
    return failure();
  return expectShape(*this, "sums", getSums(), tensorType(getCounts()).getShape());
}
LogicalResult BalanceLossGradOp::verify() {
  if (failed(expectBalance(*this)))
    return failure();
  return expectSameElement(*this, {getCounts(), getDloss()});
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

static Count elements(Value value) { return tensorType(value).getNumElements(); }
static Count bytes(Value value) { return bytesOfType(value.getType()); }

// It takes a pass over the logits for their sum, and one for each choice.
int64_t RouteOp::getFlops() { return (3 + lastDim(getExperts())) * elements(getLogits()); }
int64_t RouteGradOp::getFlops() { return 6 * elements(getLogits()); }
// Each expert reads all choices.
int64_t AssignPlacesOp::getFlops() {
  return elements(getExperts()) * tensorType(getChoices()).getDimSize(0);
}
int64_t CountDroppedOp::getFlops() {
  Count flops;
  for (Value places : getPlaces())
    flops += elements(places);
  return flops;
}

// Rows of empty places are not read, so at most as many are read as there are choices.
static Count bytesOfExchange(Value tokens, Value rows, Value places, Value choices, Value weights) {
  Count chosen = elements(places) * (bytes(tokens) / (elements(tokens) / lastDim(tokens)));
  return smaller(chosen, bytes(rows)) + bytes(choices) + (weights ? bytes(weights) : Count());
}
int64_t DispatchOp::getFlops() { return getWeights() ? elements(getY()) : Count(); }
int64_t DispatchOp::getBytesMoved() {
  return bytesOfExchange(getX(), getY(), getPlaces(), getChoices(), getWeights()) + bytes(getY());
}
int64_t CombineOp::getFlops() { return 2 * lastDim(getPlaces()) * elements(getY()); }
int64_t CombineOp::getBytesMoved() {
  return bytesOfExchange(getY(), getX(), getPlaces(), getPlaces(), getWeights()) + bytes(getY());
}
int64_t CombineWeightsGradOp::getFlops() { return 2 * lastDim(getPlaces()) * elements(getDy()); }
int64_t CombineWeightsGradOp::getBytesMoved() {
  return bytesOfExchange(getDy(), getX(), getPlaces(), getPlaces(), getDweights()) + bytes(getDy());
}

int64_t GroupedLinearOp::getFlops() { return 2 * elements(getX()) * lastDim(getY()); }
int64_t GroupedWeightGradOp::getFlops() { return 2 * elements(getX()) * lastDim(getDy()); }

/// Libraries multiply in f32 or less.
static bool isLibraryType(Value factor) {
  return isOfLibraries(tensorType(factor).getElementType());
}
/// No library here unpacks a weight.
bool GroupedLinearOp::multipliesMatrices() { return isLibraryType(getX()) && !getScales(); }
Type GroupedLinearOp::getUnpackedType() {
  return getScales() ? getWeight().getType().getElementType() : Type();
}
bool GroupedWeightGradOp::multipliesMatrices() { return isLibraryType(getX()); }
int64_t GroupedLinearOp::getLibraryWorkspaceBytes() { return libraryWorkspaceBytes(*this); }
int64_t GroupedLinearOp::getWorkspaceBytes() { return getLibraryWorkspaceBytes(); }
int64_t GroupedWeightGradOp::getLibraryWorkspaceBytes() { return libraryWorkspaceBytes(*this); }
int64_t GroupedWeightGradOp::getWorkspaceBytes() { return getLibraryWorkspaceBytes(); }

int64_t AddGroupBiasOp::getFlops() { return elements(getX()); }
int64_t SumGroupRowsOp::getFlops() { return elements(getDy()); }
int64_t GateRowsOp::getFlops() { return elements(getX()) + 4 * elements(getGate()); }
int64_t GateRowsGradOp::getFlops() { return 2 * elements(getX()) + 6 * elements(getGate()); }
int64_t RouterLoadOp::getFlops() {
  return 3 * elements(getLogits()) + elements(getExperts()) * lastDim(getLogits());
}
int64_t RouterLoadGradOp::getFlops() { return 6 * elements(getLogits()); }
int64_t BalanceLossOp::getFlops() { return 4 * elements(getCounts()); }
int64_t BalanceLossGradOp::getFlops() { return 2 * elements(getCounts()); }

//===----------------------------------------------------------------------===//
// On shards: sequences are independent
//===----------------------------------------------------------------------===//

std::string RouteOp::getShardingRule() {
  return std::string("... E") + (getBias() ? ", E" : "") + " -> ... K, ... K, ...";
}
std::string AssignPlacesOp::getShardingRule() { return "b S K -> b S K, E b C"; }
std::string CountDroppedOp::getShardingRule() {
  std::string rule;
  for (size_t number = 0; number < getPlaces().size(); ++number)
    rule += number ? ", b S K" : "b S K";
  return rule + " -> ";
}
std::string DispatchOp::getShardingRule() {
  return std::string("b S h, b S K, E b C") + (getWeights() ? ", b S K" : "") + " -> E b C h";
}
std::string CombineOp::getShardingRule() {
  return std::string("E b C h, b S K, E b C") + (getWeights() ? ", b S K" : "") + " -> b S h";
}
/// Returns the dimensions of rows of groups except the last. Ops that multiply by weights of
/// experts name their number `experts`, which ranks of ep split; those that know of the tokens'
/// choices need all of them.
static std::string dimensionsOfRows(Value x) {
  std::string rows = "experts";
  for (int64_t dimension = 1; dimension + 1 < tensorType(x).getRank(); ++dimension)
    rows += " r" + std::to_string(dimension);
  return rows;
}
std::string GroupedLinearOp::getShardingRule() {
  std::string rows = dimensionsOfRows(getX()), choices = getChoices() ? ", " + rows : "";
  std::string weight = getLayout() == WeightLayout::InOut ? "experts i o" : "experts o i";
  if (!getScales())
    return rows + " i, " + weight + choices + " -> " + rows + " o";
  // A rank has whole rows of a weight in fewer bits as they are stored, and so whole groups.
  bool isInOut = getLayout() == WeightLayout::InOut;
  std::string in = isInOut ? "i" : "I", out = isInOut ? "O" : "o",
              row = "experts " + (isInOut ? in : out);
  return rows + " " + in + ", " + row + " " + (isInOut ? out : in) + ", " + row + " G" +
         (getZeros() ? ", " + row + " G" : "") + choices + " -> " + rows + " " + out;
}
std::string AddGroupBiasOp::getShardingRule() {
  std::string rows = dimensionsOfRows(getX());
  return rows + " o, experts o" + (getChoices() ? ", " + rows : "") + " -> " + rows + " o";
}
std::string GateRowsOp::getShardingRule() { return "... w, ... G -> ... w"; }
std::string RouterLoadOp::getShardingRule() { return "... E, ... K, ... -> E, E"; }
std::string BalanceLossOp::getShardingRule() { return "E, E -> "; }
