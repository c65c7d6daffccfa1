//===- Qwen3Moe.cpp - Qwen3 with experts (Yang et al. 2025) ----------------===//

#include "DecoderConfig.h"

using namespace llmmem::importer;

/// Queries and keys are normalised per head, and no expert is shared.
std::unique_ptr<Model> llmmem::importer::readQwen3Moe(ConfigReader &config,
                                                      const ImportOptions &options) {
  DecoderParts parts = readLlamaKeys(config, options);
  parts.attention.output.bias = config.flagOr("attention_bias", false);
  setInputBias(parts.attention, parts.attention.output.bias);
  parts.attention.queryNorm = "self_attn.q_norm";
  parts.attention.keyNorm = "self_attn.k_norm";
  parts.attention.normsHeads = true;
  config.onlyFlag("use_sliding_window", false);
  readQwenExperts(config, parts);
  return makeDecoder(std::move(parts));
}
