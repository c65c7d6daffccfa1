//===- Mixtral.cpp - Mixtral 8x7B and 8x22B (Jiang et al. 2024) ------------===//

#include "DecoderConfig.h"

using namespace llmmem::importer;

/// This is Mistral with experts in every layer, whose weights are called w1, w3 and w2.
std::unique_ptr<Model> llmmem::importer::readMixtral(ConfigReader &config,
                                                     const ImportOptions &options) {
  DecoderParts parts = readLlamaKeys(config, options);
  parts.attention.window = config.optionalPositive("sliding_window");
  parts.experts = readExperts(config, {.count = "num_local_experts", .inner = "intermediate_size"});
  parts.experts.router.module = "block_sparse_moe.gate";
  parts.experts.gate = "block_sparse_moe.experts.*.w1";
  parts.experts.up = "block_sparse_moe.experts.*.w3";
  parts.experts.down = "block_sparse_moe.experts.*.w2";
  expectNoNoise(config, options, "router_jitter_noise");
  return makeDecoder(std::move(parts));
}
