//===- T5.cpp - T5, an encoder and a decoder (Raffel et al. 2020) ---------===//

#include "llmmem/Import/GraphBuilder.h"
#include "llmmem/Import/Model.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::importer;

namespace {

/// Describes the encoder or the decoder. Blocks are numbered through both.
struct Stack {
  std::string module; ///< "encoder" or "decoder"
  int64_t layers = 0;
  int64_t firstBlock = 0;
  bool decodes = false;

  std::string sublayer(int64_t layer, int64_t number) const {
    return module + ".block." + std::to_string(layer) + ".layer." + std::to_string(number) + ".";
  }
  /// The parts are attention, attention to the encoder in a decoder, and the feed-forward.
  int64_t feedForward() const { return decodes ? 2 : 1; }
};

/// Has norms before each branch, no biases, and scores that are not scaled but have a bias by
/// distance, which all layers of a stack share. So attention is built from separate ops: no fused
/// op reads biases. It has many fields because each is a key of the config.
class T5 final : public Model {
public:
  T5(ConfigReader &config, const ImportOptions &options);
  std::vector<Parameter> parameters() const override;
  Value buildLogits(GraphBuilder &graph, Value ids) const override;

private:
  void readActivation(ConfigReader &config);
  void readBuckets(ConfigReader &config);
  void addStack(std::vector<Parameter> &list, const Stack &stack) const;

  Value buildStack(GraphBuilder &graph, const Stack &stack, Value ids, Value encoded) const;
  /// Describes the attention of a layer: the names of its ops and parameters, the rows of an
  /// encoder that it reads (null: its own), and the bias of its scores (null: none).
  struct Attention {
    std::string name, sublayer, module;
    Value encoded, bias;
    bool bidirectional;
  };
  Value buildAttention(GraphBuilder &graph, const Attention &of, Value x) const;
  Value buildFeedForward(GraphBuilder &graph, const std::string &sublayer, Value x) const;
  Value activate(GraphBuilder &graph, Value x) const;
  Value branch(GraphBuilder &graph, const std::string &name, Value x, Value y) const {
    return graph.add(name + ".residual", x, graph.dropout(name + ".dropout", y, dropout));
  }

  Stack encoder, decoder;
  int64_t width, heads, headSize, inner, vocabulary, buckets, maxDistance, start, padding;
  double eps, dropout;
  std::string activation;
  bool isGated, isTied;
};

} // namespace

//===----------------------------------------------------------------------===//
// Config
//===----------------------------------------------------------------------===//

void T5::readActivation(ConfigReader &config) {
  std::string projection = config.optionalText("feed_forward_proj").value_or("relu");
  if (projection != "relu" && projection != "gated-gelu" && projection != "gated-silu")
    config.fail("key " + config.quoted("feed_forward_proj") + " is \"" + projection +
                "\", expected one of relu, gated-gelu, gated-silu");
  StringRef function = projection;
  isGated = function.consume_front("gated-");
  activation = function.str();
}

void T5::readBuckets(ConfigReader &config) {
  buckets = config.optionalPositive("relative_attention_num_buckets").value_or(32);
  maxDistance = config.optionalPositive("relative_attention_max_distance").value_or(128);
  if (buckets % 4 != 0)
    config.fail("key " + config.quoted("relative_attention_num_buckets") + " is " + Twine(buckets) +
                ", expected a multiple of 4");
  else if (maxDistance <= buckets / 2)
    config.fail(
        "key " + config.quoted("relative_attention_max_distance") + " is " + Twine(maxDistance) +
        ", expected more than half of 'relative_attention_num_buckets', " + Twine(buckets / 2));
}

T5::T5(ConfigReader &config, const ImportOptions &options) {
  width = config.positive("d_model");
  headSize = config.positive("d_kv");
  inner = config.positive("d_ff");
  heads = config.positive("num_heads");
  vocabulary = config.positive("vocab_size");
  int64_t layers = config.positive("num_layers");
  int64_t ofDecoder = config.optionalPositive("num_decoder_layers").value_or(layers);
  eps = config.positiveRealOr("layer_norm_epsilon", 1e-6);
  dropout = readDropout(config, options, "dropout_rate", 0.1);
  isTied = config.flagOr("tie_word_embeddings", true);
  start = config.countOr("decoder_start_token_id", 0);
  padding = config.countOr("pad_token_id", 0);
  config.onlyFlag("is_encoder_decoder", true);
  config.onlyFlag("is_decoder", false);
  readActivation(config);
  readBuckets(config);
  for (auto [key, id] : {std::pair("decoder_start_token_id", start), {"pad_token_id", padding}})
    if (id < 0 || id >= vocabulary)
      config.fail("key " + config.quoted(key) + " is " + Twine(id) +
                  ", which is outside of 'vocab_size', " + Twine(vocabulary));

  layers = options.layers.value_or(layers);
  encoder = {"encoder", layers};
  decoder = {"decoder", options.layers.value_or(ofDecoder), layers, /*decodes=*/true};
  facts.layers = layers;
  facts.maxSeqKey = "relative_attention_max_distance";
  facts.maxSeq = std::numeric_limits<int32_t>::max() / 2;
  facts.dropsOut = dropout > 0;
  facts.encodes = true;
  facts.whyNoCaches = "the decoder of an encoder-decoder has no caches yet";
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

void T5::addStack(std::vector<Parameter> &list, const Stack &stack) const {
  auto addNorm = [&](const std::string &module) {
    list.push_back({module + "layer_norm.weight", {width}});
  };
  for (int64_t layer = 0; layer < stack.layers; ++layer) {
    for (int64_t number = 0; number < stack.feedForward(); ++number) {
      std::string sublayer = stack.sublayer(layer, number);
      std::string module = sublayer + (number == 0 ? "SelfAttention." : "EncDecAttention.");
      for (const char *name : {"q", "k", "v"})
        addProjection(list, module + name, heads * headSize, width, /*hasBias=*/false);
      addProjection(list, module + "o", width, heads * headSize, /*hasBias=*/false);
      if (layer == 0 && number == 0)
        list.push_back({module + "relative_attention_bias.weight", {buckets, heads}});
      addNorm(sublayer);
    }
    std::string sublayer = stack.sublayer(layer, stack.feedForward());
    for (const char *name : {"wi_0", "wi_1"})
      if (isGated)
        addProjection(list, sublayer + "DenseReluDense." + name, inner, width, /*hasBias=*/false);
    if (!isGated)
      addProjection(list, sublayer + "DenseReluDense.wi", inner, width, /*hasBias=*/false);
    addProjection(list, sublayer + "DenseReluDense.wo", width, inner, /*hasBias=*/false);
    addNorm(sublayer);
  }
  list.push_back({stack.module + ".final_layer_norm.weight", {width}});
}

std::vector<Parameter> T5::parameters() const {
  std::vector<Parameter> list;
  list.push_back(tableOf("shared.weight", vocabulary, width));
  addStack(list, encoder);
  addStack(list, decoder);
  if (!isTied) {
    addProjection(list, "lm_head", vocabulary, width, /*hasBias=*/false);
    list.back().head = true;
  }
  return list;
}

//===----------------------------------------------------------------------===//
// Graph
//===----------------------------------------------------------------------===//

Value T5::buildAttention(GraphBuilder &graph, const Attention &of, Value x) const {
  const auto &[name, sublayer, module, encoded, bias, bidirectional] = of;
  Value normed = graph.rmsNorm(name + ".norm", x, sublayer + "layer_norm", eps);
  Value read = encoded ? encoded : normed;
  Value q = graph.linear(name + ".q", normed, sublayer + module + ".q");
  Value k = graph.linear(name + ".k", read, sublayer + module + ".k");
  Value v = graph.linear(name + ".v", read, sublayer + module + ".v");
  Value y = graph.attention.attend(q, k, v,
                                   {.heads = heads,
                                    .kvHeads = heads,
                                    .headSize = headSize,
                                    .dropout = dropout,
                                    .scale = 1.0,
                                    .bidirectional = bidirectional,
                                    .bias = bias,
                                    .name = name});
  return branch(graph, name, x, graph.linear(name + ".proj", y, sublayer + module + ".o"));
}

Value T5::activate(GraphBuilder &graph, Value x) const {
  if (activation == "gelu")
    return graph.gelu("mlp.act", x);
  if (activation == "silu")
    return graph.silu("mlp.act", x);
  return graph.clamp("mlp.act", x, /*low=*/0.0, /*high=*/std::nullopt);
}

Value T5::buildFeedForward(GraphBuilder &graph, const std::string &sublayer, Value x) const {
  std::string module = sublayer + "DenseReluDense.";
  Value normed = graph.rmsNorm("mlp.norm", x, sublayer + "layer_norm", eps);
  Value y = activate(graph, graph.linear(isGated ? "mlp.gate" : "mlp.up", normed,
                                         module + (isGated ? "wi_0" : "wi")));
  if (isGated)
    y = graph.mul("mlp.gated", y, graph.linear("mlp.up", normed, module + "wi_1"));
  y = graph.dropout("mlp.dropped", y, dropout);
  return branch(graph, "mlp", x, graph.linear("mlp.down", y, module + "wo"));
}

Value T5::buildStack(GraphBuilder &graph, const Stack &stack, Value ids, Value encoded) const {
  const std::string &name = stack.module;
  Value x = graph.embedding(name + ".embed", ids, "shared");
  x = graph.dropout(name + ".embed.dropout", x, dropout);
  int64_t seq = cast<RankedTensorType>(ids.getType()).getDimSize(1);
  Value bias = graph.relativeBias(
      name + ".bias", stack.sublayer(0, 0) + "SelfAttention.relative_attention_bias",
      {buckets, maxDistance, /*bidirectional=*/!stack.decodes, /*queries=*/seq, /*keys=*/seq});
  for (int64_t layer = 0; layer < stack.layers; ++layer) {
    GraphBuilder::BlockScope scope(graph, stack.firstBlock + layer);
    x = buildAttention(graph,
                       {.name = "attn",
                        .sublayer = stack.sublayer(layer, 0),
                        .module = "SelfAttention",
                        .encoded = Value(),
                        .bias = bias,
                        .bidirectional = !stack.decodes},
                       x);
    if (stack.decodes)
      x = buildAttention(graph,
                         {.name = "cross",
                          .sublayer = stack.sublayer(layer, 1),
                          .module = "EncDecAttention",
                          .encoded = encoded,
                          .bias = Value(),
                          .bidirectional = true},
                         x);
    x = buildFeedForward(graph, stack.sublayer(layer, stack.feedForward()), x);
  }
  x = graph.rmsNorm(name + ".norm", x, name + ".final_layer_norm", eps);
  return graph.dropout(name + ".dropout", x, dropout);
}

Value T5::buildLogits(GraphBuilder &graph, Value ids) const {
  Value encoded = buildStack(graph, encoder, ids, Value());
  Value read = graph.decoderIds("decoder.ids", start, padding);
  Value x = buildStack(graph, decoder, read, encoded);
  // A tied head multiplies by an embedding whose rows were not scaled.
  if (isTied)
    x = graph.scale("scaled", x, 1.0 / std::sqrt(static_cast<double>(width)));
  return graph.linear("logits", x, isTied ? "shared" : "lm_head");
}

std::unique_ptr<Model> llmmem::importer::readT5(ConfigReader &config,
                                                const ImportOptions &options) {
  return std::make_unique<T5>(config, options);
}
