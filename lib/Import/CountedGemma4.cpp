//===- CountedGemma4.cpp - Gemma 4, text alone (Gemma team 2026) ----------===//
//
// Layers without a window have larger heads, the last layers read the keys and values of earlier
// ones, and each layer may have an embedding of its own. The parameters are counted alone.
//
//===----------------------------------------------------------------------===//

#include "Counted.h"

using namespace llmmem::importer;
using llvm::StringRef;
using llvm::Twine;

namespace {
/// Holds what the layers of a model share.
struct Gemma4 {
  explicit Gemma4(ConfigReader &config);
  void addAttention(ShapeList &shapes, bool isFull, bool isShared) const;
  void addExperts(ShapeList &shapes) const;
  void addLayer(ShapeList &shapes, bool isFull, bool isShared) const;

  int64_t width, inner, heads, headSize, globalSize, kvHeads, globalKvHeads;
  int64_t ownEmbedding, experts = 0, expertInner = 0;
  bool keysAreValues, isWideWhereShared;
};
} // namespace

Gemma4::Gemma4(ConfigReader &config)
    : width(config.positive("hidden_size")), inner(config.positive("intermediate_size")),
      heads(config.positive("num_attention_heads")), headSize(config.positive("head_dim")),
      globalSize(config.optionalPositive("global_head_dim").value_or(512)),
      kvHeads(config.positive("num_key_value_heads")), globalKvHeads(kvHeads),
      ownEmbedding(config.countOr("hidden_size_per_layer_input", 256)),
      keysAreValues(config.flagOr("attention_k_eq_v", false)),
      isWideWhereShared(config.flagOr("use_double_wide_mlp", false)) {
  std::optional<int64_t> global = config.optionalPositive("num_global_key_value_heads");
  if (keysAreValues && global)
    globalKvHeads = *global;
  if (!config.flagOr("enable_moe_block", false))
    return;
  experts = config.positive("num_experts");
  expertInner = config.positive("moe_intermediate_size");
}

/// Layers that read the keys and values of another one have no projections for them.
void Gemma4::addAttention(ShapeList &shapes, bool isFull, bool isShared) const {
  const int64_t size = isFull ? globalSize : headSize;
  const int64_t keys = (isFull ? globalKvHeads : kvHeads) * size;
  shapes.linear("self_attn.q_proj", heads * size, width);
  shapes.norm("self_attn.q_norm", size);
  if (!isShared) {
    shapes.norm("self_attn.k_norm", size);
    shapes.linear("self_attn.k_proj", keys, width);
    if (!keysAreValues || !isFull)
      shapes.linear("self_attn.v_proj", keys, width);
  }
  shapes.linear("self_attn.o_proj", width, heads * size);
}

/// Experts stand next to the MLP, each with norms of its own.
void Gemma4::addExperts(ShapeList &shapes) const {
  shapes.add("router.scale", {width});
  shapes.add("router.per_expert_scale", {experts});
  shapes.linear("router.proj", experts, width);
  shapes.add("experts.gate_up_proj", {experts, 2 * expertInner, width});
  shapes.add("experts.down_proj", {experts, width, expertInner});
  for (StringRef name : {"post_feedforward_layernorm_1", "post_feedforward_layernorm_2",
                         "pre_feedforward_layernorm_2"})
    shapes.norm(name, width);
}

void Gemma4::addLayer(ShapeList &shapes, bool isFull, bool isShared) const {
  addAttention(shapes, isFull, isShared);
  const int64_t own = isShared && isWideWhereShared ? 2 * inner : inner;
  shapes.linear("mlp.gate_proj", own, width);
  shapes.linear("mlp.up_proj", own, width);
  shapes.linear("mlp.down_proj", width, own);
  for (StringRef name : {"input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm",
                         "post_feedforward_layernorm"})
    shapes.norm(name, width);
  if (ownEmbedding) {
    shapes.linear("per_layer_input_gate", ownEmbedding, width);
    shapes.linear("per_layer_projection", width, ownEmbedding);
    shapes.norm("post_per_layer_input_norm", width);
  }
  if (experts)
    addExperts(shapes);
  shapes.add("layer_scalar", {1});
}

/// Returns whether each layer has no window: by default every sixth and the last one.
static std::vector<bool> readFullLayers(ConfigReader &config, int64_t layers) {
  std::vector<bool> full;
  for (const std::string &type :
       config.optionalTexts("layer_types").value_or(std::vector<std::string>()))
    full.push_back(type == "full_attention");
  if (!full.empty() && static_cast<int64_t>(full.size()) != layers)
    config.fail("key " + config.quoted("layer_types") + " lists " + Twine(full.size()) +
                " layers, 'num_hidden_layers' is " + Twine(layers));
  for (int64_t layer = static_cast<int64_t>(full.size()); layer < layers; ++layer)
    full.push_back((layer + 1) % 6 == 0);
  if (!full.empty())
    full.back() = true;
  return full;
}

std::unique_ptr<Model> llmmem::importer::readGemma4Text(ConfigReader &config,
                                                        const ImportOptions &) {
  const Gemma4 parts(config);
  const int64_t layers = config.positive("num_hidden_layers"),
                vocabulary = config.positive("vocab_size"),
                shared = config.countOr("num_kv_shared_layers", 0),
                ownWidth = layers * parts.ownEmbedding;
  ShapeList shapes;
  shapes.linear("model.embed_tokens", vocabulary, parts.width);
  if (parts.ownEmbedding) {
    shapes.linear("model.embed_tokens_per_layer",
                  config.optionalPositive("vocab_size_per_layer_input").value_or(vocabulary),
                  ownWidth);
    shapes.linear("model.per_layer_model_projection", ownWidth, parts.width);
    shapes.norm("model.per_layer_projection_norm", parts.ownEmbedding);
  }
  const std::vector<bool> full = readFullLayers(config, layers);
  for (int64_t layer = 0; layer < layers; ++layer) {
    shapes.setPrefix("model.layers." + Twine(layer) + ".");
    parts.addLayer(shapes, full[static_cast<size_t>(layer)], layer >= layers - shared);
  }
  shapes.setPrefix("");
  shapes.norm("model.norm", parts.width);
  if (!config.flagOr("tie_word_embeddings", true))
    shapes.linear("lm_head", vocabulary, parts.width);
  return makeCounted(std::move(shapes), layers,
                     "heads of two sizes, and layers that share keys and values");
}
