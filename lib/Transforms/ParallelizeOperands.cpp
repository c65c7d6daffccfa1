//===- ParallelizeOperands.cpp - What ranks exchange to read an op --------===//
//
// Operands become what an op can read: gathers, parts, and copies whose gradients are summed.
//
//===----------------------------------------------------------------------===//

#include "ParallelizeOperands.h"
#include "Parallelizer.h"
#include "llmmem/Analysis/OpFacts.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace llmmem;

//===----------------------------------------------------------------------===//
// Values that are made
//===----------------------------------------------------------------------===//

LogicalResult llmmem::expectDivides(Value value, unsigned dimension, int64_t size, StringAttr axis,
                                    int64_t ranks) {
  if (size % ranks == 0)
    return success();
  return emitError(value.getLoc())
         << "'" << getName(value) << "' has " << size << " in dimension " << dimension
         << ", which does not divide over " << axis.getValue() << " = " << ranks
         << "; take a number of ranks that divides it";
}

/// What is one value for all ranks has one gradient, which its parts make together. Of copies, each
/// rank has a gradient of its own. A step of inference has none.
bool OperandReader::canTakePart(const ValueSharding &state, const Axes &axes) const {
  return llvm::none_of(axes, [&](StringAttr axis) {
    bool isCopy = !inference && llvm::is_contained(state.own, axis);
    return isCopy || state.isSplitOver(axis);
  });
}

/// Gathers all of `dimension`, for a reader that has parts of something else on the same axes. All
/// later readers read the same value.
Value OperandReader::gathered(Operation *reader, Value value, unsigned dimension) {
  Value &known = gathers[{value, dimension}];
  if (known)
    return known;
  ValueSharding state = shardings.of(value);
  Axes axes = state.sharding.dimensions[dimension].axes;
  state.sharding.dimensions[dimension] = {};
  addTo(state.own, axes);
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dimension] *= shardings.ranksOf(axes);
  OpBuilder builder(reader);
  known = llm::AllGatherOp::create(builder, value.getLoc(), type.clone(shape), value,
                                   /*destination=*/Value(), shardings.arrayOf(axes), dimension);
  annotateOp(known.getDefiningOp(), getName(value) + ".gathered", reader);
  (void)shardings.set(known, state); // it has this type
  return known;
}

Value OperandReader::replicaOf(Operation *reader, Value value, const Axes &axes) {
  ArrayAttr group = shardings.arrayOf(axes);
  Value &known = replicas[{value, group}];
  if (known)
    return known;
  ValueSharding state = shardings.of(value);
  removeFrom(state.shared, axes);
  addTo(state.own, axes);
  OpBuilder builder(reader);
  known = llm::ReplicaOp::create(builder, value.getLoc(), value, group);
  annotateOp(known.getDefiningOp(), getName(value) + ".replica", reader);
  if (ofParameters.contains(value))
    ofParameters.insert(known);
  (void)shardings.set(known, state); // it has this type
  return known;
}

/// Moves `axes`, the innermost of those that split `from`, to `to`. All later readers read the same
/// value.
Value OperandReader::exchanged(Operation *reader, Value value, unsigned from, unsigned to,
                               const Axes &axes) {
  ArrayAttr group = shardings.arrayOf(axes);
  Value &known = exchanges[{value, from, to, group}];
  if (known)
    return known;
  ValueSharding state = shardings.of(value);
  const int64_t ranks = shardings.ranksOf(axes);
  removeFrom(state.sharding.dimensions[from].axes, axes);
  llvm::append_range(state.sharding.dimensions[to].axes, axes);
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[from] *= ranks;
  shape[to] /= ranks;
  OpBuilder builder(reader);
  known =
      llm::AllToAllOp::create(builder, value.getLoc(), type.clone(shape), value, group, to, from);
  annotateOp(known.getDefiningOp(), getName(value) + ".exchanged", reader);
  (void)shardings.set(known, state); // it has this type
  return known;
}

/// Returns this rank's part along `dimension`, made once for all later readers. A part of a fill is
/// a smaller fill.
FailureOr<Value> OperandReader::partOf(Operation *reader, Value value, unsigned dimension,
                                       const Axes &axes) {
  ArrayAttr group = shardings.arrayOf(axes);
  Value &known = partsOfWhole[{value, dimension, group}];
  if (known)
    return known;
  auto type = cast<RankedTensorType>(value.getType());
  int64_t ranks = shardings.ranksOf(axes);
  SmallVector<int64_t> shape(type.getShape());
  if (failed(expectDivides(value, dimension, shape[dimension], axes.front(), ranks)))
    return failure();
  shape[dimension] /= ranks;
  ValueSharding state = shardings.of(value);
  llvm::append_range(state.sharding.dimensions[dimension].axes, axes);
  OpBuilder builder(reader);
  if (auto fill = value.getDefiningOp<llm::FillOp>())
    known = llm::FillOp::create(builder, value.getLoc(), type.clone(shape), fill.getValueAttr());
  else
    known =
        llm::PartOp::create(builder, value.getLoc(), type.clone(shape), value, group, dimension);
  annotateOp(known.getDefiningOp(), getName(value) + ".part", reader);
  if (ofParameters.contains(value))
    ofParameters.insert(known);
  if (failed(shardings.set(known, state)))
    return failure();
  return known;
}

//===----------------------------------------------------------------------===//
// What an op reads
//===----------------------------------------------------------------------===//

/// Returns the dimension that takes over the axes of one that must be whole: one that other
/// operands have split so, as the tokens that experts give back are, or else the last that may be
/// split.
static std::optional<unsigned> dimensionToSplit(const ShardingRule &rule, unsigned operand,
                                                ArrayRef<ValueSharding> operands, const Axes &axes,
                                                int64_t ranks) {
  const Sharding &sharding = operands[operand].sharding;
  ArrayRef<FactorDimension> dimensions = rule.operands[operand];
  std::optional<unsigned> last;
  for (size_t to = dimensions.size(); to-- > 0;) {
    if (dimensions[to].mustBeWhole() || dimensions[to].factors.size() > 1)
      continue;
    Axes both = sharding.dimensions[to].axes;
    llvm::append_range(both, axes);
    for (auto [others, other] : llvm::zip_equal(rule.operands, operands))
      for (auto [dimension, split] : llvm::zip_equal(others, other.sharding.dimensions))
        if (dimension.factors == dimensions[to].factors && split.axes == both)
          return to;
    if (!last && sharding.dimensions[to].isWhole() && sharding.wholeSizes[to] % ranks == 0)
      last = to;
  }
  return last;
}

/// Exchanges what must be whole in a dimension that ranks have parts of, and may be split in
/// another one: positions for heads after a norm of all heads.
LogicalResult OperandReader::readWholeDimensions(Operation *op) {
  FailureOr<ShardingRule> rule = ShardingRule::of(op);
  if (failed(rule))
    return failure();
  for (auto [number, dimensions] : llvm::enumerate(rule->operands)) {
    Value operand = op->getOperand(number);
    const Sharding sharding = shardings.of(operand).sharding;
    for (auto [from, dimension] : llvm::enumerate(dimensions)) {
      const DimensionSharding split = sharding.dimensions[from];
      if (!dimension.mustBeWhole() || split.isWhole() || split.padded || !split.pieces.empty())
        continue;
      const Axes axes = split.axes;
      if (std::optional<unsigned> to = dimensionToSplit(*rule, number, shardings.ofOperands(op),
                                                        axes, shardings.ranksOf(axes)))
        op->setOperand(number, exchanged(op, operand, from, *to, axes));
    }
  }
  return success();
}

/// Returns the whole dimension of this factor, where there is one.
static std::optional<unsigned> findWhole(ArrayRef<FactorDimension> dimensions,
                                         const Sharding &sharding, StringRef factor) {
  for (auto [number, dimension] : llvm::enumerate(dimensions))
    if (dimension.factors.size() == 1 && dimension.factors.front() == factor &&
        sharding.dimensions[number].isWhole())
      return number;
  return std::nullopt;
}

/// An axis splits one factor of an op. Parameters keep theirs, so that no rank has all of a
/// product's weight. What else is split over the axis is exchanged for a part of that factor, as
/// tokens are for the rows of a rank's experts, or gathered where it has no such dimension.
LogicalResult OperandReader::readOnOneFactor(Operation *op) {
  FailureOr<ShardingRule> rule = ShardingRule::of(op);
  if (failed(rule))
    return failure();
  llvm::DenseMap<StringAttr, std::string> factorOf; // of parameters
  for (auto [number, dimensions] : llvm::enumerate(rule->operands)) {
    Sharding sharding = shardings.of(op->getOperand(number)).sharding;
    for (auto [place, dimension] : llvm::enumerate(dimensions))
      if (ofParameters.contains(op->getOperand(number)))
        for (StringAttr axis : sharding.dimensions[place].axes)
          factorOf.try_emplace(axis, dimension.factors.front());
  }
  for (auto [number, dimensions] : llvm::enumerate(rule->operands))
    for (auto [place, dimension] : llvm::enumerate(dimensions)) {
      Value operand = op->getOperand(number);
      const Sharding sharding = shardings.of(operand).sharding;
      const DimensionSharding split = sharding.dimensions[place];
      auto isElsewhere = [&](StringAttr axis) {
        auto found = factorOf.find(axis);
        return found != factorOf.end() && found->second != dimension.factors.front();
      };
      if (llvm::none_of(split.axes, isElsewhere) || ofParameters.contains(operand) ||
          split.padded || !split.pieces.empty())
        continue;
      const StringAttr innermost = split.axes.back();
      std::optional<unsigned> to = isElsewhere(innermost)
                                       ? findWhole(dimensions, sharding, factorOf.at(innermost))
                                       : std::nullopt;
      op->setOperand(number, to ? exchanged(op, operand, place, *to, {innermost})
                                : gathered(op, operand, place));
    }
  return success();
}

/// An op that reads a shared value together with what ranks have parts of reads it as each rank's
/// own copy, whose gradients are summed. Together with copies alone, its gradient
/// would be undefined.
LogicalResult OperandReader::readAsOwn(Operation *op) {
  if (inference) // without gradients nothing tells them apart
    return success();
  SmallVector<ValueSharding> operands = shardings.ofOperands(op);
  Axes split, own;
  for (const ValueSharding &operand : operands) {
    addTo(split, operand.sharding.axes());
    addTo(own, operand.own);
  }
  for (auto [number, operand] : llvm::enumerate(operands)) {
    Axes copied;
    for (StringAttr axis : operand.shared) {
      if (llvm::is_contained(split, axis))
        copied.push_back(axis);
      else if (llvm::is_contained(own, axis))
        return op->emitError()
               << "'" << op->getName()
               << "' reads a sum over the ranks together with a parameter, whose gradient would be "
                  "counted once a rank; let it read what is split";
    }
    if (!copied.empty())
      op->setOperand(number, replicaOf(op, op->getOperand(number), copied));
  }
  return success();
}

/// Returns the splits of the factors of an op, where neither pieces nor padding make parts unequal.
static llvm::StringMap<DimensionSharding> splitFactors(const ShardingRule &rule,
                                                       ArrayRef<ValueSharding> operands) {
  llvm::StringMap<DimensionSharding> splits;
  for (auto [dimensions, operand] : llvm::zip_equal(rule.operands, operands))
    for (auto [dimension, split] : llvm::zip_equal(dimensions, operand.sharding.dimensions))
      if (!split.isWhole() && !split.padded && split.pieces.empty() &&
          dimension.factors.size() == 1)
        splits.try_emplace(dimension.factors.front(), split);
  return splits;
}

/// An op that reads parts reads the same dimension of what is one value for all ranks in parts,
/// too.
LogicalResult OperandReader::readParts(Operation *op) {
  FailureOr<ShardingRule> rule = ShardingRule::of(op);
  if (failed(rule))
    return failure();
  llvm::StringMap<DimensionSharding> splits = splitFactors(*rule, shardings.ofOperands(op));
  for (auto [number, dimensions] : llvm::enumerate(rule->operands))
    for (auto [place, dimension] : llvm::enumerate(dimensions)) {
      ValueSharding state = shardings.of(op->getOperand(number));
      auto split = splits.find(dimension.factors.front());
      if (dimension.factors.size() > 1 || split == splits.end() ||
          !state.sharding.dimensions[place].isWhole() || !canTakePart(state, split->second.axes))
        continue;
      FailureOr<Value> part = partOf(op, op->getOperand(number), place, split->second.axes);
      if (failed(part))
        return failure();
      op->setOperand(number, *part);
    }
  return success();
}

LogicalResult OperandReader::readSplit(Operation *op) {
  return success(succeeded(readWholeDimensions(op)) && succeeded(readOnOneFactor(op)) &&
                 succeeded(readParts(op)) && succeeded(readAsOwn(op)));
}
