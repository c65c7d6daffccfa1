//===- CountedGemma4.cpp - Gemma 4, text alone (Gemma team 2026) ----------===//
//
// Layers without a window have larger heads, the last layers read the keys and values of earlier
// ones, and each layer may have an embedding of its own. The parameters are counted alone.
//
//===----------------------------------------------------------------------===//

#include "Counted.h"
#include "LayerKinds.h"

using namespace llmmem::importer;
using llvm::StringRef;
using llvm::Twine;

namespace {
/// Holds what a layer may have of its own.
struct Gemma4Layer {
  int64_t headSize = 0, kvHeads = 0;
  bool isFull = false; ///< It has no window.
};

/// Holds what the layers of a model share.
struct Gemma4 {
  explicit Gemma4(ConfigReader &config);
  void addAttention(ShapeList &shapes, const Gemma4Layer &layer, bool isShared) const;
  void addExperts(ShapeList &shapes) const;
  void addLayer(ShapeList &shapes, const Gemma4Layer &layer, bool isShared) const;

  int64_t width, inner, heads;
  int64_t ownEmbedding, experts = 0, expertInner = 0;
  bool keysAreValues, isWideWhereShared;
};
} // namespace

Gemma4::Gemma4(ConfigReader &config)
    : width(config.positive("hidden_size")), inner(config.positive("intermediate_size")),
      heads(config.positive("num_attention_heads")),
      ownEmbedding(config.countOr("hidden_size_per_layer_input", 256)),
      keysAreValues(config.flagOr("attention_k_eq_v", false)),
      isWideWhereShared(config.flagOr("use_double_wide_mlp", false)) {
  if (!config.flagOr("enable_moe_block", false))
    return;
  experts = config.positive("num_experts");
  expertInner = config.positive("moe_intermediate_size");
}

/// Layers that read the keys and values of another one have no projections for them.
void Gemma4::addAttention(ShapeList &shapes, const Gemma4Layer &layer, bool isShared) const {
  const int64_t size = layer.headSize, keys = layer.kvHeads * size;
  shapes.linear("self_attn.q_proj", heads * size, width);
  shapes.norm("self_attn.q_norm", size);
  if (!isShared) {
    shapes.norm("self_attn.k_norm", size);
    shapes.linear("self_attn.k_proj", keys, width);
    if (!keysAreValues || !layer.isFull)
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

void Gemma4::addLayer(ShapeList &shapes, const Gemma4Layer &layer, bool isShared) const {
  addAttention(shapes, layer, isShared);
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

/// Reads which layers have no window: by default every sixth, and always the last one.
static std::vector<Gemma4Layer> readWindows(ConfigReader &config, int64_t layers) {
  std::vector<Gemma4Layer> list(static_cast<size_t>(layers));
  const std::vector<std::string> kinds =
      readKinds(config, "layer_types", {"sliding_attention", "full_attention"}, layers);
  constexpr int64_t kEvery = 6;
  for (auto [number, layer] : llvm::enumerate(list))
    layer.isFull =
        number < kinds.size() ? kinds[number] == "full_attention" : (number + 1) % kEvery == 0;
  list.back().isFull = true;
  return list;
}

/// Reads the heads of each layer. Older files give those of layers without a window
/// ('global_head_dim'); newer ones list the layers that differ ('per_layer_config').
static std::vector<Gemma4Layer> readHeads(ConfigReader &config, int64_t layers,
                                          bool keysAreValues) {
  std::vector<Gemma4Layer> list = readWindows(config, layers);
  const int64_t size = config.positive("head_dim"),
                kvHeads = config.positive("num_key_value_heads"),
                fullSize = config.optionalPositive("global_head_dim").value_or(512),
                fullKvHeads =
                    config.optionalPositive("num_global_key_value_heads").value_or(kvHeads);
  const llvm::json::Object *own = config.optionalObject("per_layer_config");
  for (auto [number, layer] : llvm::enumerate(list)) {
    const bool isOther = layer.isFull && !own;
    layer.headSize = isOther ? fullSize : size;
    layer.kvHeads = isOther && keysAreValues ? fullKvHeads : kvHeads;
    const std::string name = std::to_string(number);
    const llvm::json::Object *changes = own ? own->getObject(name) : nullptr;
    if (!changes)
      continue;
    ConfigReader reader(*changes, config.getFile(), "per_layer_config." + name);
    layer.headSize = reader.optionalPositive("head_dim").value_or(size);
    layer.kvHeads = reader.optionalPositive("num_key_value_heads").value_or(kvHeads);
    for (const UnusedKey &unused : reader.unusedKeys())
      reader.fail("key '" + unused.name +
                  "' changes one layer; 'head_dim' and 'num_key_value_heads' alone are supported");
    config.absorb(reader);
  }
  return list;
}

std::unique_ptr<Model> llmmem::importer::readGemma4Text(ConfigReader &config,
                                                        const ImportOptions &) {
  const Gemma4 parts(config);
  const int64_t layers = readLayers(config), vocabulary = config.positive("vocab_size"),
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
  for (auto [number, layer] : llvm::enumerate(readHeads(config, layers, parts.keysAreValues))) {
    shapes.setPrefix("model.layers." + Twine(number) + ".");
    parts.addLayer(shapes, layer, static_cast<int64_t>(number) >= layers - shared);
  }
  shapes.setPrefix("");
  shapes.norm("model.norm", parts.width);
  if (!config.flagOr("tie_word_embeddings", true))
    shapes.linear("lm_head", vocabulary, parts.width);
  return makeCounted(std::move(shapes), layers,
                     "heads of two sizes, and layers that share keys and values");
}
