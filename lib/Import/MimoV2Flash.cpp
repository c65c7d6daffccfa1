//===- MimoV2Flash.cpp - MiMo-V2-Flash (Xiaomi 2026) -----------------------===//

#include "DecoderConfig.h"

using namespace llmmem::importer;
using llvm::StringRef;
using llvm::Twine;

/// Refuses a key of layers with a window whose value is not that of the other layers.
static void expectEqual(ConfigReader &config, StringRef key, int64_t value) {
  if (config.optionalPositive(key).value_or(value) != value)
    config.fail("key " + config.quoted(key) + " is not " + Twine(value) +
                ", the value of layers without a window; nothing else is supported");
}

/// Reads a list that has a 1 for each layer of one kind.
static std::vector<int64_t> readPattern(ConfigReader &config, StringRef key,
                                        const DecoderParts &parts) {
  std::vector<int64_t> pattern = config.counts(key);
  if (!pattern.empty() && static_cast<int64_t>(pattern.size()) != parts.layers)
    config.fail("key " + config.quoted(key) + " lists " + Twine(pattern.size()) +
                " layers, 'num_hidden_layers' is " + Twine(parts.layers));
  return pattern;
}

/// A window of `sliding_window_size` counts the keys before the query, one of `sliding_window` the
/// query, too. The first layer and every sixth have none.
static void readWindows(ConfigReader &config, DecoderParts &parts) {
  AttentionParts &attention = parts.attention;
  attention.window = config.optionalPositive("sliding_window").value_or(129);
  if (std::optional<int64_t> before = config.optionalPositive("sliding_window_size"))
    attention.window = *before + 1;
  const std::vector<int64_t> pattern = readPattern(config, "hybrid_layer_pattern", parts);
  attention.hasWindow = [pattern](int64_t layer) {
    return pattern.empty() ? layer != 0 && (layer + 1) % 6 != 0
                           : pattern[layer % static_cast<int64_t>(pattern.size())] != 0;
  };
  readLayerTypes(config, parts);
  config.dismiss({"attention_chunk_size"}); // It repeats the window, and nothing reads it.
}

/// Layers with a window have twice as many key/value heads, and sinks.
static void readWindowedHeads(ConfigReader &config, DecoderParts &parts) {
  AttentionParts &attention = parts.attention;
  attention.valueSize = config.optionalPositive("v_head_dim").value_or(128);
  if (attention.valueSize > attention.headSize)
    config.fail("key " + config.quoted("v_head_dim") + " is " + Twine(attention.valueSize) +
                ", more than 'head_dim', " + Twine(attention.headSize) +
                ", which is not supported");
  attention.valueScale = config.positiveRealOr("attention_value_scale", 0.707);
  expectEqual(config, "swa_num_attention_heads", attention.heads);
  expectEqual(config, "swa_head_dim", attention.headSize);
  expectEqual(config, "swa_v_head_dim", attention.valueSize);
  config.onlyFlag("add_swa_attention_sink_bias", true);
  config.onlyFlag("add_full_attention_sink_bias", false);
  const int64_t kvHeads =
      config.optionalPositive("swa_num_key_value_heads").value_or(2 * attention.kvHeads);
  if (attention.heads % kvHeads != 0)
    config.fail("layers with a window have " + Twine(kvHeads) +
                " key/value heads ('swa_num_key_value_heads', or twice 'num_key_value_heads'), "
                "which does not divide 'num_attention_heads', " +
                Twine(attention.heads));
  parts.vary = [kvHeads](int64_t layer, LayerParts &own) {
    if (!own.attention.isWindowed(layer))
      return;
    own.attention.kvHeads = kvHeads;
    own.attention.sinks = "self_attn.attention_sink_bias";
  };
}

/// Both kinds of layers turn the same part of a head, about bases of their own.
static void readRotaries(ConfigReader &config, const ImportOptions &options, DecoderParts &parts) {
  readRotaryByLayerType(config, options, parts, 5e6, config.positiveRealOr("swa_rope_theta", 1e4));
  AttentionParts &attention = parts.attention;
  const double fraction = config.positiveRealOr("partial_rotary_factor", 0.334);
  for (Rotary *rotary : {&attention.rotary, &*attention.windowRotary})
    if (rotary->elements == attention.headSize) // No object of the kind of layer says otherwise.
      rotary->elements = static_cast<int64_t>(static_cast<double>(attention.headSize) * fraction);
}

DecoderParts llmmem::importer::readMimoV2Flash(ConfigReader &config, const ImportOptions &options) {
  const StringRef eps = config.has("layernorm_epsilon") ? "layernorm_epsilon" : "rms_norm_eps";
  DecoderParts parts = readLlamaKeys(config, options, {.eps = eps, .rotaryByLayerType = true});
  readWindows(config, parts);
  readWindowedHeads(config, parts);
  readRotaries(config, options, parts);
  setInputBias(parts.attention, config.flagOr("attention_bias", false));
  parts.experts = readExperts(config, {.count = "n_routed_experts", .hasBalance = false});
  parts.experts.factor = config.positiveRealOr("routed_scaling_factor", 1.0);
  readLogisticRouter(config, parts.experts, 1);
  config.onlyZero("n_shared_experts");
  const std::vector<int64_t> sparse = readPattern(config, "moe_layer_freq", parts);
  readLayersWithExperts(config, parts, 1);
  if (!sparse.empty())
    parts.experts.hasExperts = [sparse](int64_t layer) {
      return sparse[layer % static_cast<int64_t>(sparse.size())] != 0;
    };
  return parts;
}
