//===- Decoder.cpp - The graph of a decoder by its parts -------------------===//

#include "DecoderBlock.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::importer;

namespace {

class Decoder final : public Model {
public:
  explicit Decoder(DecoderParts all);
  /// The user may ask for fewer layers than the config has (`facts`).
  std::vector<Parameter> parameters() const override { return parametersOf(parts, facts.layers); }
  Value buildLogits(GraphBuilder &graph, Value ids) const override;

private:
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

Value llmmem::importer::normalize(GraphBuilder &graph, const NormStyle &norm, StringRef name,
                                  Value x, const std::string &module) {
  if (norm.kind == NormStyle::Kind::Layer)
    return graph.layerNorm(name, x, module, norm.eps);
  return graph.rmsNorm(name, x, module, norm.eps, norm.offset);
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
    return graph.experts.groupedLinear(name, input, routing, block.prefix + module + ".weight",
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
    return graph.experts.groupedLinear(name, input, routing, block.prefix + weight,
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
  Routing routing = graph.experts.route(x, block.prefix + experts.router.module,
                                        {.chosen = experts.chosen,
                                         .normalized = experts.normalized,
                                         .factor = experts.factor,
                                         .groups = experts.groups,
                                         .keptGroups = experts.keptGroups,
                                         .groupBest = experts.groupBest,
                                         .logistic = experts.logistic,
                                         .bias = bias.empty() ? "" : block.prefix + bias});
  Value rows = buildEachExpert(block, graph.experts.dispatch("mlp.dispatch", x, routing), routing);
  Value y = graph.experts.combine("mlp.combine", rows, routing);
  if (!experts.shared)
    return y;
  Value own = buildGated(block, "mlp.shared", x, *experts.shared);
  own = block.project("mlp.shared.down", own, experts.shared->down);
  if (!experts.sharedGate.empty())
    own = graph.experts.gateRows("mlp.shared.taken", own,
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
  y = block.normalizeIfAny("mlp.post_norm", y, parts.block.mlpPostNorm);
  return graph.dropout("mlp.dropout", y, mlp.outputDropout);
}

Value Decoder::buildBlock(const BlockGraph &block, Value x) const {
  GraphBuilder &graph = block.graph;
  Value read = block.normalizeIfAny("attn.norm", x, parts.block.attentionNorm);
  Value sum = graph.add("attn.residual", x, buildAttention(block, read));
  Value before = !parts.block.parallel ? sum : parts.block.mlpNorm.empty() ? read : x;
  Value added = buildMlp(block, block.normalizeIfAny("mlp.norm", before, parts.block.mlpNorm));
  return graph.add("mlp.residual", sum, added);
}

Value Decoder::buildLogits(GraphBuilder &graph, Value ids) const {
  Value x = graph.embedding("embed", ids, parts.embedding);
  if (parts.embeddingScale != 1)
    x = graph.scale("embed.scaled", x, parts.embeddingScale);
  x = graph.dropout("embed.dropout", x, parts.embeddingDropout);
  for (int64_t layer = 0; layer < facts.layers; ++layer) {
    GraphBuilder::BlockScope scope(graph, layer);
    x = buildBlock({parts, graph, parts.block.prefix + std::to_string(layer) + ".", layer}, x);
  }
  x = normalize(graph, parts.norm, "norm", graph.attention.lastRows("last", x), parts.finalNorm);
  x = graph.linear(parts.softcap ? "logits.uncapped" : "logits", x,
                   parts.tied ? parts.embedding : parts.head.module);
  return parts.softcap ? graph.softcap("logits", x, *parts.softcap) : x;
}

std::unique_ptr<Model> llmmem::importer::makeDecoder(DecoderParts parts) {
  return std::make_unique<Decoder>(std::move(parts));
}
