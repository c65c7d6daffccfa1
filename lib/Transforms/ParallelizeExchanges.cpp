//===- ParallelizeExchanges.cpp - What ranks exchange between ops ----------===//
//
// Results become what their readers expect: sums over ranks, and all of what a step returns. What
// operands become is in ParallelizeOperands.cpp.
//
//===----------------------------------------------------------------------===//

#include "Parallelizer.h"
#include "llmmem/Analysis/OpFacts.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/SmallPtrSet.h"

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
  if (!strategy.sequenceParallel || axes != ArrayRef(meshAxes.tensor) || rank < 3 ||
      llvm::any_of(
          state.sharding.dimensions[positions].axes,
          [&](StringAttr axis) { return axis != meshAxes.context; }))
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
  addTo(state.sharding.dimensions[*dimension].axes, axes);
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
