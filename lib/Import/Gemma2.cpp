//===- Gemma2.cpp - Gemma 2 (Gemma team 2024) ------------------------------===//

#include "Gemma.h"
#include <cmath>

using namespace llmmem::importer;

DecoderParts llmmem::importer::readGemma2Keys(ConfigReader &config, const ImportOptions &options,
                                              KeyNames names) {
  names.activation = "hidden_activation";
  DecoderParts parts = readGemmaKeys(config, options, names);
  AttentionParts &attention = parts.attention;
  attention.scale = 1.0 / std::sqrt(config.positiveReal("query_pre_attn_scalar"));
  attention.window = config.positive("sliding_window");
  parts.block.attentionPostNorm = "post_attention_layernorm";
  parts.block.mlpNorm = "pre_feedforward_layernorm";
  parts.block.mlpPostNorm = "post_feedforward_layernorm";
  return parts;
}

/// Every other layer has a window, and scores and logits are capped.
std::unique_ptr<Model> llmmem::importer::readGemma2(ConfigReader &config,
                                                    const ImportOptions &options) {
  DecoderParts parts = readGemma2Keys(config, options);
  parts.attention.softcap = config.positiveRealOrNone("attn_logit_softcapping", 50.0);
  parts.softcap = config.positiveRealOrNone("final_logit_softcapping", 30.0);
  parts.attention.hasWindow = [](int64_t layer) { return layer % 2 == 0; };
  readLayerTypes(config, parts);
  return makeDecoder(std::move(parts));
}
