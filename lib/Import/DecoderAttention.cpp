//===- DecoderAttention.cpp - The attention of a decoder by its parts ------===//

#include "DecoderBlock.h"
#include "mlir/IR/Builders.h"

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
  int64_t padding = attention.headSize - latent.value;
  if (padding == 0)
    return y;
  y = graph.separateHeads("attn.out.heads", y, attention.heads);
  y = graph.split("attn.out.values", y, {latent.value, padding}).front();
  return graph.joinHeads("attn.out.row", y);
}

//===----------------------------------------------------------------------===//
// Queries, keys and values of their own
//===----------------------------------------------------------------------===//

namespace {
class BlockAttention {
public:
  explicit BlockAttention(const BlockGraph &block)
      : block(block), graph(block.graph), attention(block.parts.attention) {}
  Value build(Value x) const;

private:
  Value normalizeHeads(StringRef name, Value x, const std::string &module, int64_t heads) const;
  SmallVector<Value> splitFused(Value fused) const;
  SmallVector<Value> makeQueriesKeysValues(Value x) const;
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
  return {q, k, block.project("attn.v", x, attention.value)};
}

/// Returns the results of attention's heads next to each other.
Value BlockAttention::buildHeads(Value x) const {
  if (attention.latent)
    return LatentAttention(block, attention).build(x);
  SmallVector<Value> qkv = makeQueriesKeysValues(x);
  Value q = normalizeHeads("attn.q.norm", qkv[0], attention.queryNorm, attention.heads);
  Value k = normalizeHeads("attn.k.norm", qkv[1], attention.keyNorm, attention.kvHeads);
  bool isWindowed = attention.isWindowed(block.layer);
  const Rotary &rotary =
      isWindowed && attention.windowRotary ? *attention.windowRotary : attention.rotary;
  if (attention.isTurned(block.layer)) {
    RotaryShape turned{rotary.theta, rotary.elements, scalingAttr(graph.getContext(), rotary),
                       rotary.interleaved};
    q = graph.rope("attn.q.rope", q, attention.heads, turned);
    k = graph.rope("attn.k.rope", k, attention.kvHeads, turned);
  }
  return graph.attention.attend(
      q, k, qkv[2],
      {.heads = attention.heads,
       .kvHeads = attention.kvHeads,
       .headSize = attention.headSize,
       .window = isWindowed ? attention.window : std::nullopt,
       .dropout = attention.dropout,
       .scale = attention.scale,
       .softcap = attention.softcap,
       .sinks = attention.sinks.empty() ? "" : block.prefix + attention.sinks});
}

Value BlockAttention::build(Value x) const {
  Value y = block.project("attn.proj", buildHeads(x), attention.output);
  y = block.normalizeIfAny("attn.post_norm", y, block.parts.block.attentionPostNorm);
  return graph.dropout("attn.dropout", y, attention.outputDropout);
}

Value llmmem::importer::buildAttention(const BlockGraph &block, Value x) {
  return BlockAttention(block).build(x);
}
