//===- Mistral.cpp - Mistral and Mixtral ----------------------------------===//

#include "DecoderConfig.h"

using namespace llmmem::importer;

/// Reads Mistral 7B (Jiang et al. 2023).
DecoderParts llmmem::importer::readMistral(ConfigReader &config, const ImportOptions &options) {
  DecoderParts parts = readLlamaKeys(config, options);
  // Version 0.1 has a window of 4096, the public default. From 0.2 on the files say null: no
  // window.
  parts.attention.window = config.optionalPositive("sliding_window");
  if (!config.mentions("sliding_window"))
    parts.attention.window = 4096;
  readLayerTypes(config, parts);
  return parts;
}

/// Reads Mixtral 8x7B and 8x22B (Jiang et al. 2024). This is Mistral with experts in every layer,
/// whose weights are called w1, w3 and w2.
DecoderParts llmmem::importer::readMixtral(ConfigReader &config, const ImportOptions &options) {
  DecoderParts parts = readLlamaKeys(config, options);
  parts.attention.window = config.optionalPositive("sliding_window");
  parts.experts = readExperts(config, {.count = "num_local_experts", .inner = "intermediate_size"});
  parts.experts.router.module = "block_sparse_moe.gate";
  parts.experts.gate = "block_sparse_moe.experts.*.w1";
  parts.experts.up = "block_sparse_moe.experts.*.w3";
  parts.experts.down = "block_sparse_moe.experts.*.w2";
  expectNoNoise(config, options, "router_jitter_noise");
  return parts;
}
