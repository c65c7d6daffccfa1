//===- Qwen2Moe.cpp - Qwen1.5-MoE and Qwen2-MoE (Yang et al. 2024) ---------===//

#include "DecoderConfig.h"

using namespace llmmem::importer;

/// This is Qwen2 with experts, and a shared one of which each token takes a share.
std::unique_ptr<Model> llmmem::importer::readQwen2Moe(ConfigReader &config,
                                                      const ImportOptions &options) {
  DecoderParts parts = readLlamaKeys(config, options);
  setInputBias(parts.attention, config.flagOr("qkv_bias", true));
  // Versions of the public library differ in which layers have one.
  config.onlyFlag("use_sliding_window", false);
  readQwenExperts(config, parts);
  MlpParts shared = parts.mlp;
  shared.inner = config.positive("shared_expert_intermediate_size");
  shared.gate.module = "mlp.shared_expert.gate_proj";
  shared.up.module = "mlp.shared_expert.up_proj";
  shared.down.module = "mlp.shared_expert.down_proj";
  parts.experts.shared = shared;
  parts.experts.sharedGate = "mlp.shared_expert_gate";
  return makeDecoder(std::move(parts));
}
