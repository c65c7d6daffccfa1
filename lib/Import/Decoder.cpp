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
  void nameAsTextPart(const TextNames &names) override;

private:
  void noteLayers();
  Value activate(GraphBuilder &graph, StringRef name, Value x) const;
  Value buildInner(const BlockGraph &block, StringRef name, Value x, const MlpParts &mlp) const;
  Value buildExperts(const BlockGraph &block, Value x) const;
  Value buildEachExpert(const BlockGraph &block, Value rows, const Routing &routing) const;
  Value buildJoinedExperts(const BlockGraph &block, Value rows, const Routing &routing,
                           const JoinedExperts &joined) const;
  Value buildClampedGate(GraphBuilder &graph, Value both, const ClampedGate &clamped) const;
  Value addBranch(GraphBuilder &graph, StringRef name, Value x, Value branch) const;
  Value buildMlp(const BlockGraph &block, Value x) const;
  Value buildBlock(const BlockGraph &block, Value x) const;

  DecoderParts parts;
  const ExpertParts &experts;
};

} // namespace

Decoder::Decoder(DecoderParts all) : parts(std::move(all)), experts(parts.experts) {
  facts.experts = experts.count;
  facts.chosenExperts = experts.chosen;
  facts.balanceLoss = experts.balanceLoss;
  facts.layers = parts.layers;
  facts.maxSeq = parts.maxSeq;
  facts.maxSeqKey = parts.maxSeqKey;
  facts.whyNotLonger = parts.whyNotLonger;
  facts.notes = parts.notes;
  if (parts.furtherTokens > 0)
    facts.notes.push_back("the layers that predict further tokens (" +
                          std::to_string(parts.furtherTokens) +
                          ") are left out, as the public library leaves them out of training");
  facts.dropsOut = parts.embeddingDropout > 0;
  noteLayers();
}

/// Notes what any of the layers has.
void Decoder::noteLayers() {
  for (int64_t layer = 0; layer < parts.layers; ++layer) {
    const LayerParts own = parts.ofLayer(layer);
    facts.dropsOut |= own.hasMlp && own.mlp.outputDropout > 0;
    if (own.convolution)
      facts.whyNotPacked = "convolutions would reach from one sequence into the next";
    if (own.state)
      facts.whyNotPacked = "states would be carried from one sequence into the next";
    if (!own.attends)
      continue;
    const AttentionParts &attention = own.attention;
    facts.dropsOut |= attention.dropout > 0 || attention.outputDropout > 0;
    facts.hasSinks |= !attention.sinks.empty();
    if (attention.isWindowed(layer))
      facts.window = attention.window;
    auto limit = [&](int64_t rows) {
      facts.longestApart = std::min(facts.longestApart.value_or(rows), rows);
    };
    if (attention.isTurned(layer) && attention.chunk)
      limit(*attention.chunk);
    else if (!attention.isTurned(layer) && attention.temperature)
      limit(attention.temperature->step - 1);
  }
}

void Decoder::nameAsTextPart(const TextNames &names) {
  for (std::string *module : {&parts.embedding, &parts.block.prefix, &parts.finalNorm})
    if (StringRef(*module).starts_with("model."))
      *module = names.decoder + module->substr(StringRef("model.").size());
  parts.head.module = names.head + parts.head.module;
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
  const MlpParts &mlp = parts.mlp;
  if (mlp.activation == Activation::Silu)
    return graph.silu(name, x);
  if (mlp.activation == Activation::ReluSquared) {
    Value positive = graph.clamp((name + ".positive").str(), x, 0.0, std::nullopt);
    return graph.mul(name, positive, positive);
  }
  return graph.gelu(name, x, /*exact=*/mlp.activation == Activation::GeluExact);
}

/// Returns what the last projection of an MLP reads; `name` is that of the part.
Value Decoder::buildInner(const BlockGraph &block, StringRef name, Value x,
                          const MlpParts &mlp) const {
  GraphBuilder &graph = block.graph;
  auto named = [&](StringRef what) { return (name + what).str(); };
  if (mlp.gate.module.empty())
    return activate(graph, named(".act"), block.project(named(".up"), x, mlp.up));
  if (mlp.isFused()) {
    Value both = block.project(named(".gate_up"), x, mlp.gate);
    SmallVector<Value> halves = graph.split(named(".split"), both, {mlp.inner, mlp.inner});
    return graph.mul(named(".gated"), activate(graph, named(".act"), halves[0]), halves[1]);
  }
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
  if (experts.gate.empty()) {
    rows = activate(graph, "mlp.act", byExpert("mlp.up", rows, experts.up));
    return byExpert("mlp.down", rows, experts.down);
  }
  Value gate = byExpert("mlp.gate", rows, experts.gate);
  Value up = byExpert("mlp.up", rows, experts.up);
  rows = graph.mul("mlp.gated", activate(graph, "mlp.act", gate), up);
  return byExpert("mlp.down", rows, experts.down);
}

Value Decoder::buildJoinedExperts(const BlockGraph &block, Value rows, const Routing &routing,
                                  const JoinedExperts &joined) const {
  GraphBuilder &graph = block.graph;
  auto byExpert = [&](StringRef name, Value input, const std::string &weight) {
    return graph.experts.groupedLinear(name, input, routing, block.prefix + weight, joined.layout,
                                       block.prefix + weight + "_bias");
  };
  Value both = byExpert("mlp.gate_up", rows, joined.gateUp);
  if (joined.clamped)
    return byExpert("mlp.down", buildClampedGate(graph, both, *joined.clamped), joined.down);
  SmallVector<Value> halves = graph.split("mlp.split", both, {experts.inner, experts.inner});
  Value gated = graph.mul("mlp.gated", activate(graph, "mlp.act", halves[0]), halves[1]);
  return byExpert("mlp.down", gated, joined.down);
}

Value Decoder::buildClampedGate(GraphBuilder &graph, Value both, const ClampedGate &clamped) const {
  Value pairs = graph.separateHeads("mlp.pairs", both, experts.inner);
  SmallVector<Value> apart = graph.split("mlp.split", pairs, {1, 1});
  Value gate = graph.clamp("mlp.gate", graph.joinHeads("mlp.gate.unclamped", apart[0]),
                           std::nullopt, clamped.limit);
  Value up = graph.clamp("mlp.up", graph.joinHeads("mlp.up.unclamped", apart[1]), -clamped.limit,
                         clamped.limit);
  Value act = graph.silu("mlp.act", gate, clamped.alpha);
  return graph.add("mlp.gated", graph.mul("mlp.gated.up", act, up), act);
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
  const bool weighsInput = experts.weighsInput;
  Value row = experts.latent ? block.project("mlp.latent", x, experts.latentDown) : x;
  Value read = graph.experts.dispatch("mlp.dispatch", row, routing, weighsInput);
  Value rows = buildEachExpert(block, read, routing);
  Value y = graph.experts.combine("mlp.combine", rows, routing, !weighsInput);
  if (experts.latent)
    y = block.project("mlp.widened", y, experts.latentUp);
  if (!experts.shared)
    return y;
  Value own = buildInner(block, "mlp.shared", x, *experts.shared);
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
  const MlpParts &mlp = block.own.mlp;
  Value y = block.project("mlp.down", buildInner(block, "mlp", x, mlp), mlp.down);
  y = block.normalizeIfAny("mlp.post_norm", y, parts.block.mlpPostNorm);
  return graph.dropout("mlp.dropout", y, mlp.outputDropout);
}

/// Adds what a branch says to the residual.
Value Decoder::addBranch(GraphBuilder &graph, StringRef name, Value x, Value branch) const {
  if (parts.block.branchScale != 1)
    branch = graph.scale((name + ".scaled").str(), branch, parts.block.branchScale);
  return graph.add((name + ".residual").str(), x, branch);
}

Value Decoder::buildBlock(const BlockGraph &block, Value x) const {
  GraphBuilder &graph = block.graph;
  Value read = x, sum = x;
  if (block.own.attends) {
    read = block.normalizeIfAny("attn.norm", x, parts.block.attentionNorm);
    sum = addBranch(graph, "attn", x, buildAttention(block, read));
  } else if (block.own.convolution) {
    read = block.normalizeIfAny("conv.norm", x, parts.block.attentionNorm);
    sum = addBranch(graph, "conv", x, buildConvolution(block, read));
  } else if (block.own.state) {
    read = block.normalizeIfAny("state.norm", x, parts.block.attentionNorm);
    sum = addBranch(graph, "state", x, buildState(block, read));
  }
  if (!block.own.hasMlp)
    return sum;
  Value before = !parts.block.parallel ? sum : parts.block.mlpNorm.empty() ? read : x;
  Value added = buildMlp(block, block.normalizeIfAny("mlp.norm", before, parts.block.mlpNorm));
  return addBranch(graph, "mlp", sum, added);
}

Value Decoder::buildLogits(GraphBuilder &graph, Value ids) const {
  Value x = graph.embedding("embed", ids, parts.embedding);
  if (parts.embeddingScale != 1)
    x = graph.scale("embed.scaled", x, parts.embeddingScale);
  x = graph.dropout("embed.dropout", x, parts.embeddingDropout);
  for (int64_t layer = 0; layer < facts.layers; ++layer) {
    GraphBuilder::BlockScope scope(graph, layer);
    const std::string prefix = parts.block.prefix + std::to_string(layer) + ".";
    x = buildBlock({parts, graph, prefix, layer, parts.ofLayer(layer)}, x);
  }
  x = normalize(graph, parts.norm, "norm", graph.attention.lastRows("last", x), parts.finalNorm);
  if (parts.logitsScale != 1) // of what the head reads, so that the loss head keeps its chunks
    x = graph.scale("norm.scaled", x, parts.logitsScale);
  x = graph.linear(parts.softcap ? "logits.uncapped" : "logits", x,
                   parts.tied ? parts.embedding : parts.head.module);
  return parts.softcap ? graph.softcap("logits", x, *parts.softcap) : x;
}

std::unique_ptr<Model> llmmem::importer::makeDecoder(DecoderParts parts) {
  return std::make_unique<Decoder>(std::move(parts));
}
