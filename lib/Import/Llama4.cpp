//===- Llama4.cpp - Llama 4, text alone (Meta 2025) ------------------------===//

#include "DecoderConfig.h"
#include "llvm/ADT/STLExtras.h"

using namespace llmmem::importer;

/// Scores multiply what experts read. A layer without experts has a wider MLP of its own.
static void readLlama4Experts(ConfigReader &config, const ImportOptions &options,
                              DecoderParts &parts) {
  parts.experts = readExperts(config, {.count = "num_local_experts", .inner = "intermediate_size"});
  parts.experts.logistic = true;
  parts.experts.normalized = false;
  parts.experts.weighsInput = true;
  parts.experts.router.module = "feed_forward.router";
  parts.experts.joined = JoinedExperts{.gateUp = "feed_forward.experts.gate_up_proj",
                                       .down = "feed_forward.experts.down_proj",
                                       .clamped = std::nullopt};
  MlpParts shared = parts.mlp;
  shared.gate.module = "feed_forward.shared_expert.gate_proj";
  shared.up.module = "feed_forward.shared_expert.up_proj";
  shared.down.module = "feed_forward.shared_expert.down_proj";
  parts.experts.shared = shared;
  expectNoNoise(config, options, "router_jitter_noise");
  std::vector<int64_t> layers = config.counts("moe_layers");
  const int64_t every = config.optionalPositive("interleave_moe_layer_step").value_or(1);
  parts.experts.hasExperts = [layers, every](int64_t layer) {
    return layers.empty() ? (layer + 1) % every == 0 : llvm::is_contained(layers, layer);
  };
  parts.mlp.inner = config.optionalPositive("intermediate_size_mlp").value_or(16384);
  parts.mlp.gate.module = "feed_forward.gate_proj";
  parts.mlp.up.module = "feed_forward.up_proj";
  parts.mlp.down.module = "feed_forward.down_proj";
}

/// Layers with positions attend within chunks, and queries of the others grow with the logarithm of
/// their position from `floor_scale` on.
static void readLongContext(ConfigReader &config, DecoderParts &parts) {
  parts.attention.chunk = config.optionalPositive("attention_chunk_size").value_or(8192);
  const std::vector<std::string> none;
  const Temperature temperature{config.optionalPositive("floor_scale").value_or(8192),
                                config.positiveRealOr("attn_scale", 0.1)};
  if (config.flagOr("attn_temperature_tuning", true))
    parts.attention.temperature = temperature;
  for (auto [layer, type] : llvm::enumerate(config.optionalTexts("layer_types").value_or(none)))
    if ((type == "chunked_attention") != parts.attention.isTurned(static_cast<int64_t>(layer)))
      config.fail("key " + config.quoted("layer_types") + " says \"" + type + "\" of layer " +
                  llvm::Twine(layer) +
                  ", expected chunked_attention of those with positions alone");
}

DecoderParts llmmem::importer::readLlama4Text(ConfigReader &config, const ImportOptions &options) {
  DecoderParts parts = readLlamaKeys(config, options, {.kvHeadsOr = true, .thetaOr = 5e5});
  parts.attention.rotary.interleaved = true;
  parts.attention.output.bias = config.flagOr("attention_bias", false);
  setInputBias(parts.attention, parts.attention.output.bias);
  if (config.flagOr("use_qk_norm", true))
    parts.attention.turnedNormEps = parts.norm.eps;
  readLayersWithoutPositions(config, parts, 4);
  readLlama4Experts(config, options, parts);
  readLongContext(config, parts);
  return parts;
}
