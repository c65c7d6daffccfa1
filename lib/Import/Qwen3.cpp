//===- Qwen3.cpp - Qwen3 without experts (Yang et al. 2025) ----------------===//

#include "DecoderConfig.h"

using namespace llmmem::importer;

/// Queries and keys are normalised per head.
std::unique_ptr<Model> llmmem::importer::readQwen3(ConfigReader &config,
                                                   const ImportOptions &options) {
  DecoderParts parts = readLlamaKeys(config, options);
  parts.attention.output.bias = config.flagOr("attention_bias", false);
  setInputBias(parts.attention, parts.attention.output.bias);
  parts.attention.queryNorm = "self_attn.q_norm";
  parts.attention.keyNorm = "self_attn.k_norm";
  parts.attention.normsHeads = true;
  readSwitchedWindow(config, parts);
  return makeDecoder(std::move(parts));
}
