//===- Glm4Moe.cpp - GLM-4.5, 4.6 and 4.7 (Z.ai 2025) ----------------------===//

#include "DecoderConfig.h"

using namespace llmmem::importer;

/// Half of each head turns. After an MLP in the first layers experts are chosen as in DeepSeek-V3,
/// next to a shared one.
DecoderParts llmmem::importer::readGlm4Moe(ConfigReader &config, const ImportOptions &options) {
  DecoderParts parts = readLlamaKeys(config, options, {.rotaryFractionOr = 0.5});
  setInputBias(parts.attention, config.flagOr("attention_bias", false));
  if (config.flagOr("use_qk_norm", false)) {
    parts.attention.queryNorm = "self_attn.q_norm";
    parts.attention.keyNorm = "self_attn.k_norm";
    parts.attention.normsHeads = true;
  }
  parts.experts = readExperts(config, {.count = "n_routed_experts", .hasBalance = false});
  parts.experts.factor = config.positiveRealOr("routed_scaling_factor", 1.0);
  readLogisticRouter(config, parts.experts, 1);
  readLayersWithExperts(config, parts, config.countOr("first_k_dense_replace", 1));
  parts.experts.shared =
      sharedExperts(parts, config.optionalPositive("n_shared_experts").value_or(1));
  parts.furtherTokens = config.countOr("num_nextn_predict_layers", 0);
  return parts;
}
