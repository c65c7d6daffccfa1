//===- AttentionWriter.cpp - Attention without caches ----------------------===//

#include "llmmem/Import/AttentionWriter.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::importer;

Value AttentionWriter::attend(Value q, Value k, Value v, const AttentionShape &shape) {
  graph.setCoreAttention(true);
  bool isFused = options.attention == AttentionForm::Flash && !shape.bias &&
                 tensorType(q).getDimSize(1) == tensorType(k).getDimSize(1);
  Value out = caches    ? cachedAttention(q, k, v, shape)
              : isFused ? fusedAttention(q, k, v, shape)
                        : unfusedAttention(q, k, v, shape);
  graph.setCoreAttention(false);
  return out;
}

FloatAttr AttentionWriter::scaleOf(const AttentionShape &shape) {
  return builder.getF64FloatAttr(
      shape.scale.value_or(1.0 / std::sqrt(static_cast<double>(shape.headSize))));
}

static IntegerAttr windowOf(OpBuilder &builder, const AttentionShape &shape) {
  return shape.window ? builder.getI64IntegerAttr(*shape.window) : IntegerAttr();
}

Value AttentionWriter::fusedAttention(Value q, Value k, Value v, const AttentionShape &shape) {
  bool drops = shape.dropout > 0;
  ArrayRef<int64_t> dims = tensorType(q).getShape();
  auto op = graph.create<llm::AttentionOp>(
      "attn.out", q.getType(), graph.statisticType({dims[0], shape.heads, dims[1]}), q, k, v,
      shape.sinks.empty() ? Value() : graph.parameter(shape.sinks), graph.inputs.positions,
      drops ? graph.inputs.seed : Value(), builder.getI64IntegerAttr(shape.heads),
      builder.getI64IntegerAttr(shape.kvHeads), scaleOf(shape), windowOf(builder, shape),
      builder.getF64FloatAttr(shape.dropout),
      builder.getI64IntegerAttr(drops ? graph.takeStream() : 0), llm::ShardingAttr(),
      shape.softcap ? builder.getF64FloatAttr(*shape.softcap) : FloatAttr(),
      shape.bidirectional ? builder.getUnitAttr() : UnitAttr());
  return op.getOut();
}

Value AttentionWriter::unfusedAttention(Value q, Value k, Value v, const AttentionShape &shape) {
  ArrayRef<int64_t> dims = tensorType(q).getShape();
  int64_t keys = tensorType(k).getDimSize(1);
  auto scores = graph.typeOf({dims[0], shape.heads, dims[1], keys});
  IntegerAttr heads = builder.getI64IntegerAttr(shape.heads);
  IntegerAttr kvHeads = builder.getI64IntegerAttr(shape.kvHeads);
  FloatAttr hidden = builder.getF64FloatAttr(-std::numeric_limits<double>::infinity());

  auto name = [&](StringRef part) { return shape.name + part.str(); };
  Value x = graph.create<llm::AttentionScoresOp>(name(".scores"), scores, q, k, heads, kvHeads,
                                                 scaleOf(shape));
  if (shape.softcap)
    x = graph.softcap(name(".capped"), x, *shape.softcap);
  if (shape.bias)
    x = graph.create<llm::AddRelativeBiasOp>(name(".biased"), scores, x, shape.bias);
  if (!shape.bidirectional)
    x = graph.create<llm::CausalMaskOp>(name(".masked"), scores, x, hidden,
                                        windowOf(builder, shape));
  x = graph.create<llm::SoftmaxOp>(name(".probabilities"), scores, x);
  x = graph.dropout(name(".dropped"), x, shape.dropout);
  return graph.create<llm::AttentionValuesOp>(name(".out"), q.getType(), x, v, heads, kvHeads,
                                              builder.getF64FloatAttr(1.0));
}
