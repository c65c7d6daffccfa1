//===- ParallelizeOperands.cpp - What ranks exchange to read an op --------===//
//
// Operands become what an op can read: gathers, parts, and copies whose gradients are summed.
//
//===----------------------------------------------------------------------===//

#include "ParallelizeOperands.h"
#include "Parallelizer.h"
#include "llmmem/Analysis/OpFacts.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/TypeUtilities.h"
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

/// Returns whether `axes` are the last, innermost, ones of a split.
static bool areLast(const DimensionSharding &split, const Axes &axes) {
  return axes.size() <= split.axes.size() &&
         std::equal(axes.rbegin(), axes.rend(), split.axes.rbegin());
}

/// Gathers the last `axes` of `dimension`, for a reader that has parts of something else on the
/// same axes. All later readers read the same value.
Value OperandReader::gathered(Operation *reader, Value value, unsigned dimension,
                              const Axes &axes) {
  ArrayAttr group = shardings.arrayOf(axes);
  Value &known = gathers[{value, dimension, group}];
  if (known)
    return known;
  ValueSharding state = shardings.of(value);
  removeFrom(state.sharding.dimensions[dimension].axes, axes);
  addTo(state.own, axes);
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dimension] *= shardings.ranksOf(axes);
  OpBuilder builder(reader);
  known = llm::AllGatherOp::create(builder, value.getLoc(), type.clone(shape), value,
                                   /*destination=*/Value(), group, dimension);
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
  addTo(state.sharding.dimensions[to].axes, axes);
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
/// split further. The latter is not the batch, whose sequences need not meet.
static std::optional<unsigned> dimensionToSplit(const ValueShardings &shardings,
                                                const ShardingRule &rule, unsigned operand,
                                                ArrayRef<ValueSharding> operands,
                                                const Axes &axes) {
  const Sharding &sharding = operands[operand].sharding;
  ArrayRef<FactorDimension> dimensions = rule.operands[operand];
  std::optional<unsigned> last;
  for (unsigned to = dimensions.size(); to-- > 0;) {
    const DimensionSharding &known = sharding.dimensions[to];
    if (dimensions[to].mustBeWhole() || dimensions[to].factors.size() > 1 || known.padded ||
        !known.pieces.empty())
      continue;
    Axes both(known.axes);
    addTo(both, axes);
    for (auto [others, other] : llvm::zip_equal(rule.operands, operands))
      for (auto [dimension, split] : llvm::zip_equal(others, other.sharding.dimensions))
        if (dimension.factors == dimensions[to].factors && split.axes == both)
          return to;
    if (!last && to > 0 && sharding.wholeSizes[to] % shardings.ranksOf(both) == 0)
      last = to;
  }
  return last;
}

/// Exchanges what must be whole in a dimension that ranks have parts of, and may be split in
/// another one: positions for heads before attention over cp, or after a norm of all heads. Next to
/// that, integers, which have no gradient, are gathered: the positions of packed rows.
LogicalResult OperandReader::readWholeDimensions(Operation *op) {
  FailureOr<ShardingRule> rule = ShardingRule::of(op);
  if (failed(rule))
    return failure();
  bool isExchanged = false;
  for (auto [number, dimensions] : llvm::enumerate(rule->operands))
    for (auto [from, dimension] : llvm::enumerate(dimensions)) {
      Value operand = op->getOperand(number);
      const Sharding sharding = shardings.of(operand).sharding;
      const DimensionSharding split = sharding.dimensions[from];
      if (!dimension.mustBeWhole() || split.isWhole() || split.padded || !split.pieces.empty())
        continue;
      const Axes axes(split.axes);
      if (std::optional<unsigned> to =
              dimensionToSplit(shardings, *rule, number, shardings.ofOperands(op), axes)) {
        op->setOperand(number, exchanged(op, operand, from, *to, axes));
        isExchanged = true;
      } else if (isExchanged && isa<IntegerType>(getElementTypeOrSelf(operand.getType()))) {
        op->setOperand(number, gathered(op, operand, from, axes));
      }
    }
  return success();
}

/// Is the dimension of positions in what follows from tokens.
static constexpr unsigned kPositions = 1;

/// Returns whether an op that reads the part of a factor of `operand` which cp splits needs the
/// positions of cp instead: it sums over the factor, reads something that has all of it, or parts
/// of positions.
static bool needsPositions(const ShardingRule &rule, ArrayRef<ValueSharding> operands,
                           unsigned operand, StringRef factor, StringAttr axis) {
  if (!rule.isInResults(factor))
    return true;
  for (auto [number, dimensions] : llvm::enumerate(rule.operands))
    for (auto [place, dimension] : llvm::enumerate(dimensions)) {
      const DimensionSharding &split = operands[number].sharding.dimensions[place];
      const bool isSplit = llvm::is_contained(split.axes, axis);
      const bool isFactor = dimension.factors.front() == factor;
      if (number != operand && isSplit != isFactor)
        return true;
    }
  return false;
}

/// After attention, exchanges the heads that ranks of cp have for positions again, where the op
/// cannot go on with heads.
LogicalResult OperandReader::readPositions(Operation *op) {
  if (!contextAxis || !isa<ShardingOpInterface>(op))
    return success();
  FailureOr<ShardingRule> rule = ShardingRule::of(op);
  if (failed(rule))
    return failure();
  const Axes axes = {contextAxis};
  for (auto [number, dimensions] : llvm::enumerate(rule->operands)) {
    SmallVector<ValueSharding> operands = shardings.ofOperands(op);
    const Sharding &sharding = operands[number].sharding;
    if (dimensions.size() <= kPositions + 1 || dimensions[kPositions].mustBeWhole() ||
        llvm::is_contained(sharding.dimensions[kPositions].axes, contextAxis))
      continue;
    for (unsigned from = kPositions + 1; from < dimensions.size(); ++from)
      if (areLast(sharding.dimensions[from], axes) &&
          needsPositions(*rule, operands, number, dimensions[from].factors.front(), contextAxis)) {
        op->setOperand(number, exchanged(op, op->getOperand(number), from, kPositions, axes));
        break;
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
      Axes elsewhere(split.axes);
      llvm::erase_if(elsewhere, [&](StringAttr axis) {
        auto found = factorOf.find(axis);
        return found == factorOf.end() || found->second == dimension.factors.front();
      });
      if (elsewhere.empty() || !areLast(split, elsewhere) || ofParameters.contains(operand) ||
          split.padded || !split.pieces.empty())
        continue;
      std::optional<unsigned> to;
      if (elsewhere.size() == 1)
        to = findWhole(dimensions, sharding, factorOf.at(elsewhere.front()));
      op->setOperand(number, to ? exchanged(op, operand, place, *to, elsewhere)
                                : gathered(op, operand, place, elsewhere));
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
