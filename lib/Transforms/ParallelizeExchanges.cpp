//===- ParallelizeExchanges.cpp - What ranks exchange between ops ----------===//
//
// Operands become what an op can read, and results what their readers expect: gathers, copies and
// sums over ranks.
//
//===----------------------------------------------------------------------===//

#include "Parallelizer.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

void llmmem::addTo(Axes &axes, ArrayRef<StringAttr> more) {
  for (StringAttr axis : more)
    if (!llvm::is_contained(axes, axis))
      axes.push_back(axis);
}

void llmmem::removeFrom(Axes &axes, ArrayRef<StringAttr> others) {
  llvm::erase_if(axes, [&](StringAttr axis) { return llvm::is_contained(others, axis); });
}

void llmmem::annotateOp(Operation *op, const Twine &name, Operation *neighbour) {
  op->setAttr(LlmDialect::kName, StringAttr::get(op->getContext(), name));
  if (Attribute block = neighbour ? neighbour->getAttr(LlmDialect::kBlock) : Attribute())
    op->setAttr(LlmDialect::kBlock, block);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

SmallVector<ValueSharding> Parallelizer::operandsOf(Operation *op) const {
  SmallVector<ValueSharding> operands;
  for (Value operand : op->getOperands())
    operands.push_back(shardings.of(operand));
  return operands;
}

/// Gathers all of `dimension`, for a reader that has parts of something else on the same axes. All
/// later readers read the same value.
Value Parallelizer::gathered(Operation *reader, Value value, unsigned dimension) {
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

Value Parallelizer::replicaOf(Operation *reader, Value value, const Axes &axes) {
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

/// Returns all of `from`, and a part of `to` instead.
Value Parallelizer::exchanged(Operation *reader, Value value, unsigned from, unsigned to) {
  ValueSharding state = shardings.of(value);
  const Axes axes = state.sharding.dimensions[from].axes;
  const int64_t ranks = shardings.ranksOf(axes);
  std::swap(state.sharding.dimensions[from], state.sharding.dimensions[to]);
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[from] *= ranks;
  shape[to] /= ranks;
  OpBuilder builder(reader);
  auto other = llm::AllToAllOp::create(builder, value.getLoc(), type.clone(shape), value,
                                       shardings.arrayOf(axes), to, from);
  annotateOp(other, getName(value) + ".exchanged", reader);
  (void)shardings.set(other.getY(), state); // it has this type
  return other.getY();
}

/// Exchanges what must be whole in a dimension that ranks have parts of, and may be split in
/// another one: positions for heads after a norm of all heads.
LogicalResult Parallelizer::readWholeDimensions(Operation *op) {
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
      for (size_t to = dimensions.size(); to-- > 0;)
        if (const FactorDimension &other = dimensions[to];
            !other.mustBeWhole() && other.factors.size() == 1 &&
            sharding.dimensions[to].isWhole() &&
            sharding.wholeSizes[to] % shardings.ranksOf(Axes(split.axes)) == 0) {
          op->setOperand(number, exchanged(op, operand, from, to));
          break;
        }
    }
  }
  return success();
}

/// An axis splits one factor of an op. Parameters keep theirs, so that no rank has all of a
/// product's weight; what else is split over the axis is gathered.
LogicalResult Parallelizer::readOnOneFactor(Operation *op) {
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
      const DimensionSharding split = shardings.of(operand).sharding.dimensions[place];
      bool isElsewhere = llvm::any_of(split.axes, [&](StringAttr axis) {
        auto found = factorOf.find(axis);
        return found != factorOf.end() && found->second != dimension.factors.front();
      });
      if (isElsewhere && !ofParameters.contains(operand) && !split.padded && split.pieces.empty())
        op->setOperand(number, gathered(op, operand, place));
    }
  return success();
}

/// An op that reads a shared value together with what ranks have parts of reads it as each rank's
/// own copy, whose gradients are summed. Together with copies alone, nobody could tell what its
/// gradient is.
LogicalResult Parallelizer::readAsOwn(Operation *op) {
  if (strategy.inference) // without gradients nothing tells them apart
    return success();
  SmallVector<ValueSharding> operands = operandsOf(op);
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
LogicalResult Parallelizer::readParts(Operation *op) {
  FailureOr<ShardingRule> rule = ShardingRule::of(op);
  if (failed(rule))
    return failure();
  llvm::StringMap<DimensionSharding> splits = splitFactors(*rule, operandsOf(op));
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

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Returns the dimension of which each rank gets its part of a sum: the one that the user has given
/// or, with sequence parallelism, the positions.
std::optional<unsigned> Parallelizer::dimensionToScatter(OpResult result,
                                                         const ValueSharding &state,
                                                         const Sharding *given) const {
  ArrayRef<StringAttr> axes = state.sharding.partial;
  if (given) {
    for (auto [number, split] : llvm::enumerate(given->dimensions))
      if (ArrayRef(split.axes) == axes && split.pieces.empty())
        return number;
    return std::nullopt;
  }
  int64_t rank = cast<RankedTensorType>(result.getType()).getRank(), positions = rank - 2;
  if (!strategy.sequenceParallel || axes != ArrayRef(tensorAxis) || rank < 3 ||
      !state.sharding.dimensions[positions].isWhole())
    return std::nullopt;
  return positions;
}

/// Sums what each rank has an addend of: whole on all ranks, or a part on each.
FailureOr<Value> Parallelizer::sumOverRanks(OpBuilder &builder, OpResult result,
                                            ValueSharding &state, const Sharding *given) {
  std::optional<unsigned> dimension = dimensionToScatter(result, state, given);
  Axes axes = state.sharding.partial;
  state.sharding.partial.clear();
  if (!dimension) {
    addTo(state.shared, axes);
    return Value(
        llm::AllReduceOp::create(builder, result.getLoc(), result, shardings.arrayOf(axes)));
  }
  auto type = cast<RankedTensorType>(result.getType());
  int64_t ranks = shardings.ranksOf(axes);
  SmallVector<int64_t> shape(type.getShape());
  if (shape[*dimension] % ranks != 0)
    return emitError(result.getLoc())
           << "'" << getName(result) << "' has a sequence of " << shape[*dimension]
           << ", which does not divide over " << axes.front().getValue() << " = " << ranks
           << "; import the model with a --seq that is a multiple of " << ranks;
  shape[*dimension] /= ranks;
  state.sharding.dimensions[*dimension].axes = axes;
  return Value(llm::ReduceScatterOp::create(builder, result.getLoc(), type.clone(shape), result,
                                            shardings.arrayOf(axes), *dimension));
}

/// Lets all readers read the join of what ranks have of `result`.
FailureOr<Value> Parallelizer::joinParts(OpResult result, ValueSharding &state,
                                         const Sharding *given) {
  Operation *op = result.getOwner();
  Operation *next = op->getNextNode();
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  ArrayAttr axes = shardings.arrayOf(state.sharding.partial);
  Value joined = cast<ShardingOpInterface>(op).joinPartial(builder, result, axes);
  if (joined) {
    state.sharding.partial.clear();
  } else {
    FailureOr<Value> sum = sumOverRanks(builder, result, state, given);
    if (failed(sum))
      return failure();
    joined = *sum;
    annotateOp(joined.getDefiningOp(), getName(result) + ".sum", op);
  }
  llvm::SmallPtrSet<Operation *, 4> built;
  for (Operation *other = op->getNextNode(); other != next; other = other->getNextNode()) {
    built.insert(other);
    for (Value value : other->getResults())
      if (failed(shardings.set(value, shardings.of(value))))
        return failure();
  }
  result.replaceUsesWithIf(joined, [&](OpOperand &use) { return !built.contains(use.getOwner()); });
  if (failed(shardings.set(joined, state)))
    return failure();
  return joined;
}

LogicalResult Parallelizer::setResult(OpResult result, ValueSharding state) {
  std::optional<Sharding> given;
  Operation *op = result.getOwner();
  auto attribute = op->getAttrOfType<llm::ShardingAttr>(LlmDialect::kSharding);
  if (attribute && result.getResultNumber() == 0) {
    FailureOr<Sharding> read = shardings.read(attribute, result);
    if (failed(read))
      return failure();
    given = std::move(*read);
    op->removeAttr(LlmDialect::kSharding);
  }
  ValueSharding own = state;
  own.sharding.partial.clear();
  if (failed(shardings.set(result, own)))
    return failure();
  Value value = result;
  if (!state.sharding.partial.empty()) {
    FailureOr<Value> joined = joinParts(result, state, given ? &*given : nullptr);
    if (failed(joined))
      return failure();
    value = *joined;
  }
  return given ? convert(value, state, *given) : success();
}

//===----------------------------------------------------------------------===//
// What a step of inference returns
//===----------------------------------------------------------------------===//

/// Returns all of what ranks have parts of, without what pads the last part.
FailureOr<Value> Parallelizer::wholeOfParts(Value value) {
  ValueSharding state = shardings.of(value);
  OpBuilder builder(body.getTerminator());
  const std::string name = getName(value);
  Operation *maker = value.getDefiningOp();
  for (auto [number, split] : llvm::enumerate(state.sharding.dimensions)) {
    if (split.isWhole())
      continue;
    auto type = cast<RankedTensorType>(value.getType());
    if (!split.pieces.empty())
      return emitError(value.getLoc())
             << "'" << name << "' is returned, and ranks have a part of each of "
             << split.pieces.size() << " pieces of dimension " << number
             << "; return what llm.split makes of it";
    SmallVector<int64_t> shape(type.getShape());
    shape[number] *= shardings.ranksOf(split.axes);
    value =
        llm::AllGatherOp::create(builder, value.getLoc(), type.clone(shape), value,
                                 /*destination=*/Value(), shardings.arrayOf(split.axes), number);
    annotateOp(value.getDefiningOp(), name + ".gathered", maker);
    if (shape[number] == state.sharding.wholeSizes[number])
      continue;
    shape[number] = state.sharding.wholeSizes[number];
    value = llm::SliceOp::create(builder, value.getLoc(), type.clone(shape), value, /*begin=*/0);
    annotateOp(value.getDefiningOp(), name + ".unpadded", maker);
  }
  return value;
}

/// Lets every rank return what the whole step does, except for caches, of which it keeps its heads.
LogicalResult Parallelizer::gatherResults() {
  llvm::SmallDenseSet<int64_t> donated;
  for (BlockArgument argument : body.getArguments())
    if (auto result =
            loss.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), LlmDialect::kDonated))
      donated.insert(result.getInt());
  for (OpOperand &result : body.getTerminator()->getOpOperands()) {
    if (donated.contains(result.getOperandNumber()))
      continue;
    FailureOr<Value> whole = wholeOfParts(result.get());
    if (failed(whole))
      return failure();
    result.set(*whole);
  }
  return success();
}
