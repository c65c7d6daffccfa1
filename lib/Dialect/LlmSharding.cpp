//===- LlmSharding.cpp - How the forward ops run on shards -----------------===//
//
// Each line names the dimensions of operands and results by factors. A capital letter means
// unsharded, and one with ~ may be padded (Interfaces/ShardingOpInterface.h).
//
//===----------------------------------------------------------------------===//

#include "llmmem/Dialect/LlmOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

using Rule = std::string;

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// A rank has whole rows of a weight in fewer bits as they are stored, and so whole groups.
static Rule ruleOfPacked(LinearOp op) {
  bool inOut = op.getLayout() == WeightLayout::InOut;
  std::string in = inOut ? "i" : "I", out = inOut ? "O" : "o~", row = inOut ? "i" : "o~";
  return "... " + in + ", " + (inOut ? in + " " + out : out + " " + in) +
         (op.getBias() ? ", " + out : "") + ", " + row + " G" +
         (op.getZeros() ? ", " + row + " G" : "") + " -> ... " + out;
}
Rule LinearOp::getShardingRule() {
  if (getScales())
    return ruleOfPacked(*this);
  std::string weight = getLayout() == WeightLayout::InOut ? "i o~" : "o~ i";
  return "... i, " + weight + (getBias() ? ", o~" : "") + " -> ... o~";
}
Rule EmbeddingOp::getShardingRule() {
  if (!getScales())
    return "..., v~ h -> ... h";
  return std::string("..., v~ H, v~ G") + (getZeros() ? ", v~ G" : "") + " -> ... H";
}
Rule AddPositionsOp::getShardingRule() { return "... s h, T h -> ... s h"; }
Rule AddBiasOp::getShardingRule() { return "... o, o -> ... o"; }
Rule LayerNormOp::getShardingRule() { return "... H, H, H -> ... H, ..., ..."; }
Rule RmsNormOp::getShardingRule() { return "... H, H -> ... H, ..."; }
// Widths of queries, keys and values are split by heads.
Rule RopeOp::getShardingRule() {
  return std::string("... S w") + (getPositions() ? ", ... S" : "") + " -> ... S w";
}
Rule AttentionOp::getShardingRule() {
  return std::string("b S w, b S w, b S w") + (getSinks() ? ", w" : "") +
         (getPositions() ? ", b S" : "") + (getSeed() ? ", T" : "") + " -> b S w, b w S";
}
/// For caches in pages no rank has a sequence's own rows, so pages are unsharded.
static Rule ruleOfCache(bool isPaged) { return isPaged ? "N P w" : "b C w"; }
// Scales have a column for each key/value head.
Rule CachedAttentionOp::getShardingRule() {
  const Rule cache = ruleOfCache(getTable() != nullptr), row = "b S w";
  Rule rule = row + ", " + row + ", " + row + ", " + cache + ", " + cache + ", b S";
  rule += getTable() ? ", b T" : "";
  rule += getSinks() ? ", w" : "";
  if (!getScales().empty())
    rule += ", " + row + ", " + row + ", " + cache + ", " + cache;
  return rule + " -> " + row;
}
Rule AppendCacheOp::getShardingRule() {
  const Rule cache = ruleOfCache(getTable() != nullptr);
  return cache + ", " + cache + ", b S w, b S w, b S" + (getTable() ? ", b T" : "") + " -> " +
         cache + ", " + cache;
}
Rule PackOp::getShardingRule() { return "... w -> ... w, ... w"; }
Rule UnpackOp::getShardingRule() { return "... w, ... w -> ... w"; }
Rule LastRowsOp::getShardingRule() { return "b S h, b -> b R h"; }
Rule AttentionScoresOp::getShardingRule() { return "b S w, b T w -> b w S T"; }
Rule CausalMaskOp::getShardingRule() { return "... S T -> ... S T"; }
Rule SoftmaxOp::getShardingRule() { return "... W -> ... W"; }
Rule AttentionValuesOp::getShardingRule() { return "b w S T, b T w -> b S w"; }
Rule GeluOp::getShardingRule() { return "... -> ..."; }
Rule SiluOp::getShardingRule() { return "... -> ..."; }
Rule ClampOp::getShardingRule() { return "... -> ..."; }
Rule ScaleOp::getShardingRule() { return "... -> ..."; }
Rule SoftcapOp::getShardingRule() { return "... -> ..."; }
Rule AddOp::getShardingRule() { return "..., ... -> ..."; }
Rule MulOp::getShardingRule() { return "..., ... -> ..."; }
Rule DropoutOp::getShardingRule() { return "..., T -> ..."; }
Rule StoredDropoutOp::getShardingRule() { return "..., T -> ..., ..."; }
Rule ApplyMaskOp::getShardingRule() { return "..., ... -> ..."; }
Rule CastOp::getShardingRule() { return "... -> ..."; }
Rule CrossEntropyOp::getShardingRule() {
  return std::string("... v~, ...") + (getCount() ? ", " : "") + " -> , ...";
}

// All ranks have the row, and each its heads.
Rule RepeatHeadsOp::getShardingRule() { return "... D -> ... H D"; }

Rule LogSumExpOp::getShardingRule() { return "... v~ -> ..."; }
Rule TargetLossOp::getShardingRule() {
  return std::string("... v~, ..., ...") + (getCount() ? ", " : "") + " -> ";
}

/// Returns "... c0, ... c1" for two.
static std::string columns(size_t count, StringRef before, StringRef between) {
  std::string all = before.str();
  for (size_t i = 0; i < count; ++i)
    all += (i ? between.str() : "") + "c" + std::to_string(i);
  return all;
}
Rule SplitOp::getShardingRule() {
  size_t parts = getParts().size();
  return columns(parts, "... ", "+") + " -> " + columns(parts, "... ", ", ... ");
}
Rule ConcatOp::getShardingRule() {
  size_t parts = getParts().size();
  return columns(parts, "... ", ", ... ") + " -> " + columns(parts, "... ", "+");
}

/// Elements keep their order, so equal parts along the first dimension stay equal parts.
static std::string firstOf(Value value, StringRef rest) {
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  std::string text = rank ? "b" : "";
  for (int64_t dimension = 1; dimension < rank; ++dimension)
    text += " " + rest.str() + std::to_string(dimension);
  return text;
}
/// Returns whether the last dimension of `row` holds what `heads` has in its last two. Operands may
/// already be a rank's part where results are unsharded.
static bool holdsHeads(RankedTensorType row, RankedTensorType heads) {
  if (row.getRank() == 0 || row.getRank() + 1 != heads.getRank())
    return false;
  auto isPartOf = [](auto sizes) {
    auto [a, b] = sizes;
    return std::max(a, b) % std::min(a, b) == 0;
  };
  ArrayRef<int64_t> shape = heads.getShape();
  return llvm::all_of(llvm::zip_equal(row.getShape().drop_back(), shape.drop_back(2)), isPartOf) &&
         isPartOf(std::pair(row.getShape().back(), shape.end()[-2] * shape.back()));
}
Rule ReshapeOp::getShardingRule() {
  if (holdsHeads(getX().getType(), getY().getType()))
    return "... w -> ... w D";
  if (holdsHeads(getY().getType(), getX().getType()))
    return "... w D -> ... w";
  return firstOf(getX(), "X") + " -> " + firstOf(getY(), "Y");
}

// Collectives of ranks let other things split their operands, as micro-batches do. The dimension
// that parts are joined along must be unsharded.
Rule AllReduceOp::getShardingRule() { return "... -> ..."; }
Rule ReplicaOp::getShardingRule() { return "... -> ..."; }

static std::string allBut(Value value, int64_t whole) {
  std::string text;
  for (int64_t dimension = 0; dimension < cast<RankedTensorType>(value.getType()).getRank();
       ++dimension)
    text += (dimension == whole ? "W" : "d" + std::to_string(dimension)) + " ";
  return text;
}
Rule AllGatherOp::getShardingRule() {
  std::string all = allBut(getX(), getDimension());
  return all + (getDestination() ? ", " + all : "") + "-> " + all;
}
// Of what ranks exchange, the parts that belong to one micro-batch of each rank stay together.
Rule AllToAllOp::getShardingRule() { return "... -> ..."; }
Rule PartOp::getShardingRule() {
  std::string all = allBut(getX(), getDimension());
  return all + "-> " + all;
}
Rule ReduceScatterOp::getShardingRule() {
  std::string all = allBut(getX(), getDimension());
  return all + "-> " + all;
}

//===----------------------------------------------------------------------===//
// What types do not say
//===----------------------------------------------------------------------===//

static ArrayAttr arrayOf(OpBuilder &builder, ArrayRef<StringAttr> axes) {
  return builder.getArrayAttr(SmallVector<Attribute>(axes.begin(), axes.end()));
}

/// Returns "tp", or "tp x cp".
static std::string nameOf(ArrayRef<StringAttr> axes) {
  return llvm::join(llvm::map_range(axes, [](StringAttr axis) { return axis.getValue(); }), " x ");
}

/// Returns whether the mesh of `op` has `axis` before `other`.
static bool isBefore(Operation *op, StringAttr axis, StringAttr other) {
  return *meshOf(op).findAxis(axis) < *meshOf(op).findAxis(other);
}

/// Random numbers belong to elements of the unsharded value, whose dimensions are split as these.
template <typename RandomOp>
static LogicalResult keyByGlobalElement(RandomOp op, OpBuilder &builder,
                                        ArrayRef<DimensionSharding> dimensions) {
  if (op.getP().isZero() ||
      llvm::all_of(dimensions, [](const DimensionSharding &split) { return split.isWhole(); }))
    return success();
  SmallVector<Attribute> axes;
  for (const DimensionSharding &split : dimensions) {
    if (!split.pieces.empty())
      return op.emitOpError()
             << "drops elements of a dimension that is split in pieces; import the "
                "model without dropout";
    if (!llvm::is_sorted(split.axes,
                         [&](StringAttr a, StringAttr b) { return isBefore(op, a, b); }))
      return op.emitOpError() << "drops elements of a dimension that is split over "
                              << nameOf(split.axes) << ", which the mesh " << meshOf(op)
                              << " has in another order; write them in this order, or import the "
                                 "model without dropout";
    axes.push_back(arrayOf(builder, split.axes));
  }
  op.setShardingAttr(
      ShardingAttr::get(builder.getContext(), builder.getArrayAttr(axes), ArrayAttr()));
  return success();
}

LogicalResult DropoutOp::localize(OpBuilder &builder, ArrayRef<Sharding> operands) {
  return keyByGlobalElement(*this, builder, operands[0].dimensions);
}
LogicalResult StoredDropoutOp::localize(OpBuilder &builder, ArrayRef<Sharding> operands) {
  return keyByGlobalElement(*this, builder, operands[0].dimensions);
}

/// Returns the heads of a rank whose widths are split like this.
static FailureOr<IntegerAttr> localHeads(Operation *op, OpBuilder &builder, StringRef what,
                                         int64_t heads, const DimensionSharding &width) {
  int64_t ranks = width.isWhole() ? 1 : groupSizeOf(op, arrayOf(builder, width.axes));
  if (heads % ranks != 0)
    return op->emitError() << "'" << op->getName() << "' has " << heads << " " << what
                           << ", which do not divide over " << nameOf(width.axes) << " = " << ranks
                           << "; take a number of ranks that divides " << heads;
  return builder.getI64IntegerAttr(heads / ranks);
}

template <typename AttentionLike>
static LogicalResult setLocalHeads(AttentionLike op, OpBuilder &builder,
                                   const DimensionSharding &width) {
  auto kvHeads = localHeads(op, builder, "key/value heads", op.getKvHeads(), width);
  if (failed(kvHeads))
    return failure();
  auto heads = localHeads(op, builder, "heads", op.getHeads(), width);
  if (failed(heads))
    return failure();
  op.setHeadsAttr(*heads);
  op.setKvHeadsAttr(*kvHeads);
  return success();
}

LogicalResult RopeOp::localize(OpBuilder &builder, ArrayRef<Sharding> operands) {
  auto heads = localHeads(*this, builder, "heads", getHeads(), operands[0].dimensions.back());
  if (failed(heads))
    return failure();
  setHeadsAttr(*heads);
  return success();
}
LogicalResult AttentionOp::localize(OpBuilder &builder, ArrayRef<Sharding> operands) {
  ArrayRef<DimensionSharding> q = operands[0].dimensions; // Batch, positions, heads.
  if (failed(setLocalHeads(*this, builder, q[2])))
    return failure();
  return keyByGlobalElement(*this, builder, {q[0], q[2], q[1], q[1]});
}
LogicalResult CachedAttentionOp::localize(OpBuilder &builder, ArrayRef<Sharding> operands) {
  return setLocalHeads(*this, builder, operands[0].dimensions[2]);
}
LogicalResult AttentionScoresOp::localize(OpBuilder &builder, ArrayRef<Sharding> operands) {
  return setLocalHeads(*this, builder, operands[0].dimensions[2]);
}
LogicalResult AttentionValuesOp::localize(OpBuilder &builder, ArrayRef<Sharding> operands) {
  return setLocalHeads(*this, builder, operands[1].dimensions[2]);
}

/// Describes a dimension of `size` tokens; null where it is unsharded.
static VocabularyAttr vocabularyOf(OpBuilder &builder, const DimensionSharding &split,
                                   int64_t size) {
  if (split.isWhole())
    return VocabularyAttr();
  return VocabularyAttr::get(builder.getContext(), arrayOf(builder, split.axes), size);
}

LogicalResult EmbeddingOp::localize(OpBuilder &builder, ArrayRef<Sharding> operands) {
  setVocabularyAttr(
      vocabularyOf(builder, operands[1].dimensions[0], operands[1].wholeSizes.front()));
  return success();
}
LogicalResult AddPositionsOp::localize(OpBuilder &builder, ArrayRef<Sharding> operands) {
  const DimensionSharding &positions = operands[0].dimensions.end()[-2];
  if (!positions.isWhole())
    setAxesAttr(arrayOf(builder, positions.axes));
  return success();
}

/// The mean is over the targets of all ranks, so each divides its own sum by the count of all.
template <typename LossOp>
static void countTargetsOfAll(LossOp op, OpBuilder &builder, const Sharding &targets) {
  SmallVector<StringAttr, 1> axes = targets.axes();
  if (axes.empty())
    return;
  llvm::sort(axes, [&](StringAttr a, StringAttr b) { return isBefore(op, a, b); });
  auto type = RankedTensorType::get({}, builder.getI32Type());
  Value count = op.getCount();
  if (!count)
    count = CountTargetsOp::create(builder, op.getLoc(), type, op.getTargets(),
                                   op.getIgnoreIndexAttr());
  count = AllReduceOp::create(builder, op.getLoc(), count, arrayOf(builder, axes));
  op.getCountMutable().assign(count);
}

LogicalResult CrossEntropyOp::localize(OpBuilder &builder, ArrayRef<Sharding> operands) {
  countTargetsOfAll(*this, builder, operands[1]);
  return success();
}
LogicalResult TargetLossOp::localize(OpBuilder &builder, ArrayRef<Sharding> operands) {
  countTargetsOfAll(*this, builder, operands[2]);
  setVocabularyAttr(
      vocabularyOf(builder, operands[0].dimensions.back(), operands[0].wholeSizes.back()));
  return success();
}
LogicalResult LogSumExpOp::localize(OpBuilder &builder, ArrayRef<Sharding> operands) {
  setVocabularyAttr(
      vocabularyOf(builder, operands[0].dimensions.back(), operands[0].wholeSizes.back()));
  return success();
}

//===----------------------------------------------------------------------===//
// Other ops for split operands
//===----------------------------------------------------------------------===//

/// Gives the op that replaces `op` its name and its block.
static void annotateAs(Operation *op, Operation *other, const Twine &suffix) {
  if (auto name = op->getAttrOfType<StringAttr>(LlmDialect::kName))
    other->setAttr(LlmDialect::kName, StringAttr::get(op->getContext(), name.getValue() + suffix));
  if (Attribute block = op->getAttr(LlmDialect::kBlock))
    other->setAttr(LlmDialect::kBlock, block);
}

/// The bias of a split sum is added after it: otherwise each rank would add one.
bool LinearOp::separate(OpBuilder &builder, ArrayRef<Sharding> operands) {
  if (!getBias() || operands[0].dimensions.back().isWhole())
    return false;
  auto sum = LinearOp::create(builder, getLoc(), getY().getType(), getX(), getWeight(),
                              /*bias=*/Value(), getScales(), getZeros(), getLayout(),
                              getActivationGroupAttr());
  auto y = AddBiasOp::create(builder, getLoc(), getY().getType(), sum, getBias());
  annotateAs(*this, sum, ".product");
  annotateAs(*this, y, "");
  getY().replaceAllUsesWith(y);
  return true;
}

/// Over a split vocabulary ranks need the sums of all before any has its loss.
bool CrossEntropyOp::separate(OpBuilder &builder, ArrayRef<Sharding> operands) {
  if (operands[0].dimensions.back().isWhole())
    return false;
  auto lse =
      LogSumExpOp::create(builder, getLoc(), getLse().getType(), getLogits(), VocabularyAttr());
  auto loss = TargetLossOp::create(builder, getLoc(), getLoss().getType(), getLogits(), lse,
                                   getTargets(), getCount(), getIgnoreIndexAttr(), VocabularyAttr(),
                                   getLabelSmoothingAttr(), getZLossAttr());
  annotateAs(*this, lse, ".log_sum");
  annotateAs(*this, loss, "");
  getLoss().replaceAllUsesWith(loss);
  getLse().replaceAllUsesWith(lse);
  return true;
}

/// Joins the ranks' logarithms by log sum exp over a last dimension of ranks, which gives the
/// logarithm of the whole sum.
Value LogSumExpOp::joinPartial(OpBuilder &builder, OpResult result, ArrayAttr axes) {
  auto type = cast<RankedTensorType>(result.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.push_back(1);
  Value own = ReshapeOp::create(builder, getLoc(), type.clone(shape), result);
  annotateAs(*this, own.getDefiningOp(), ".own");
  shape.back() = groupSizeOf(*this, axes);
  Value all = AllGatherOp::create(builder, getLoc(), type.clone(shape), own,
                                  /*destination=*/Value(), axes, type.getRank());
  annotateAs(*this, all.getDefiningOp(), ".parts");
  Value joined = LogSumExpOp::create(builder, getLoc(), type, all, VocabularyAttr());
  annotateAs(*this, joined.getDefiningOp(), ".all");
  return joined;
}
