//===- RotaryDecoder.cpp - What Llama, Mistral and Qwen2 share -------------===//

#include "RotaryDecoder.h"
#include "llmmem/Import/GraphBuilder.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::importer;

namespace {

/// Llama 3.1's stretching of slow frequencies, as read.
struct RopeScaling {
  double factor, lowFrequency, highFrequency;
  int64_t originalMaxPosition;
};

struct Rope {
  double theta = 10000;
  std::optional<RopeScaling> scaling;
};

class RotaryDecoder final : public Model {
public:
  RotaryDecoder(ConfigReader &config, const ImportOptions &options, const RotaryTraits &traits);
  std::vector<Parameter> parameters() const override;
  Value buildLogits(GraphBuilder &graph, Value ids) const override;

private:
  void checkHeads(ConfigReader &config);
  void addBlock(std::vector<Parameter> &list, const std::string &prefix) const;
  Value project(GraphBuilder &graph, StringRef name, Value x, const Twine &module) const;
  Value buildAttention(GraphBuilder &graph, const std::string &prefix, int64_t layer,
                       Value x) const;
  Value buildMlp(GraphBuilder &graph, const std::string &prefix, Value x) const;

  RotaryTraits traits;
  Rope rope;
  int64_t width, inner, heads, kvHeads, headSize, vocabulary;
  double eps, attentionDropout;
  bool tied;
};

} // namespace

static std::string blockPrefix(int64_t layer) {
  return "model.layers." + std::to_string(layer) + ".";
}

//===----------------------------------------------------------------------===//
// Config
//===----------------------------------------------------------------------===//

/// Reads the kind and the numbers of a scaling; published files name the kind by either key.
static void readScaling(ConfigReader &scaling, Rope &rope) {
  StringRef key = scaling.has("rope_type") || !scaling.has("type") ? "rope_type" : "type";
  if (scaling.choice(key, {"default", "llama3"}) != "llama3")
    return;
  rope.scaling =
      RopeScaling{scaling.positiveReal("factor"), scaling.positiveReal("low_freq_factor"),
                  scaling.positiveReal("high_freq_factor"),
                  scaling.positive("original_max_position_embeddings")};
  if (rope.scaling->highFrequency <= rope.scaling->lowFrequency)
    scaling.fail("key 'high_freq_factor' must be larger than 'low_freq_factor'");
}

/// Older files have rope_theta and rope_scaling side by side, newer ones rope_parameters with both.
static Rope readRope(ConfigReader &config) {
  Rope rope;
  rope.theta = config.positiveRealOr("rope_theta", rope.theta);
  for (StringRef key : {"rope_scaling", "rope_parameters"}) {
    const llvm::json::Object *object = config.optionalObject(key);
    if (!object)
      continue;
    ConfigReader nested(*object, config.getFile(), key);
    rope.theta = nested.positiveRealOr("rope_theta", rope.theta);
    readScaling(nested, rope);
    config.absorb(nested);
  }
  return rope;
}

RotaryDecoder::RotaryDecoder(ConfigReader &config, const ImportOptions &options,
                             const RotaryTraits &traits)
    : traits(traits) {
  width = config.positive("hidden_size");
  inner = config.positive("intermediate_size");
  heads = config.positive("num_attention_heads");
  kvHeads = traits.defaultKvHeads ? config.optionalPositive("num_key_value_heads").value_or(heads)
                                  : config.positive("num_key_value_heads");
  vocabulary = config.positive("vocab_size");
  eps = config.positiveReal("rms_norm_eps");
  config.choice("hidden_act", {"silu", "swish"}); // two names of one function
  tied = config.flagOr("tie_word_embeddings", false);
  attentionDropout = readDropout(config, options, "attention_dropout", 0.0);
  rope = readRope(config);

  facts.layers = config.positive("num_hidden_layers");
  facts.maxSeqKey = "max_position_embeddings";
  facts.maxSeq = config.positive(facts.maxSeqKey);
  facts.dropsOut = attentionDropout > 0;
  checkHeads(config);
}

void RotaryDecoder::checkHeads(ConfigReader &config) {
  std::optional<int64_t> ownSize = config.optionalPositive("head_dim");
  headSize = ownSize.value_or(width / heads);
  if (!ownSize && width % heads != 0)
    config.fail("key 'num_attention_heads' is " + Twine(heads) +
                ", which does not divide 'hidden_size', " + Twine(width) +
                ", and there is no 'head_dim'");
  if (heads % kvHeads != 0)
    config.fail("key 'num_key_value_heads' is " + Twine(kvHeads) +
                ", which does not divide 'num_attention_heads', " + Twine(heads));
  if (headSize % 2 != 0)
    config.fail("the head size is " + Twine(headSize) +
                (ownSize ? " ('head_dim')" : " ('hidden_size' / 'num_attention_heads')") +
                "; rotary positions need an even one");
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

void RotaryDecoder::addBlock(std::vector<Parameter> &list, const std::string &prefix) const {
  auto projection = [&](StringRef module, int64_t out, int64_t in, bool bias) {
    list.push_back({(prefix + module + ".weight").str(), {out, in}});
    if (bias)
      list.push_back({(prefix + module + ".bias").str(), {out}});
  };
  projection("self_attn.q_proj", heads * headSize, width, traits.inputBias);
  projection("self_attn.k_proj", kvHeads * headSize, width, traits.inputBias);
  projection("self_attn.v_proj", kvHeads * headSize, width, traits.inputBias);
  projection("self_attn.o_proj", width, heads * headSize, traits.outputBias);
  projection("mlp.gate_proj", inner, width, traits.mlpBias);
  projection("mlp.up_proj", inner, width, traits.mlpBias);
  projection("mlp.down_proj", width, inner, traits.mlpBias);
  list.push_back({prefix + "input_layernorm.weight", {width}});
  list.push_back({prefix + "post_attention_layernorm.weight", {width}});
}

std::vector<Parameter> RotaryDecoder::parameters() const {
  std::vector<Parameter> list;
  list.push_back({"model.embed_tokens.weight", {vocabulary, width}});
  for (int64_t layer = 0; layer < facts.layers; ++layer)
    addBlock(list, blockPrefix(layer));
  list.push_back({"model.norm.weight", {width}});
  if (!tied)
    list.push_back({"lm_head.weight", {vocabulary, width}});
  return list;
}

//===----------------------------------------------------------------------===//
// Graph
//===----------------------------------------------------------------------===//

static llm::RopeScalingAttr scalingAttr(MLIRContext *context, const Rope &rope) {
  if (!rope.scaling)
    return nullptr;
  Builder builder(context);
  return llm::RopeScalingAttr::get(context, builder.getF64FloatAttr(rope.scaling->factor),
                                   builder.getF64FloatAttr(rope.scaling->lowFrequency),
                                   builder.getF64FloatAttr(rope.scaling->highFrequency),
                                   rope.scaling->originalMaxPosition);
}

Value RotaryDecoder::project(GraphBuilder &graph, StringRef name, Value x,
                             const Twine &module) const {
  return graph.linear(name, x, module.str(), llm::WeightLayout::OutIn);
}

Value RotaryDecoder::buildAttention(GraphBuilder &graph, const std::string &prefix, int64_t layer,
                                    Value x) const {
  llm::RopeScalingAttr scaling = scalingAttr(graph.getContext(), rope);
  Value y = graph.rmsNorm("attn.norm", x, prefix + "input_layernorm", eps);
  Value q = project(graph, "attn.q", y, prefix + "self_attn.q_proj");
  Value k = project(graph, "attn.k", y, prefix + "self_attn.k_proj");
  Value v = project(graph, "attn.v", y, prefix + "self_attn.v_proj");
  q = graph.rope("attn.q.rope", q, heads, rope.theta, scaling);
  k = graph.rope("attn.k.rope", k, kvHeads, rope.theta, scaling);
  bool windowed = layer >= traits.firstWindowLayer;
  y = graph.attention(
      q, k, v,
      {heads, kvHeads, headSize, windowed ? traits.window : std::nullopt, attentionDropout});
  y = project(graph, "attn.proj", y, prefix + "self_attn.o_proj");
  return graph.add("attn.residual", x, y);
}

Value RotaryDecoder::buildMlp(GraphBuilder &graph, const std::string &prefix, Value x) const {
  Value y = graph.rmsNorm("mlp.norm", x, prefix + "post_attention_layernorm", eps);
  Value gate = project(graph, "mlp.gate", y, prefix + "mlp.gate_proj");
  Value up = project(graph, "mlp.up", y, prefix + "mlp.up_proj");
  y = graph.mul("mlp.gated", graph.silu("mlp.act", gate), up);
  y = project(graph, "mlp.down", y, prefix + "mlp.down_proj");
  return graph.add("mlp.residual", x, y);
}

Value RotaryDecoder::buildLogits(GraphBuilder &graph, Value ids) const {
  Value x = graph.embedding("embed", ids, "model.embed_tokens");
  for (int64_t layer = 0; layer < facts.layers; ++layer) {
    GraphBuilder::BlockScope scope(graph, layer);
    std::string prefix = blockPrefix(layer);
    x = buildAttention(graph, prefix, layer, x);
    x = buildMlp(graph, prefix, x);
  }
  x = graph.rmsNorm("norm", x, "model.norm", eps);
  return project(graph, "logits", x, tied ? "model.embed_tokens" : "lm_head");
}

std::unique_ptr<Model> llmmem::importer::readRotaryDecoder(ConfigReader &config,
                                                           const ImportOptions &options,
                                                           const RotaryTraits &traits) {
  return std::make_unique<RotaryDecoder>(config, options, traits);
}
