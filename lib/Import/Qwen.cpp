//===- Qwen.cpp - Qwen2, Qwen3 and their mixtures of experts --------------===//

#include "DecoderConfig.h"

using namespace llmmem::importer;

/// Reads Qwen2 and Qwen2.5 (Yang et al. 2024).
DecoderParts llmmem::importer::readQwen2(ConfigReader &config, const ImportOptions &options) {
  DecoderParts parts = readLlamaKeys(config, options);
  setInputBias(parts.attention, true);
  readSwitchedWindow(config, parts);
  return parts;
}

/// Reads MiMo (Xiaomi 2025): Qwen2 with layers after the last one that predict further tokens.
DecoderParts llmmem::importer::readMimo(ConfigReader &config, const ImportOptions &options) {
  DecoderParts parts = readLlamaKeys(config, options);
  setInputBias(parts.attention, config.flagOr("attention_bias", true));
  readSwitchedWindow(config, parts);
  config.onlyFlag("use_mrope", false);
  parts.furtherTokens = config.countOr("num_nextn_predict_layers", 0);
  return parts;
}

/// Versions of the public library differ in which layers of a mixture have a window.
static void refuseSwitchedWindow(ConfigReader &config) {
  config.onlyFlag("use_sliding_window", false);
  config.dismiss({"sliding_window", "max_window_layers"});
}

/// Reads Qwen1.5-MoE and Qwen2-MoE (Yang et al. 2024). This is Qwen2 with experts, and a shared one
/// of which each token takes a share.
DecoderParts llmmem::importer::readQwen2Moe(ConfigReader &config, const ImportOptions &options) {
  DecoderParts parts = readLlamaKeys(config, options);
  setInputBias(parts.attention, config.flagOr("qkv_bias", true));
  refuseSwitchedWindow(config);
  readQwenExperts(config, parts);
  readSharedExpert(config, parts);
  return parts;
}

/// Reads what Qwen3 has with experts and without (Yang et al. 2025). Queries and keys are
/// normalised per head.
static DecoderParts readQwen3Keys(ConfigReader &config, const ImportOptions &options) {
  DecoderParts parts = readLlamaKeys(config, options);
  parts.attention.output.bias = config.flagOr("attention_bias", false);
  setInputBias(parts.attention, parts.attention.output.bias);
  parts.attention.queryNorm = "self_attn.q_norm";
  parts.attention.keyNorm = "self_attn.k_norm";
  parts.attention.normsHeads = true;
  config.onlyFlag("use_qk_norm", true); // Some files say so.
  return parts;
}

/// Reads Qwen3 without experts.
DecoderParts llmmem::importer::readQwen3(ConfigReader &config, const ImportOptions &options) {
  DecoderParts parts = readQwen3Keys(config, options);
  readSwitchedWindow(config, parts);
  return parts;
}

/// Reads Qwen3 with experts, none of which is shared.
DecoderParts llmmem::importer::readQwen3Moe(ConfigReader &config, const ImportOptions &options) {
  DecoderParts parts = readQwen3Keys(config, options);
  refuseSwitchedWindow(config);
  readQwenExperts(config, parts);
  return parts;
}
