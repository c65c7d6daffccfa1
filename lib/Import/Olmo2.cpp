//===- Olmo2.cpp - OLMo 2 (OLMo team 2024) ---------------------------------===//

#include "DecoderConfig.h"

using namespace llmmem::importer;

/// Branches are normalised after them, not before, and so are whole rows of queries and of keys.
std::unique_ptr<Model> llmmem::importer::readOlmo2(ConfigReader &config,
                                                   const ImportOptions &options) {
  DecoderParts parts = readLlamaKeys(config, options, {.kvHeadsOr = true});
  parts.attention.output.bias = config.flagOr("attention_bias", false);
  setInputBias(parts.attention, parts.attention.output.bias);
  parts.attention.queryNorm = "self_attn.q_norm";
  parts.attention.keyNorm = "self_attn.k_norm";
  parts.block.attentionNorm.clear();
  parts.block.attentionPostNorm = "post_attention_layernorm";
  parts.block.mlpNorm.clear();
  parts.block.mlpPostNorm = "post_feedforward_layernorm";
  return makeDecoder(std::move(parts));
}
