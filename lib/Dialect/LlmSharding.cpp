//===- LlmSharding.cpp - How the forward ops run on shards -----------------===//
//
// Each line names the dimensions of operands and results by factors; a capital letter must be
// whole (Interfaces/ShardingOpInterface.h).
//
//===----------------------------------------------------------------------===//

#include "llmmem/Dialect/LlmOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

using Rule = std::string;

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

// A bias beside a split sum would be added once a rank.
Rule LinearOp::getShardingRule() {
  std::string in = getBias() ? "I" : "i";
  std::string weight = getLayout() == WeightLayout::InOut ? in + " o" : "o " + in;
  return "... " + in + ", " + weight + (getBias() ? ", o" : "") + " -> ... o";
}
Rule EmbeddingOp::getShardingRule() { return "..., V h -> ... h"; }
Rule AddPositionsOp::getShardingRule() { return "... S h, T h -> ... S h"; }
Rule LayerNormOp::getShardingRule() { return "... H, H, H -> ... H, ..., ..."; }
Rule RmsNormOp::getShardingRule() { return "... H, H -> ... H, ..."; }
Rule RopeOp::getShardingRule() { return "... S W -> ... S W"; }
Rule AttentionOp::getShardingRule() {
  return std::string("b S W, b S K, b S K") + (getSeed() ? ", T" : "") + " -> b S W, b H S";
}
Rule AttentionScoresOp::getShardingRule() { return "b S W, b T K -> b H S T"; }
Rule CausalMaskOp::getShardingRule() { return "... S T -> ... S T"; }
Rule SoftmaxOp::getShardingRule() { return "... W -> ... W"; }
Rule AttentionValuesOp::getShardingRule() { return "b H S T, b T K -> b S W"; }
Rule GeluOp::getShardingRule() { return "... -> ..."; }
Rule SiluOp::getShardingRule() { return "... -> ..."; }
Rule AddOp::getShardingRule() { return "..., ... -> ..."; }
Rule MulOp::getShardingRule() { return "..., ... -> ..."; }
Rule DropoutOp::getShardingRule() { return "..., T -> ..."; }
Rule StoredDropoutOp::getShardingRule() { return "..., T -> ..., ..."; }
Rule ApplyMaskOp::getShardingRule() { return "..., ... -> ..."; }
Rule CastOp::getShardingRule() { return "... -> ..."; }
Rule CrossEntropyOp::getShardingRule() {
  return std::string("... V, ...") + (getCount() ? ", " : "") + " -> , ...";
}

static std::string repeated(StringRef text, unsigned count) {
  std::string all;
  for (unsigned i = 0; i < count; ++i)
    all += (i ? ", " : "") + text.str();
  return all;
}
Rule SplitOp::getShardingRule() { return "... W -> " + repeated("... W", getParts().size()); }
Rule ConcatOp::getShardingRule() { return repeated("... W", getParts().size()) + " -> ... W"; }

/// Elements keep their order, so equal parts along the first dimension stay equal parts.
static std::string firstOf(Value value, StringRef rest) {
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  std::string text = rank ? "b" : "";
  for (int64_t dimension = 1; dimension < rank; ++dimension)
    text += " " + rest.str() + std::to_string(dimension);
  return text;
}
Rule ReshapeOp::getShardingRule() { return firstOf(getX(), "X") + " -> " + firstOf(getY(), "Y"); }

//===----------------------------------------------------------------------===//
// What types do not say
//===----------------------------------------------------------------------===//

/// Random numbers belong to elements of the whole value. Those of a shard are in one piece if it is
/// split along its first dimension.
template <typename RandomOp>
static LogicalResult keyByGlobalElement(RandomOp op, OpBuilder &builder, const Sharding &x) {
  SmallVector<StringAttr, 1> axes = x.axes();
  if (axes.empty() || op.getP().isZero())
    return success();
  if (x.dimensions.front() != axes)
    return op.emitOpError()
           << "drops elements of a value that is split along a dimension other than "
              "the first; split it along the first, or import the model without dropout";
  op.setAxesAttr(builder.getArrayAttr(SmallVector<Attribute>(axes.begin(), axes.end())));
  return success();
}

LogicalResult DropoutOp::localize(OpBuilder &builder, ArrayRef<Sharding> operands) {
  return keyByGlobalElement(*this, builder, operands[0]);
}
LogicalResult StoredDropoutOp::localize(OpBuilder &builder, ArrayRef<Sharding> operands) {
  return keyByGlobalElement(*this, builder, operands[0]);
}
LogicalResult AttentionOp::localize(OpBuilder &builder, ArrayRef<Sharding> operands) {
  return keyByGlobalElement(*this, builder, operands[0]);
}

/// The mean is over the targets of all ranks, so each divides its own sum by the count of all.
LogicalResult CrossEntropyOp::localize(OpBuilder &builder, ArrayRef<Sharding> operands) {
  SmallVector<StringAttr, 1> axes = operands[1].axes();
  if (axes.empty())
    return success();
  auto type = RankedTensorType::get({}, builder.getI32Type());
  Value count = getCount();
  if (!count)
    count = CountTargetsOp::create(builder, getLoc(), type, getTargets(), getIgnoreIndexAttr());
  count =
      AllReduceOp::create(builder, getLoc(), count,
                          builder.getArrayAttr(SmallVector<Attribute>(axes.begin(), axes.end())));
  getCountMutable().assign(count);
  return success();
}
