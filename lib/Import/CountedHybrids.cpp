//===- CountedHybrids.cpp - Decoders with layers that carry a state -------===//
//
// Gated DeltaNet (Yang et al. 2024), Mamba (Gu and Dao 2023) and Mamba-2 (Dao and Gu 2024) have no
// op here yet, so that the parameters of these models are counted alone.
//
//===----------------------------------------------------------------------===//

#include "Counted.h"
#include "LayerKinds.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace llmmem::importer;
using llvm::StringRef;
using llvm::Twine;

namespace {
/// Holds the sizes that all of these models have.
struct Sizes {
  explicit Sizes(ConfigReader &config)
      : width(config.positive("hidden_size")), vocabulary(config.positive("vocab_size")) {}
  int64_t width, vocabulary;
};

struct Heads {
  Heads(ConfigReader &config, int64_t width)
      : queries(config.positive("num_attention_heads")),
        keys(config.optionalPositive("num_key_value_heads").value_or(queries)) {
    for (StringRef key : {"head_dim", "attention_head_dim"})
      size = config.optionalPositive(key).value_or(size);
    size = size ? size : width / queries;
    bias = config.flagOr("attention_bias", false);
  }
  int64_t queries, keys, size = 0;
  bool bias;
};

/// Describes the mixer of Mamba-2.
struct Mamba2 {
  int64_t heads = 0, headSize = 0, groups = 0, state = 0, taps = 0;
  bool convBias = true, projectionBias = false;
};
} // namespace

/// Lists the last norm and, unless it is the embedding, the head. `isTied` is the default.
static void addHead(ShapeList &shapes, ConfigReader &config, const Sizes &sizes, StringRef norm,
                    bool isTied) {
  shapes.setPrefix("");
  shapes.norm(norm.str(), sizes.width);
  if (!config.flagOr("tie_word_embeddings", isTied))
    shapes.linear("lm_head", sizes.vocabulary, sizes.width);
}

static void addAttention(ShapeList &shapes, const std::string &module, const Heads &heads,
                         int64_t width, int64_t queryTimes = 1) {
  shapes.linear(module + ".q_proj", queryTimes * heads.queries * heads.size, width, heads.bias);
  shapes.linear(module + ".k_proj", heads.keys * heads.size, width, heads.bias);
  shapes.linear(module + ".v_proj", heads.keys * heads.size, width, heads.bias);
  shapes.linear(module + ".o_proj", width, heads.queries * heads.size, heads.bias);
}

static void addGatedMlp(ShapeList &shapes, const std::string &module, int64_t inner,
                        int64_t width) {
  shapes.linear(module + ".gate_proj", inner, width);
  shapes.linear(module + ".up_proj", inner, width);
  shapes.linear(module + ".down_proj", width, inner);
}

/// The kinds of layers of all of these models that are no mixture and no MLP.
static constexpr StringRef kCarriesState = "linear_attention", kAttends = "full_attention";

//===----------------------------------------------------------------------===//
// Gated DeltaNet
//===----------------------------------------------------------------------===//

/// Qwen3-Next joins projections that Qwen3.5 has apart; together they are as large.
static void addDeltaNet(ShapeList &shapes, ConfigReader &config, int64_t width) {
  const int64_t keyHeads = config.positive("linear_num_key_heads"),
                valueHeads = config.positive("linear_num_value_heads"),
                valueSize = config.positive("linear_value_head_dim"),
                keys = keyHeads * config.positive("linear_key_head_dim"),
                values = valueHeads * valueSize;
  shapes.add("linear_attn.dt_bias", {valueHeads});
  shapes.add("linear_attn.A_log", {valueHeads});
  shapes.add("linear_attn.conv1d.weight",
             {2 * keys + values, 1, config.positive("linear_conv_kernel_dim")});
  shapes.linear("linear_attn.in_proj_qkvz", 2 * keys + 2 * values, width);
  shapes.linear("linear_attn.in_proj_ba", 2 * valueHeads, width);
  shapes.norm("linear_attn.norm", valueSize);
  shapes.linear("linear_attn.out_proj", width, values);
}

static void addQwenExperts(ShapeList &shapes, ConfigReader &config, int64_t width) {
  const int64_t experts = config.positive("num_experts"),
                inner = config.positive("moe_intermediate_size");
  shapes.linear("mlp.gate", experts, width);
  shapes.add("mlp.experts.gate_up_proj", {experts, 2 * inner, width});
  shapes.add("mlp.experts.down_proj", {experts, width, inner});
  addGatedMlp(shapes, "mlp.shared_expert", config.positive("shared_expert_intermediate_size"),
              width);
  shapes.linear("mlp.shared_expert_gate", 1, width);
}

/// Three of four layers have gated DeltaNet, and the others attention whose queries have a gate.
static std::unique_ptr<Model> countQwen(ConfigReader &config, bool hasExperts) {
  const Sizes sizes(config);
  const Heads heads(config, sizes.width);
  const int64_t layers = readLayers(config),
                every = config.optionalPositive("full_attention_interval").value_or(4);
  std::vector<std::string> kinds =
      readKinds(config, "layer_types", {kCarriesState, kAttends}, layers);
  if (kinds.empty())
    for (int64_t layer = 0; layer < layers; ++layer)
      kinds.push_back(((layer + 1) % every == 0 ? kAttends : kCarriesState).str());
  ShapeList shapes;
  shapes.linear("model.embed_tokens", sizes.vocabulary, sizes.width);
  for (auto [layer, kind] : llvm::enumerate(kinds)) {
    shapes.setPrefix("model.layers." + Twine(layer) + ".");
    if (kind == kCarriesState) {
      addDeltaNet(shapes, config, sizes.width);
    } else {
      addAttention(shapes, "self_attn", heads, sizes.width, /*queryTimes=*/2);
      shapes.norm("self_attn.q_norm", heads.size);
      shapes.norm("self_attn.k_norm", heads.size);
    }
    if (hasExperts)
      addQwenExperts(shapes, config, sizes.width);
    else
      addGatedMlp(shapes, "mlp", config.positive("intermediate_size"), sizes.width);
    shapes.norm("input_layernorm", sizes.width);
    shapes.norm("post_attention_layernorm", sizes.width);
  }
  addHead(shapes, config, sizes, "model.norm", /*isTied=*/false);
  return makeCounted(std::move(shapes), layers,
                     "layers of gated DeltaNet, linear attention with a state");
}

/// Counts Qwen3-Next and the mixtures of Qwen3.5 (Qwen team 2025 and 2026).
std::unique_ptr<Model> llmmem::importer::readQwen3Next(ConfigReader &config,
                                                       const ImportOptions &) {
  return countQwen(config, /*hasExperts=*/true);
}

/// Counts Qwen3.5 without experts.
std::unique_ptr<Model> llmmem::importer::readQwen35(ConfigReader &config, const ImportOptions &) {
  return countQwen(config, /*hasExperts=*/false);
}

//===----------------------------------------------------------------------===//
// Mamba-2
//===----------------------------------------------------------------------===//

static void addMamba2(ShapeList &shapes, const std::string &module, const Mamba2 &mamba,
                      int64_t width) {
  const int64_t inner = mamba.heads * mamba.headSize, states = 2 * mamba.groups * mamba.state;
  for (StringRef name : {".dt_bias", ".A_log", ".D"})
    shapes.add(module + name, {mamba.heads});
  shapes.add(module + ".conv1d.weight", {inner + states, 1, mamba.taps});
  if (mamba.convBias)
    shapes.add(module + ".conv1d.bias", {inner + states});
  shapes.linear(module + ".in_proj", 2 * inner + states + mamba.heads, width, mamba.projectionBias);
  shapes.norm(module + ".norm", inner);
  shapes.linear(module + ".out_proj", width, inner, mamba.projectionBias);
}

/// An expert has two matrices, and with `moe_latent_size` reads and writes a narrower row.
static void addNemotronExperts(ShapeList &shapes, ConfigReader &config, int64_t width) {
  const int64_t experts = config.positive("n_routed_experts"),
                inner = config.positive("moe_intermediate_size"),
                latent = config.optionalPositive("moe_latent_size").value_or(0),
                row = latent ? latent : width;
  shapes.add("mixer.experts.up_proj", {experts, inner, row});
  shapes.add("mixer.experts.down_proj", {experts, row, inner});
  shapes.linear("mixer.gate", experts, width);
  shapes.add("mixer.gate.e_score_correction_bias", {experts});
  const int64_t shared = config.optionalPositive("moe_shared_expert_intermediate_size").value_or(0);
  if (shared) {
    shapes.linear("mixer.shared_experts.up_proj", shared, width);
    shapes.linear("mixer.shared_experts.down_proj", width, shared);
  }
  if (latent) {
    shapes.linear("mixer.fc1_latent_proj", latent, width);
    shapes.linear("mixer.fc2_latent_proj", width, latent);
  }
}

/// Reads the kind of each layer from a text such as "MEM*-" or a list.
static std::vector<std::string> readNemotronKinds(ConfigReader &config) {
  std::vector<std::string> kinds;
  const std::optional<std::string> pattern = config.optionalText("hybrid_override_pattern");
  for (char letter : pattern.value_or("")) {
    const StringRef kind = llvm::StringSwitch<StringRef>(StringRef(&letter, 1))
                               .Case("M", kCarriesState)
                               .Case("E", "moe")
                               .Case("*", kAttends)
                               .Case("-", "mlp")
                               .Default("");
    if (kind.empty())
      config.fail("key " + config.quoted("hybrid_override_pattern") + " has the letter '" +
                  Twine(letter) + "', expected M (Mamba-2), * (attention), E (experts) or - (MLP)");
    kinds.push_back(kind.str());
  }
  if (!pattern)
    kinds = readKinds(config, config.has("layer_types") ? "layer_types" : "layers_block_type",
                      {kCarriesState, kAttends, "moe", "mlp"}, std::nullopt);
  if (kinds.empty())
    config.fail("missing key " + config.quoted("layers_block_type") +
                " or 'hybrid_override_pattern', which say what each layer is");
  return kinds;
}

/// Counts Nemotron-H and Nemotron 3 (NVIDIA 2025 and 2026): a layer is a mixer, attention, an MLP
/// or a mixture of experts.
std::unique_ptr<Model> llmmem::importer::readNemotronH(ConfigReader &config,
                                                       const ImportOptions &) {
  const Sizes sizes(config);
  const Heads heads(config, sizes.width);
  const Mamba2 mamba{config.positive("mamba_num_heads"),
                     config.positive("mamba_head_dim"),
                     config.positive("n_groups"),
                     config.positive("ssm_state_size"),
                     config.positive("conv_kernel"),
                     config.flagOr("use_conv_bias", true),
                     config.flagOr("mamba_proj_bias", false)};
  const std::vector<std::string> kinds = readNemotronKinds(config);
  ShapeList shapes;
  shapes.linear("model.embeddings", sizes.vocabulary, sizes.width);
  for (auto [layer, kind] : llvm::enumerate(kinds)) {
    shapes.setPrefix("model.layers." + Twine(layer) + ".");
    shapes.norm("norm", sizes.width);
    if (kind == kCarriesState) {
      addMamba2(shapes, "mixer", mamba, sizes.width);
    } else if (kind == kAttends) {
      addAttention(shapes, "mixer", heads, sizes.width);
    } else if (kind == "moe") {
      addNemotronExperts(shapes, config, sizes.width);
    } else {
      const int64_t inner = config.positive("intermediate_size");
      shapes.linear("mixer.up_proj", inner, sizes.width);
      shapes.linear("mixer.down_proj", sizes.width, inner);
    }
  }
  addHead(shapes, config, sizes, "model.norm_f", /*isTied=*/false);
  return makeCounted(std::move(shapes), static_cast<int64_t>(kinds.size()),
                     "Mamba-2 layers, which carry a state along the sequence");
}

/// Counts Granite 4 (IBM 2025): a mixer or attention, then experts and an MLP that every token goes
/// through.
std::unique_ptr<Model> llmmem::importer::readGraniteHybrid(ConfigReader &config,
                                                           const ImportOptions &) {
  const Sizes sizes(config);
  const Heads heads(config, sizes.width);
  const int64_t layers = readLayers(config), experts = config.countOr("num_local_experts", 0),
                inner = config.positive("intermediate_size"),
                shared = config.positive("shared_intermediate_size");
  const Mamba2 mamba{config.positive("mamba_n_heads"),       config.positive("mamba_d_head"),
                     config.positive("mamba_n_groups"),      config.positive("mamba_d_state"),
                     config.positive("mamba_d_conv"),        config.flagOr("mamba_conv_bias", true),
                     config.flagOr("mamba_proj_bias", false)};
  std::vector<std::string> kinds =
      readKinds(config, config.has("layer_types") ? "layer_types" : "layers_block_type",
                {kCarriesState, kAttends}, layers);
  if (kinds.empty())
    kinds.assign(static_cast<size_t>(layers), kCarriesState.str());
  ShapeList shapes;
  shapes.linear("model.embed_tokens", sizes.vocabulary, sizes.width);
  for (auto [layer, kind] : llvm::enumerate(kinds)) {
    shapes.setPrefix("model.layers." + Twine(layer) + ".");
    kind == kCarriesState ? addMamba2(shapes, "mamba", mamba, sizes.width)
                          : addAttention(shapes, "self_attn", heads, sizes.width);
    if (experts) {
      shapes.linear("block_sparse_moe.router.layer", experts, sizes.width);
      shapes.add("block_sparse_moe.input_linear.weight", {experts, 2 * inner, sizes.width});
      shapes.add("block_sparse_moe.output_linear.weight", {experts, sizes.width, inner});
    }
    shapes.linear("shared_mlp.input_linear", 2 * shared, sizes.width);
    shapes.linear("shared_mlp.output_linear", sizes.width, shared);
    shapes.norm("input_layernorm", sizes.width);
    shapes.norm("post_attention_layernorm", sizes.width);
  }
  addHead(shapes, config, sizes, "model.norm", /*isTied=*/false);
  return makeCounted(std::move(shapes), layers,
                     "Mamba-2 layers, which carry a state along the sequence");
}

//===----------------------------------------------------------------------===//
// Mamba
//===----------------------------------------------------------------------===//

namespace {
/// Describes the mixer of Mamba.
struct Mamba {
  int64_t inner = 0, state = 0, taps = 0, rank = 0;
  bool convBias = true, projectionBias = false;
};
} // namespace

/// Reads a rank, which "auto" derives from the width.
static int64_t readRank(ConfigReader &config, StringRef key, int64_t width) {
  if (config.hasText(key)) {
    config.onlyText(key, "auto");
    return llvm::divideCeil(width, 16);
  }
  return config.optionalPositive(key).value_or(llvm::divideCeil(width, 16));
}

static void addMamba(ShapeList &shapes, const std::string &module, const Mamba &mamba,
                     int64_t width) {
  shapes.add(module + ".A_log", {mamba.inner, mamba.state});
  shapes.add(module + ".D", {mamba.inner});
  shapes.add(module + ".conv1d.weight", {mamba.inner, 1, mamba.taps});
  if (mamba.convBias)
    shapes.add(module + ".conv1d.bias", {mamba.inner});
  shapes.linear(module + ".in_proj", 2 * mamba.inner, width, mamba.projectionBias);
  shapes.linear(module + ".x_proj", mamba.rank + 2 * mamba.state, mamba.inner);
  shapes.linear(module + ".dt_proj", mamba.inner, mamba.rank, /*bias=*/true);
  shapes.linear(module + ".out_proj", width, mamba.inner, mamba.projectionBias);
}

/// Counts Mamba, whose head is the embedding unless the config says otherwise.
std::unique_ptr<Model> llmmem::importer::readMamba(ConfigReader &config, const ImportOptions &) {
  const Sizes sizes(config);
  const int64_t layers = readLayers(config);
  const int64_t expanded = config.optionalPositive("expand").value_or(2) * sizes.width;
  const Mamba mamba{config.optionalPositive("intermediate_size").value_or(expanded),
                    config.positive("state_size"),
                    config.positive("conv_kernel"),
                    readRank(config, "time_step_rank", sizes.width),
                    config.flagOr("use_conv_bias", true),
                    config.flagOr("use_bias", false)};
  ShapeList shapes;
  shapes.linear("backbone.embeddings", sizes.vocabulary, sizes.width);
  for (int64_t layer = 0; layer < layers; ++layer) {
    shapes.setPrefix("backbone.layers." + Twine(layer) + ".");
    shapes.norm("norm", sizes.width);
    addMamba(shapes, "mixer", mamba, sizes.width);
  }
  addHead(shapes, config, sizes, "backbone.norm_f", /*isTied=*/true);
  return makeCounted(std::move(shapes), layers,
                     "Mamba layers, which carry a state along the sequence");
}

/// Counts Jamba (Lieber et al. 2024): one layer of a period has attention, one of another has
/// experts.
std::unique_ptr<Model> llmmem::importer::readJamba(ConfigReader &config, const ImportOptions &) {
  const Sizes sizes(config);
  const Heads heads(config, sizes.width);
  const int64_t layers = readLayers(config), attends = config.positive("attn_layer_period"),
                attentionFirst = config.countOr("attn_layer_offset", 4),
                mixes = config.positive("expert_layer_period"),
                expertsFirst = config.countOr("expert_layer_offset", 1),
                experts = config.positive("num_experts"),
                inner = config.positive("intermediate_size");
  const Mamba mamba{config.optionalPositive("mamba_expand").value_or(2) * sizes.width,
                    config.positive("mamba_d_state"),
                    config.positive("mamba_d_conv"),
                    readRank(config, "mamba_dt_rank", sizes.width),
                    config.flagOr("mamba_conv_bias", true),
                    config.flagOr("mamba_proj_bias", false)};
  ShapeList shapes;
  shapes.linear("model.embed_tokens", sizes.vocabulary, sizes.width);
  for (int64_t layer = 0; layer < layers; ++layer) {
    shapes.setPrefix("model.layers." + Twine(layer) + ".");
    if (layer % attends == attentionFirst) {
      addAttention(shapes, "self_attn", heads, sizes.width);
    } else {
      addMamba(shapes, "mamba", mamba, sizes.width);
      shapes.norm("mamba.dt_layernorm", mamba.rank);
      shapes.norm("mamba.b_layernorm", mamba.state);
      shapes.norm("mamba.c_layernorm", mamba.state);
    }
    if (layer % mixes == expertsFirst && experts > 1) {
      shapes.linear("feed_forward.router", experts, sizes.width);
      shapes.add("feed_forward.experts.gate_up_proj", {experts, 2 * inner, sizes.width});
      shapes.add("feed_forward.experts.down_proj", {experts, sizes.width, inner});
    } else {
      addGatedMlp(shapes, "feed_forward", inner, sizes.width);
    }
    shapes.norm("input_layernorm", sizes.width);
    shapes.norm("pre_ff_layernorm", sizes.width);
  }
  addHead(shapes, config, sizes, "model.final_layernorm", /*isTied=*/false);
  return makeCounted(std::move(shapes), layers,
                     "Mamba layers, which carry a state along the sequence");
}
