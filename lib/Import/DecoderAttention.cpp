//===- DecoderAttention.cpp - The attention of a decoder by its parts ------===//

#include "DecoderBlock.h"
#include "llmmem/Dialect/RecurrentOps.h"
#include "mlir/IR/Builders.h"
#include <cmath>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::importer;
using Fusion = AttentionParts::Fusion;

static llm::RopeScalingAttr scalingAttr(MLIRContext *context, const Rotary &rotary) {
  if (!rotary.scaling)
    return nullptr;
  Builder builder(context);
  ArrayRef<double> divisors = rotary.scaling->divisors;
  auto type = RankedTensorType::get(static_cast<int64_t>(divisors.size()), builder.getF64Type());
  return llm::RopeScalingAttr::get(
      context, cast<DenseFPElementsAttr>(DenseElementsAttr::get(type, divisors)),
      builder.getF64FloatAttr(rotary.scaling->magnitude));
}

/// Pads the heads of a row with zeros up to `size` elements.
static Value padHeads(GraphBuilder &graph, StringRef name, Value x, int64_t heads, int64_t size) {
  if (tensorType(x).getShape().back() == heads * size)
    return x;
  Value apart = graph.separateHeads((name + ".heads").str(), x, heads);
  return graph.joinHeads((name + ".row").str(),
                         graph.padWidth((name + ".padded").str(), apart, size));
}

/// Keeps the first `size` elements of each head of what attention returns.
static Value cutHeads(GraphBuilder &graph, Value y, int64_t heads, int64_t size) {
  const int64_t padding = tensorType(y).getShape().back() / heads - size;
  if (padding == 0)
    return y;
  y = graph.separateHeads("attn.out.heads", y, heads);
  y = graph.split("attn.out.values", y, {size, padding}).front();
  return graph.joinHeads("attn.out.row", y);
}

//===----------------------------------------------------------------------===//
// Keys and values from a latent row
//===----------------------------------------------------------------------===//

namespace {
class LatentAttention {
public:
  LatentAttention(const BlockGraph &block, const AttentionParts &attention)
      : block(block), graph(block.graph), attention(attention), latent(*attention.latent) {}
  Value build(Value x) const;

private:
  RotaryShape rotary() const;
  SmallVector<Value> makeQueries(Value x) const;
  SmallVector<Value> makeRow(Value x) const;
  SmallVector<Value> makeKeysValues(Value x) const;
  Value buildCached(Value x) const;

  const BlockGraph &block;
  GraphBuilder &graph;
  const AttentionParts &attention;
  const LatentParts &latent;
};
} // namespace

RotaryShape LatentAttention::rotary() const {
  return {attention.rotary.theta, latent.turning, scalingAttr(graph.getContext(), attention.rotary),
          attention.rotary.interleaved};
}

/// Returns [..., heads, plain] and [..., heads, turning], the second rotated.
SmallVector<Value> LatentAttention::makeQueries(Value x) const {
  Value q;
  if (latent.queryRank) {
    q = block.project("attn.q.down", x, latent.queryDown);
    q = graph.rmsNorm("attn.q.norm", q, block.prefix + latent.queryNorm, latent.eps);
    q = block.project("attn.q", q, latent.queryUp);
  } else {
    q = block.project("attn.q", x, attention.query);
  }
  q = graph.separateHeads("attn.q.heads", q, attention.heads);
  SmallVector<Value> parts = graph.split("attn.q.split", q, {latent.plain, latent.turning});
  Value turned = graph.joinHeads("attn.q.turning", parts[1]);
  turned = graph.rope("attn.q.rope", turned, attention.heads, rotary());
  return {parts[0], graph.separateHeads("attn.q.turned", turned, attention.heads)};
}

/// Returns the latent that keys and values are computed from, [..., rank], and the key of all heads
/// before its rotation.
SmallVector<Value> LatentAttention::makeRow(Value x) const {
  Value down = block.project("attn.kv.down", x, latent.down);
  SmallVector<Value> narrow = graph.split("attn.kv.split", down, {latent.rank, latent.turning});
  Value row = graph.rmsNorm("attn.kv.norm", narrow[0], block.prefix + latent.norm, latent.eps);
  return {row, narrow[1]};
}

/// Returns keys and values as rows of all heads. Zeros make values as wide as keys.
SmallVector<Value> LatentAttention::makeKeysValues(Value x) const {
  SmallVector<Value> narrow = makeRow(x);
  Value both = graph.separateHeads("attn.kv.heads", block.project("attn.kv", narrow[0], latent.up),
                                   attention.heads);
  SmallVector<Value> apart = graph.split("attn.kv.apart", both, {latent.plain, latent.value});
  Value turned = graph.rope("attn.k.rope", narrow[1], 1, rotary());
  turned = graph.repeatHeads("attn.k.turned", turned, attention.heads);
  Value keys = graph.concat("attn.k.both", {apart[0], turned});
  Value values = graph.padWidth("attn.v.padded", apart[1], latent.plain + latent.turning);
  return {graph.joinHeads("attn.k.row", keys), graph.joinHeads("attn.v.row", values)};
}

/// Attends over a cache of latents. The first `plain` rows of a head's weight compute its key from
/// a latent, and the other rows its value. Queries are multiplied by the former before attention,
/// and the results of heads by the latter after it.
Value LatentAttention::buildCached(Value x) const {
  SmallVector<Value> q = makeQueries(x);
  SmallVector<Value> narrow = makeRow(x);
  Value turned = graph.rope("attn.k.rope", narrow[1], 1, rotary());
  Value row = graph.concat("attn.kv.row", {narrow[0], turned});
  std::string up = block.prefix + latent.up.module + ".weight";
  Value latents = graph.headLinear("attn.q.latent", graph.joinHeads("attn.q.plain", q[0]), up,
                                   {attention.heads, 0, latent.rank, llm::WeightLayout::InOut});
  latents = graph.separateHeads("attn.q.latents", latents, attention.heads);
  Value queries = graph.joinHeads("attn.q.row", graph.concat("attn.q.both", {latents, q[1]}));
  Value y = graph.attention.attendToLatents(
      queries, row, latent.rank,
      {.heads = attention.heads, .headSize = attention.headSize, .scale = attention.scale});
  return graph.headLinear("attn.out.values", y, up,
                          {attention.heads, latent.plain, latent.value, llm::WeightLayout::OutIn});
}

/// Attention's kernels have heads of one size, so values are padded with zeros, which are then cut
/// off.
Value LatentAttention::build(Value x) const {
  if (graph.attention.keepsCaches())
    return buildCached(x);
  Value q = graph.joinHeads("attn.q.row", graph.concat("attn.q.both", makeQueries(x)));
  SmallVector<Value> kv = makeKeysValues(x);
  Value y = graph.attention.attend(q, kv[0], kv[1],
                                   {.heads = attention.heads,
                                    .kvHeads = attention.heads,
                                    .headSize = attention.headSize,
                                    .dropout = attention.dropout,
                                    .scale = attention.scale});
  return cutHeads(graph, y, attention.heads, latent.value);
}

//===----------------------------------------------------------------------===//
// Queries, keys and values of their own
//===----------------------------------------------------------------------===//

namespace {
class BlockAttention {
public:
  explicit BlockAttention(const BlockGraph &block)
      : block(block), graph(block.graph), attention(block.own.attention) {}
  Value build(Value x) const;

private:
  Value normalizeHeads(StringRef name, Value x, const std::string &module, int64_t heads) const;
  SmallVector<Value> splitFused(Value fused) const;
  /// Returns queries, keys, values and, if attention has them, gates.
  SmallVector<Value> makeQueriesKeysValues(Value x) const;
  Value openGates(Value y, Value gates) const;
  Value turn(StringRef name, Value x, int64_t heads) const;
  Value scaleByPosition(StringRef name, Value x) const;
  Value attend(Value q, Value k, Value v) const;
  Value buildHeads(Value x) const;

  const BlockGraph &block;
  GraphBuilder &graph;
  const AttentionParts &attention;
};
} // namespace

Value BlockAttention::normalizeHeads(StringRef name, Value x, const std::string &module,
                                     int64_t heads) const {
  if (module.empty())
    return x;
  if (!attention.normsHeads)
    return block.normalize(name, x, module);
  Value apart = graph.separateHeads((name + ".heads").str(), x, heads);
  return graph.joinHeads((name + ".row").str(), block.normalize(name, apart, module));
}

SmallVector<Value> BlockAttention::splitFused(Value fused) const {
  if (attention.fusion == Fusion::SideBySide || attention.kvHeads == 1)
    return graph.split("attn.split", fused,
                       {attention.queryWidth(), attention.kvWidth(), attention.kvWidth()});
  int64_t size = attention.headSize, queries = attention.heads / attention.kvHeads;
  Value groups = graph.separateHeads("attn.groups", fused, attention.kvHeads);
  SmallVector<Value> apart = graph.split("attn.split", groups, {queries * size, size, size});
  constexpr StringRef names[] = {"attn.q", "attn.k", "attn.v"};
  for (auto [part, name] : llvm::zip_equal(apart, names))
    part = graph.joinHeads(name, part);
  return apart;
}

SmallVector<Value> BlockAttention::makeQueriesKeysValues(Value x) const {
  if (attention.fusion != Fusion::Apart)
    return splitFused(block.project("attn.qkv", x, attention.query));
  Value q = block.project("attn.q", x, attention.query);
  Value k = block.project("attn.k", x, attention.key);
  Value v = block.project("attn.v", x, attention.value);
  if (attention.valueScale != 1)
    v = graph.scale("attn.v.scaled", v, attention.valueScale);
  if (!attention.gated)
    return {q, k, v};
  Value heads = graph.separateHeads("attn.q.gated", q, attention.heads);
  SmallVector<Value> apart = graph.splitEvenly("attn.q.split", heads, 2);
  return {graph.joinHeads("attn.q.plain", apart[0]), k, v,
          graph.joinHeads("attn.gate.row", apart[1])};
}

/// Rotates the heads of queries or keys by their positions, and normalises what has turned.
Value BlockAttention::turn(StringRef name, Value x, int64_t heads) const {
  const bool hasOwn = attention.isWindowed(block.layer) && attention.windowRotary;
  const Rotary &rotary = hasOwn ? *attention.windowRotary : attention.rotary;
  x = graph.rope(
      (name + ".rope").str(), x, heads,
      {rotary.theta, rotary.elements, scalingAttr(graph.getContext(), rotary), rotary.interleaved});
  if (!attention.turnedNormEps)
    return x;
  Value apart = graph.separateHeads((name + ".turned").str(), x, heads);
  apart = graph.plainRmsNorm((name + ".turned.norm").str(), apart, *attention.turnedNormEps);
  return graph.joinHeads((name + ".turned.row").str(), apart);
}

/// Multiplies rows of queries by what their positions say. Positions with the same factor are
/// neighbours.
Value BlockAttention::scaleByPosition(StringRef name, Value x) const {
  const Temperature &temperature = *attention.temperature;
  const int64_t rows = tensorType(x).getDimSize(1);
  if (rows < temperature.step)
    return x;
  SmallVector<RowFactor> factors = {{temperature.step - 1, 1.0}};
  for (int64_t first = temperature.step - 1; first < rows; first += temperature.step) {
    const double steps = static_cast<double>((first + 1) / temperature.step);
    factors.push_back(
        {std::min(temperature.step, rows - first), 1.0 + temperature.factor * std::log1p(steps)});
  }
  return graph.scaleRows(name, x, factors);
}

/// Attention's kernels have heads of one size, so narrower values are padded with zeros. Chunks
/// attend as sequences of their own.
Value BlockAttention::attend(Value q, Value k, Value v) const {
  const int64_t size = attention.headSize, values = attention.valueElements();
  v = padHeads(graph, "attn.v", v, attention.kvHeads, size);
  const std::optional<int64_t> chunk =
      attention.isTurned(block.layer) ? attention.chunk : std::nullopt;
  const int64_t batch = tensorType(q).getDimSize(0), rows = tensorType(q).getDimSize(1);
  const bool isCut = chunk && *chunk < rows;
  if (isCut) {
    q = graph.cutRows("attn.q.chunks", q, *chunk);
    k = graph.cutRows("attn.k.chunks", k, *chunk);
    v = graph.cutRows("attn.v.chunks", v, *chunk);
  }
  Value y = graph.attention.attend(
      q, k, v,
      {.heads = attention.heads,
       .kvHeads = attention.kvHeads,
       .headSize = size,
       .window = attention.isWindowed(block.layer) ? attention.window : std::nullopt,
       .dropout = attention.dropout,
       .scale = attention.scale,
       .softcap = attention.softcap,
       .sinks = attention.sinks.empty() ? "" : block.prefix + attention.sinks});
  if (isCut)
    y = graph.joinRows("attn.out.rows", y, batch, rows);
  return cutHeads(graph, y, attention.heads, values);
}

/// Multiplies the results of heads by the logistic of their gates (Qiu et al. 2025).
Value BlockAttention::openGates(Value y, Value gates) const {
  Value open = graph.create<llm::LogisticOp>("attn.gate", gates.getType(), gates);
  return graph.mul("attn.gated", y, open);
}

/// Returns the results of attention's heads next to each other.
Value BlockAttention::buildHeads(Value x) const {
  if (attention.latent)
    return LatentAttention(block, attention).build(x);
  SmallVector<Value> qkv = makeQueriesKeysValues(x);
  Value q = normalizeHeads("attn.q.norm", qkv[0], attention.queryNorm, attention.heads);
  Value k = normalizeHeads("attn.k.norm", qkv[1], attention.keyNorm, attention.kvHeads);
  if (attention.isTurned(block.layer)) {
    q = turn("attn.q", q, attention.heads);
    k = turn("attn.k", k, attention.kvHeads);
  } else if (attention.temperature) {
    q = scaleByPosition("attn.q.scaled", q);
  }
  Value y = attend(q, k, qkv[2]);
  return attention.gated ? openGates(y, qkv[3]) : y;
}

Value BlockAttention::build(Value x) const {
  Value y = block.project("attn.proj", buildHeads(x), attention.output);
  y = block.normalizeIfAny("attn.post_norm", y, block.parts.block.attentionPostNorm);
  return graph.dropout("attn.dropout", y, attention.outputDropout);
}

Value llmmem::importer::buildAttention(const BlockGraph &block, Value x) {
  return BlockAttention(block).build(x);
}
