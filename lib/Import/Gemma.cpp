//===- Gemma.cpp - Gemma 1 to 3, text alone -------------------------------===//

#include "DecoderConfig.h"
#include <cmath>

using namespace llmmem::importer;
using llvm::StringRef;

/// Adds norms with an offset of 1, embeddings times sqrt(width), and a tied head.
static DecoderParts readGemmaKeys(ConfigReader &config, const ImportOptions &options,
                                  KeyNames names) {
  names.tiedOr = true;
  DecoderParts parts = readLlamaKeys(config, options, names);
  parts.attention.output.bias = config.flagOr("attention_bias", false);
  setInputBias(parts.attention, parts.attention.output.bias);
  config.onlyFlag("use_bidirectional_attention", false);
  parts.norm.offset = 1;
  parts.embeddingScale = std::sqrt(static_cast<double>(parts.width));
  return parts;
}

/// Reads Gemma (Gemma team 2024).
DecoderParts llmmem::importer::readGemma(ConfigReader &config, const ImportOptions &options) {
  DecoderParts parts = readGemmaKeys(config, options, {});
  // The first files say "gelu" and mean the tanh approximation, which the public library uses, too.
  if (parts.mlp.activation == MlpParts::Activation::GeluExact)
    parts.mlp.activation = MlpParts::Activation::GeluTanh;
  return parts;
}

/// Adds what versions 2 and 3 have: norms after the branches as well, a scale of scores, caps, and
/// windows.
static DecoderParts readGemma2Keys(ConfigReader &config, const ImportOptions &options,
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

/// Reads Gemma 2 (Gemma team 2024). Every other layer has a window, and scores and logits are
/// capped.
DecoderParts llmmem::importer::readGemma2(ConfigReader &config, const ImportOptions &options) {
  DecoderParts parts = readGemma2Keys(config, options, {});
  parts.attention.softcap = config.positiveRealOrNone("attn_logit_softcapping", 50.0);
  parts.softcap = config.positiveRealOrNone("final_logit_softcapping", 30.0);
  parts.attention.hasWindow = [](int64_t layer) { return layer % 2 == 0; };
  readLayerTypes(config, parts);
  return parts;
}

/// Reads Gemma 3, text alone (Gemma team 2025). Five layers with a window precede one without.
/// Queries and keys are normalised per head.
DecoderParts llmmem::importer::readGemma3Text(ConfigReader &config, const ImportOptions &options) {
  DecoderParts parts = readGemma2Keys(config, options, {.rotaryByLayerType = true});
  readRotaryByLayerType(config, options, parts, 1e6,
                        config.positiveRealOr("rope_local_base_freq", 1e4));
  parts.attention.queryNorm = "self_attn.q_norm";
  parts.attention.keyNorm = "self_attn.k_norm";
  parts.attention.normsHeads = true;
  parts.attention.softcap = config.positiveRealOrNone("attn_logit_softcapping");
  parts.softcap = config.positiveRealOrNone("final_logit_softcapping");
  // Newer files have the key with an underscore.
  int64_t pattern = 6;
  for (StringRef key : {"_sliding_window_pattern", "sliding_window_pattern"})
    pattern = config.optionalPositive(key).value_or(pattern);
  parts.attention.hasWindow = [pattern](int64_t layer) { return (layer + 1) % pattern != 0; };
  readLayerTypes(config, parts);
  return parts;
}
