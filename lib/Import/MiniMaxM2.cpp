//===- MiniMaxM2.cpp - MiniMax-M2 (MiniMax 2025) ---------------------------===//

#include "DecoderConfig.h"

using namespace llmmem::importer;

/// Whole rows of queries and of keys are normalised, part of a head turns, and every layer has
/// experts, which are chosen by logistic scores and a bias.
DecoderParts llmmem::importer::readMiniMaxM2(ConfigReader &config, const ImportOptions &options) {
  DecoderParts parts =
      readLlamaKeys(config, options, {.thetaOr = 5e6, .rotaryElements = "rotary_dim"});
  config.onlyFlag("use_qk_norm", true);
  config.onlyText("qk_norm_type", "per_layer");
  parts.attention.queryNorm = "self_attn.q_norm";
  parts.attention.keyNorm = "self_attn.k_norm";
  parts.experts = readExperts(config, {.count = "num_local_experts", .inner = "intermediate_size"});
  parts.experts.logistic = true;
  config.onlyText("scoring_func", "sigmoid");
  config.onlyFlag("use_routing_bias", true);
  parts.experts.router.module = "block_sparse_moe.gate";
  parts.experts.biasOfChoice = "block_sparse_moe.e_score_correction_bias";
  parts.experts.gate = "block_sparse_moe.experts.*.w1";
  parts.experts.up = "block_sparse_moe.experts.*.w3";
  parts.experts.down = "block_sparse_moe.experts.*.w2";
  expectNoNoise(config, options, "router_jitter_noise");
  if (config.flagOr("use_mtp", false))
    parts.furtherTokens = config.countOr("num_mtp_modules", 0);
  else
    config.dismiss({"num_mtp_modules"});
  config.dismiss({"mtp_transformer_layers"});
  return parts;
}
