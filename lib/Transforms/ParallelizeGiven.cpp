//===- ParallelizeGiven.cpp - Values with a given split --------------------===//
//
// A value that an op gives in one sharding becomes what `llm.sharding` on the op says: parts are
// gathered or exchanged, and a whole is cut into parts.
//
//===----------------------------------------------------------------------===//

#include "Parallelizer.h"
#include "llmmem/Analysis/OpFacts.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace llmmem;

namespace {
/// Says what leads from the sharding that a value has to the one that is given: a dimension that
/// becomes whole, one that is split, or both.
struct Conversion {
  std::optional<unsigned> from, to;
  Axes axes;
  bool isPossible = true;

  Conversion(const Sharding &has, const Sharding &given) {
    for (auto [number, before, after] : llvm::enumerate(has.dimensions, given.dimensions)) {
      if (before == after)
        continue;
      isPossible &= before.isWhole() || after.isWhole();
      std::optional<unsigned> &place = after.isWhole() ? from : to;
      isPossible &= !place && before.pieces.empty() && after.pieces.empty() && !before.padded;
      place = number;
    }
    if (from)
      axes = has.dimensions[*from].axes;
    if (to)
      isPossible &= !from || axes == given.dimensions[*to].axes;
    if (to && !from)
      axes = given.dimensions[*to].axes;
  }
};
} // namespace

/// Converts `value` to the sharding that the user has given. All later readers read what `convert`
/// makes.
LogicalResult Parallelizer::convert(Value value, ValueSharding state, const Sharding &given) {
  Conversion conversion(state.sharding, given);
  auto [from, to, axes, isPossible] = conversion;
  if (!from && !to)
    return success();
  if (!isPossible)
    return emitError(value.getLoc())
           << "'" << getName(value) << "' is split as " << shardings.attributeOf(state.sharding)
           << ", and no exchange of its ranks makes the given " << shardings.attributeOf(given)
           << " of that; give a sharding that has one dimension more whole, or another one split";
  if (!from && !reader.canTakePart(state, axes))
    return emitError(value.getLoc())
           << "'" << getName(value) << "' is whole on each rank of " << axes.front().getValue()
           << " as a copy of its own, which has no part of one gradient; give "
           << shardings.attributeOf(given) << " to what the copies are made from";
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  if (to && failed(expectDivides(value, *to, shape[*to], axes.front(), shardings.ranksOf(axes))))
    return failure();
  if (from)
    shape[*from] *= shardings.ranksOf(axes);
  if (to)
    shape[*to] /= shardings.ranksOf(axes);
  Type result = type.clone(shape);
  ArrayAttr group = shardings.arrayOf(axes);
  Operation *other;
  if (from && to) {
    other = llm::AllToAllOp::create(builder, value.getLoc(), result, value, group, *to, *from);
  } else if (from) {
    addTo(state.own, axes);
    other = llm::AllGatherOp::create(builder, value.getLoc(), result, value,
                                     /*destination=*/Value(), group, *from);
  } else {
    other = llm::PartOp::create(builder, value.getLoc(), result, value, group, *to);
  }
  annotateOp(other, getName(value) + ".given", value.getDefiningOp());
  value.replaceAllUsesExcept(other->getResult(0), other);
  state.sharding.dimensions = given.dimensions;
  return shardings.set(other->getResult(0), state);
}
