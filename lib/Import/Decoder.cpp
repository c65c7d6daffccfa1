//===- Decoder.cpp - Parameters and graph of a decoder by its parts --------===//

#include "DecoderParts.h"
#include "llmmem/Import/GraphBuilder.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::importer;
using Fusion = AttentionParts::Fusion;

namespace {

/// Gives access to a block's parameters while the graph is built.
struct BlockGraph {
  GraphBuilder &graph;
  std::string prefix;
  int64_t layer;

  Value project(StringRef name, Value x, const Projection &projection) const {
    return graph.linear(name, x, prefix + projection.module, llm::WeightLayout::OutIn);
  }
};

class Decoder final : public Model {
public:
  explicit Decoder(DecoderParts all);
  std::vector<Parameter> parameters() const override;
  Value buildLogits(GraphBuilder &graph, Value ids) const override;

private:
  int64_t queryWidth() const { return attention.heads * attention.headSize; }
  int64_t kvWidth() const { return attention.kvHeads * attention.headSize; }
  std::vector<Parameter> listBlock(int64_t layer) const;
  void listAttention(std::vector<Parameter> &list) const;
  void listLatentAttention(std::vector<Parameter> &list, const LatentParts &latent) const;
  void listMlp(std::vector<Parameter> &list, const MlpParts &mlp) const;
  void listExperts(std::vector<Parameter> &list) const;
  void listExpertWeights(std::vector<Parameter> &list) const;
  void listNorms(std::vector<Parameter> &list) const;
  void listNorm(std::vector<Parameter> &list, const std::string &module, int64_t width) const;

  Value normalize(GraphBuilder &graph, StringRef name, Value x, const std::string &module) const;
  Value normalizeHeads(const BlockGraph &block, StringRef name, Value x, const std::string &module,
                       int64_t heads) const;
  SmallVector<Value> buildQueriesKeysValues(const BlockGraph &block, Value x) const;
  RotaryShape rotaryOfLatent(const GraphBuilder &graph) const;
  SmallVector<Value> buildLatentQueries(const BlockGraph &block, Value x,
                                        const LatentParts &latent) const;
  SmallVector<Value> buildLatentRow(const BlockGraph &block, Value x,
                                    const LatentParts &latent) const;
  SmallVector<Value> buildLatentKeysValues(const BlockGraph &block, Value x,
                                           const LatentParts &latent) const;
  Value buildCachedLatentAttention(const BlockGraph &block, Value x,
                                   const LatentParts &latent) const;
  Value buildLatentAttention(const BlockGraph &block, Value x, const LatentParts &latent) const;
  Value buildHeads(const BlockGraph &block, Value x) const;
  SmallVector<Value> splitFused(const BlockGraph &block, Value fused) const;
  Value buildAttention(const BlockGraph &block, Value x) const;
  Value activate(GraphBuilder &graph, StringRef name, Value x) const;
  Value buildGated(const BlockGraph &block, StringRef name, Value x, const MlpParts &mlp) const;
  Value buildExperts(const BlockGraph &block, Value x) const;
  Value buildEachExpert(const BlockGraph &block, Value rows, const Routing &routing) const;
  Value buildJoinedExperts(const BlockGraph &block, Value rows, const Routing &routing,
                           const JoinedExperts &joined) const;
  Value buildMlp(const BlockGraph &block, Value x) const;
  Value buildBlock(const BlockGraph &block, Value x) const;

  DecoderParts parts;
  const AttentionParts &attention;
  const MlpParts &mlp;
  const ExpertParts &experts;
};

} // namespace

Decoder::Decoder(DecoderParts all)
    : parts(std::move(all)), attention(parts.attention), mlp(parts.mlp), experts(parts.experts) {
  facts.experts = experts.count;
  facts.balanceLoss = experts.balanceLoss;
  facts.hasSinks = !attention.sinks.empty();
  facts.layers = parts.layers;
  facts.maxSeq = parts.maxSeq;
  facts.maxSeqKey = parts.maxSeqKey;
  for (int64_t layer = 0; layer < parts.layers; ++layer)
    if (attention.isWindowed(layer))
      facts.window = attention.window;
  facts.dropsOut =
      llvm::any_of(std::initializer_list<double>{parts.embeddingDropout, attention.dropout,
                                                 attention.outputDropout, mlp.outputDropout},
                   [](double p) { return p > 0; });
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

static void listProjection(std::vector<Parameter> &list, const Projection &projection, int64_t out,
                           int64_t in) {
  if (projection.module.empty())
    return;
  list.push_back({projection.module + ".weight", {out, in}, llm::WeightLayout::OutIn});
  if (projection.bias)
    list.push_back({projection.module + ".bias", {out}});
}

void Decoder::listNorm(std::vector<Parameter> &list, const std::string &module,
                       int64_t width) const {
  if (module.empty())
    return;
  list.push_back({module + ".weight", {width}});
  if (parts.norm.kind == NormStyle::Kind::Layer)
    list.push_back({module + ".bias", {width}});
}

void Decoder::listLatentAttention(std::vector<Parameter> &list, const LatentParts &latent) const {
  if (latent.queryRank) {
    listProjection(list, latent.queryDown, latent.queryRank, parts.width);
    listNorm(list, latent.queryNorm, latent.queryRank);
    listProjection(list, latent.queryUp, queryWidth(), latent.queryRank);
  } else {
    listProjection(list, attention.query, queryWidth(), parts.width);
  }
  listProjection(list, latent.down, latent.rank + latent.turning, parts.width);
  listNorm(list, latent.norm, latent.rank);
  listProjection(list, latent.up, attention.heads * (latent.plain + latent.value), latent.rank);
  listProjection(list, attention.output, parts.width, attention.heads * latent.value);
}

void Decoder::listAttention(std::vector<Parameter> &list) const {
  if (attention.latent)
    return listLatentAttention(list, *attention.latent);
  bool isFused = attention.fusion != Fusion::Apart;
  if (!attention.sinks.empty())
    list.push_back({attention.sinks, {attention.heads}});
  listProjection(list, attention.query, queryWidth() + (isFused ? 2 * kvWidth() : 0), parts.width);
  if (!isFused) {
    listProjection(list, attention.key, kvWidth(), parts.width);
    listProjection(list, attention.value, kvWidth(), parts.width);
  }
  listProjection(list, attention.output, parts.width, queryWidth());
  listNorm(list, attention.queryNorm, attention.normsHeads ? attention.headSize : queryWidth());
  listNorm(list, attention.keyNorm, attention.normsHeads ? attention.headSize : kvWidth());
}

void Decoder::listMlp(std::vector<Parameter> &list, const MlpParts &mlp) const {
  listProjection(list, mlp.gate, mlp.isFused() ? 2 * mlp.inner : mlp.inner, parts.width);
  listProjection(list, mlp.up, mlp.inner, parts.width);
  listProjection(list, mlp.down, parts.width, mlp.inner);
}

void Decoder::listExpertWeights(std::vector<Parameter> &list) const {
  int64_t count = experts.count, inner = experts.inner, width = parts.width;
  auto matrices = [&](std::string name, int64_t rows, int64_t columns) {
    list.push_back({std::move(name), {count, rows, columns}});
    list.back().ofExperts = true;
  };
  if (!experts.joined) {
    matrices(experts.gate + ".weight", inner, width);
    matrices(experts.up + ".weight", inner, width);
    matrices(experts.down + ".weight", width, inner);
    return;
  }
  matrices(experts.joined->gateUp, width, 2 * inner);
  list.push_back({experts.joined->gateUp + "_bias", {count, 2 * inner}});
  matrices(experts.joined->down, inner, width);
  list.push_back({experts.joined->down + "_bias", {count, width}});
}

void Decoder::listExperts(std::vector<Parameter> &list) const {
  int64_t count = experts.count;
  list.push_back({experts.router.module + ".weight", {count, parts.width}});
  if (experts.router.bias)
    list.push_back({experts.router.module + ".bias", {count}});
  if (!experts.biasOfChoice.empty())
    list.push_back({.name = experts.biasOfChoice, .shape = {count}, .frozen = true, .wide = true});
  listExpertWeights(list);
  if (experts.shared)
    listMlp(list, *experts.shared);
  if (!experts.sharedGate.empty())
    list.push_back({experts.sharedGate + ".weight", {1, parts.width}});
}

void Decoder::listNorms(std::vector<Parameter> &list) const {
  for (const std::string *module : {&parts.block.attentionNorm, &parts.block.attentionPostNorm,
                                    &parts.block.mlpNorm, &parts.block.mlpPostNorm})
    listNorm(list, *module, parts.width);
}

std::vector<Parameter> Decoder::listBlock(int64_t layer) const {
  std::string prefix = parts.block.prefix + std::to_string(layer) + ".";
  std::vector<Parameter> list;
  listAttention(list);
  experts.isIn(layer) ? listExperts(list) : listMlp(list, mlp);
  listNorms(list);
  std::stable_partition(list.begin(), list.end(), [&](const Parameter &parameter) {
    StringRef module = StringRef(parameter.name).rsplit('.').first;
    return llvm::is_contained(parts.block.listedFirst, module);
  });
  for (Parameter &parameter : list)
    parameter.name = prefix + parameter.name;
  return list;
}

std::vector<Parameter> Decoder::parameters() const {
  std::vector<Parameter> list;
  list.push_back(tableOf(parts.embedding + ".weight", parts.vocabulary, parts.width));
  for (int64_t layer = 0; layer < facts.layers; ++layer)
    llvm::append_range(list, listBlock(layer));
  listNorm(list, parts.finalNorm, parts.width);
  if (!parts.tied)
    listProjection(list, parts.head, parts.vocabulary, parts.width);
  for (Parameter &parameter : list)
    parameter.head =
        parameter.name == (parts.tied ? parts.embedding : parts.head.module) + ".weight";
  return list;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

Value Decoder::normalize(GraphBuilder &graph, StringRef name, Value x,
                         const std::string &module) const {
  if (parts.norm.kind == NormStyle::Kind::Layer)
    return graph.layerNorm(name, x, module, parts.norm.eps);
  return graph.rmsNorm(name, x, module, parts.norm.eps, parts.norm.offset);
}

Value Decoder::normalizeHeads(const BlockGraph &block, StringRef name, Value x,
                              const std::string &module, int64_t heads) const {
  if (module.empty())
    return x;
  if (!attention.normsHeads)
    return normalize(block.graph, name, x, block.prefix + module);
  Value apart = block.graph.separateHeads((name + ".heads").str(), x, heads);
  return block.graph.joinHeads((name + ".row").str(),
                               normalize(block.graph, name, apart, block.prefix + module));
}

SmallVector<Value> Decoder::splitFused(const BlockGraph &block, Value fused) const {
  GraphBuilder &graph = block.graph;
  if (attention.fusion == Fusion::SideBySide || attention.kvHeads == 1)
    return graph.split("attn.split", fused, {queryWidth(), kvWidth(), kvWidth()});
  int64_t size = attention.headSize, queries = attention.heads / attention.kvHeads;
  Value groups = graph.separateHeads("attn.groups", fused, attention.kvHeads);
  SmallVector<Value> apart = graph.split("attn.split", groups, {queries * size, size, size});
  constexpr StringRef names[] = {"attn.q", "attn.k", "attn.v"};
  for (auto [part, name] : llvm::zip_equal(apart, names))
    part = graph.joinHeads(name, part);
  return apart;
}

SmallVector<Value> Decoder::buildQueriesKeysValues(const BlockGraph &block, Value x) const {
  if (attention.fusion != Fusion::Apart)
    return splitFused(block, block.project("attn.qkv", x, attention.query));
  Value q = block.project("attn.q", x, attention.query);
  Value k = block.project("attn.k", x, attention.key);
  return {q, k, block.project("attn.v", x, attention.value)};
}

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

RotaryShape Decoder::rotaryOfLatent(const GraphBuilder &graph) const {
  return {attention.rotary.theta, attention.latent->turning,
          scalingAttr(graph.getContext(), attention.rotary), attention.rotary.interleaved};
}

/// Returns [..., heads, plain] and [..., heads, turning], the second rotated.
SmallVector<Value> Decoder::buildLatentQueries(const BlockGraph &block, Value x,
                                               const LatentParts &latent) const {
  GraphBuilder &graph = block.graph;
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
  turned = graph.rope("attn.q.rope", turned, attention.heads, rotaryOfLatent(graph));
  return {parts[0], graph.separateHeads("attn.q.turned", turned, attention.heads)};
}

/// Returns the latent that keys and values are computed from, [..., rank], and the key of all heads
/// before its rotation.
SmallVector<Value> Decoder::buildLatentRow(const BlockGraph &block, Value x,
                                           const LatentParts &latent) const {
  GraphBuilder &graph = block.graph;
  Value down = block.project("attn.kv.down", x, latent.down);
  SmallVector<Value> narrow = graph.split("attn.kv.split", down, {latent.rank, latent.turning});
  Value row = graph.rmsNorm("attn.kv.norm", narrow[0], block.prefix + latent.norm, latent.eps);
  return {row, narrow[1]};
}

/// Returns keys and values as rows of all heads. Zeros make values as wide as keys.
SmallVector<Value> Decoder::buildLatentKeysValues(const BlockGraph &block, Value x,
                                                  const LatentParts &latent) const {
  GraphBuilder &graph = block.graph;
  SmallVector<Value> narrow = buildLatentRow(block, x, latent);
  Value both = graph.separateHeads("attn.kv.heads", block.project("attn.kv", narrow[0], latent.up),
                                   attention.heads);
  SmallVector<Value> apart = graph.split("attn.kv.apart", both, {latent.plain, latent.value});
  Value turned = graph.rope("attn.k.rope", narrow[1], 1, rotaryOfLatent(graph));
  turned = graph.repeatHeads("attn.k.turned", turned, attention.heads);
  Value keys = graph.concat("attn.k.both", {apart[0], turned});
  Value values = graph.padWidth("attn.v.padded", apart[1], latent.plain + latent.turning);
  return {graph.joinHeads("attn.k.row", keys), graph.joinHeads("attn.v.row", values)};
}

/// Attends over a cache of latents. The first `plain` rows of a head's weight compute its key from
/// a latent, and the other rows its value. Queries are multiplied by the former before attention,
/// and the results of heads by the latter after it.
Value Decoder::buildCachedLatentAttention(const BlockGraph &block, Value x,
                                          const LatentParts &latent) const {
  GraphBuilder &graph = block.graph;
  SmallVector<Value> q = buildLatentQueries(block, x, latent);
  SmallVector<Value> narrow = buildLatentRow(block, x, latent);
  Value turned = graph.rope("attn.k.rope", narrow[1], 1, rotaryOfLatent(graph));
  Value row = graph.concat("attn.kv.row", {narrow[0], turned});
  std::string up = block.prefix + latent.up.module + ".weight";
  Value latents = graph.headLinear("attn.q.latent", graph.joinHeads("attn.q.plain", q[0]), up,
                                   {attention.heads, 0, latent.rank, llm::WeightLayout::InOut});
  latents = graph.separateHeads("attn.q.latents", latents, attention.heads);
  Value queries = graph.joinHeads("attn.q.row", graph.concat("attn.q.both", {latents, q[1]}));
  Value y = graph.latentAttention(
      queries, row, latent.rank,
      {.heads = attention.heads, .headSize = attention.headSize, .scale = attention.scale});
  return graph.headLinear("attn.out.values", y, up,
                          {attention.heads, latent.plain, latent.value, llm::WeightLayout::OutIn});
}

/// Attention's kernels have heads of one size, so values are padded with zeros, which are then cut
/// off.
Value Decoder::buildLatentAttention(const BlockGraph &block, Value x,
                                    const LatentParts &latent) const {
  GraphBuilder &graph = block.graph;
  if (graph.keepsCaches())
    return buildCachedLatentAttention(block, x, latent);
  Value q = graph.joinHeads("attn.q.row",
                            graph.concat("attn.q.both", buildLatentQueries(block, x, latent)));
  SmallVector<Value> kv = buildLatentKeysValues(block, x, latent);
  Value y = graph.attention(q, kv[0], kv[1],
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

/// Returns the results of attention's heads next to each other.
Value Decoder::buildHeads(const BlockGraph &block, Value x) const {
  if (attention.latent)
    return buildLatentAttention(block, x, *attention.latent);
  GraphBuilder &graph = block.graph;
  SmallVector<Value> qkv = buildQueriesKeysValues(block, x);
  Value q = normalizeHeads(block, "attn.q.norm", qkv[0], attention.queryNorm, attention.heads);
  Value k = normalizeHeads(block, "attn.k.norm", qkv[1], attention.keyNorm, attention.kvHeads);
  bool isWindowed = attention.isWindowed(block.layer);
  const Rotary &rotary =
      isWindowed && attention.windowRotary ? *attention.windowRotary : attention.rotary;
  RotaryShape turned{rotary.theta, rotary.elements, scalingAttr(graph.getContext(), rotary),
                     rotary.interleaved};
  q = graph.rope("attn.q.rope", q, attention.heads, turned);
  k = graph.rope("attn.k.rope", k, attention.kvHeads, turned);
  return graph.attention(q, k, qkv[2],
                         {.heads = attention.heads,
                          .kvHeads = attention.kvHeads,
                          .headSize = attention.headSize,
                          .window = isWindowed ? attention.window : std::nullopt,
                          .dropout = attention.dropout,
                          .scale = attention.scale,
                          .softcap = attention.softcap,
                          .sinks = attention.sinks.empty() ? "" : block.prefix + attention.sinks});
}

/// Returns what attention adds to the residual, from its normalised input `x`.
Value Decoder::buildAttention(const BlockGraph &block, Value x) const {
  GraphBuilder &graph = block.graph;
  Value y = block.project("attn.proj", buildHeads(block, x), attention.output);
  if (!parts.block.attentionPostNorm.empty())
    y = normalize(graph, "attn.post_norm", y, block.prefix + parts.block.attentionPostNorm);
  return graph.dropout("attn.dropout", y, attention.outputDropout);
}

//===----------------------------------------------------------------------===//
// MLP and blocks
//===----------------------------------------------------------------------===//

Value Decoder::activate(GraphBuilder &graph, StringRef name, Value x) const {
  using Activation = MlpParts::Activation;
  if (mlp.activation == Activation::Silu)
    return graph.silu(name, x);
  return graph.gelu(name, x, /*exact=*/mlp.activation == Activation::GeluExact);
}

/// Builds the projections of a gate and of what it gates, separately; `name` is that of the part.
Value Decoder::buildGated(const BlockGraph &block, StringRef name, Value x,
                          const MlpParts &mlp) const {
  GraphBuilder &graph = block.graph;
  auto named = [&](StringRef what) { return (name + what).str(); };
  Value gate = block.project(named(".gate"), x, mlp.gate);
  Value up = block.project(named(".up"), x, mlp.up);
  return graph.mul(named(".gated"), activate(graph, named(".act"), gate), up);
}

/// Returns the result of each expert for the rows in its places.
Value Decoder::buildEachExpert(const BlockGraph &block, Value rows, const Routing &routing) const {
  GraphBuilder &graph = block.graph;
  if (experts.joined)
    return buildJoinedExperts(block, rows, routing, *experts.joined);
  auto byExpert = [&](StringRef name, Value input, const std::string &module) {
    return graph.groupedLinear(name, input, routing, block.prefix + module + ".weight",
                               llm::WeightLayout::OutIn);
  };
  Value gate = byExpert("mlp.gate", rows, experts.gate);
  Value up = byExpert("mlp.up", rows, experts.up);
  rows = graph.mul("mlp.gated", activate(graph, "mlp.act", gate), up);
  return byExpert("mlp.down", rows, experts.down);
}

Value Decoder::buildJoinedExperts(const BlockGraph &block, Value rows, const Routing &routing,
                                  const JoinedExperts &joined) const {
  GraphBuilder &graph = block.graph;
  auto byExpert = [&](StringRef name, Value input, const std::string &weight) {
    return graph.groupedLinear(name, input, routing, block.prefix + weight,
                               llm::WeightLayout::InOut, block.prefix + weight + "_bias");
  };
  Value both = byExpert("mlp.gate_up", rows, joined.gateUp);
  Value pairs = graph.separateHeads("mlp.pairs", both, experts.inner);
  SmallVector<Value> apart = graph.split("mlp.split", pairs, {1, 1});
  Value gate = graph.clamp("mlp.gate", graph.joinHeads("mlp.gate.unclamped", apart[0]),
                           std::nullopt, joined.limit);
  Value up = graph.clamp("mlp.up", graph.joinHeads("mlp.up.unclamped", apart[1]), -joined.limit,
                         joined.limit);
  Value act = graph.silu("mlp.act", gate, joined.alpha);
  Value gated = graph.add("mlp.gated", graph.mul("mlp.gated.up", act, up), act);
  return byExpert("mlp.down", gated, joined.down);
}

Value Decoder::buildExperts(const BlockGraph &block, Value x) const {
  GraphBuilder &graph = block.graph;
  const std::string &bias = experts.biasOfChoice;
  Routing routing = graph.route(x, block.prefix + experts.router.module,
                                {.chosen = experts.chosen,
                                 .normalized = experts.normalized,
                                 .factor = experts.factor,
                                 .groups = experts.groups,
                                 .keptGroups = experts.keptGroups,
                                 .groupBest = experts.groupBest,
                                 .logistic = experts.logistic,
                                 .bias = bias.empty() ? "" : block.prefix + bias});
  Value rows = buildEachExpert(block, graph.dispatch("mlp.dispatch", x, routing), routing);
  Value y = graph.combine("mlp.combine", rows, routing);
  if (!experts.shared)
    return y;
  Value own = buildGated(block, "mlp.shared", x, *experts.shared);
  own = block.project("mlp.shared.down", own, experts.shared->down);
  if (!experts.sharedGate.empty())
    own = graph.gateRows("mlp.shared.taken", own,
                         block.project("mlp.shared.share", x, {experts.sharedGate}));
  return graph.add("mlp.experts", y, own);
}

/// Returns what the MLP adds to the residual, from its normalised input `x`.
Value Decoder::buildMlp(const BlockGraph &block, Value x) const {
  GraphBuilder &graph = block.graph;
  if (experts.isIn(block.layer))
    return buildExperts(block, x);
  Value y;
  if (mlp.gate.module.empty()) {
    y = activate(graph, "mlp.act", block.project("mlp.up", x, mlp.up));
  } else if (mlp.isFused()) {
    Value both = block.project("mlp.gate_up", x, mlp.gate);
    SmallVector<Value> halves = graph.split("mlp.split", both, {mlp.inner, mlp.inner});
    y = graph.mul("mlp.gated", activate(graph, "mlp.act", halves[0]), halves[1]);
  } else {
    y = buildGated(block, "mlp", x, mlp);
  }
  y = block.project("mlp.down", y, mlp.down);
  if (!parts.block.mlpPostNorm.empty())
    y = normalize(graph, "mlp.post_norm", y, block.prefix + parts.block.mlpPostNorm);
  return graph.dropout("mlp.dropout", y, mlp.outputDropout);
}

Value Decoder::buildBlock(const BlockGraph &block, Value x) const {
  GraphBuilder &graph = block.graph;
  auto normalized = [&](StringRef name, Value input, const std::string &module) {
    return module.empty() ? input : normalize(graph, name, input, block.prefix + module);
  };
  Value read = normalized("attn.norm", x, parts.block.attentionNorm);
  Value sum = graph.add("attn.residual", x, buildAttention(block, read));
  Value before = !parts.block.parallel ? sum : parts.block.mlpNorm.empty() ? read : x;
  Value added = buildMlp(block, normalized("mlp.norm", before, parts.block.mlpNorm));
  return graph.add("mlp.residual", sum, added);
}

Value Decoder::buildLogits(GraphBuilder &graph, Value ids) const {
  Value x = graph.embedding("embed", ids, parts.embedding);
  if (parts.embeddingScale != 1)
    x = graph.scale("embed.scaled", x, parts.embeddingScale);
  x = graph.dropout("embed.dropout", x, parts.embeddingDropout);
  for (int64_t layer = 0; layer < facts.layers; ++layer) {
    GraphBuilder::BlockScope scope(graph, layer);
    x = buildBlock({graph, parts.block.prefix + std::to_string(layer) + ".", layer}, x);
  }
  x = normalize(graph, "norm", graph.lastRows("last", x), parts.finalNorm);
  x = graph.linear(parts.softcap ? "logits.uncapped" : "logits", x,
                   parts.tied ? parts.embedding : parts.head.module, llm::WeightLayout::OutIn);
  return parts.softcap ? graph.softcap("logits", x, *parts.softcap) : x;
}

std::unique_ptr<Model> llmmem::importer::makeDecoder(DecoderParts parts) {
  return std::make_unique<Decoder>(std::move(parts));
}
