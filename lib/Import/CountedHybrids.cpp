//===- CountedHybrids.cpp - Decoders with layers of Mamba -----------------===//
//
// Mamba (Gu and Dao 2023) has a state for each channel and no op here yet, so that the parameters
// of these models are counted alone.
//
//===----------------------------------------------------------------------===//

#include "Counted.h"
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
                         int64_t width) {
  shapes.linear(module + ".q_proj", heads.queries * heads.size, width, heads.bias);
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
