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
std::unique_ptr<Model> llmmem::importer::readGemma(ConfigReader &config,
                                                   const ImportOptions &options) {
  DecoderParts parts = readGemmaKeys(config, options, {});
  // The first files say "gelu" and mean the tanh approximation, which the public library uses, too.
  if (parts.mlp.activation == MlpParts::Activation::GeluExact)
    parts.mlp.activation = MlpParts::Activation::GeluTanh;
  return makeDecoder(std::move(parts));
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
std::unique_ptr<Model> llmmem::importer::readGemma2(ConfigReader &config,
                                                    const ImportOptions &options) {
  DecoderParts parts = readGemma2Keys(config, options, {});
  parts.attention.softcap = config.positiveRealOrNone("attn_logit_softcapping", 50.0);
  parts.softcap = config.positiveRealOrNone("final_logit_softcapping", 30.0);
  parts.attention.hasWindow = [](int64_t layer) { return layer % 2 == 0; };
  readLayerTypes(config, parts);
  return makeDecoder(std::move(parts));
}

/// Layers with a window have rotary positions of their own. Newer files have an object for each
/// kind of layer, older ones rope_theta and rope_scaling for those without a window.
static void readRotaries(ConfigReader &config, const ImportOptions &options, DecoderParts &parts) {
  AttentionParts &attention = parts.attention;
  attention.rotary = {config.positiveRealOr("rope_theta", 1e6), attention.headSize, {}};
  attention.windowRotary =
      Rotary{config.positiveRealOr("rope_local_base_freq", 1e4), attention.headSize, {}};
  RotaryContext context{attention.headSize, options.longest(), parts.maxSeq, {}};
  auto readObject = [&](const llvm::json::Object *object, StringRef where, Rotary &rotary) {
    if (!object)
      return;
    ConfigReader nested(*object, config.getFile(), where);
    readRotaryObject(nested, context, rotary);
    config.absorb(nested);
  };
  readObject(config.optionalObject("rope_scaling"), "rope_scaling", attention.rotary);
  if (const llvm::json::Object *all = config.optionalObject("rope_parameters")) {
    ConfigReader kinds(*all, config.getFile(), "rope_parameters");
    readObject(kinds.optionalObject("full_attention"), "rope_parameters.full_attention",
               attention.rotary);
    readObject(kinds.optionalObject("sliding_attention"), "rope_parameters.sliding_attention",
               *attention.windowRotary);
    config.absorb(kinds);
  }
}

/// Reads Gemma 3, text alone (Gemma team 2025). Five layers with a window precede one without.
/// Queries and keys are normalised per head.
std::unique_ptr<Model> llmmem::importer::readGemma3Text(ConfigReader &config,
                                                        const ImportOptions &options) {
  DecoderParts parts = readGemma2Keys(config, options, {.rotaryByLayerType = true});
  readRotaries(config, options, parts);
  parts.attention.queryNorm = "self_attn.q_norm";
  parts.attention.keyNorm = "self_attn.k_norm";
  parts.attention.normsHeads = true;
  parts.attention.softcap = config.positiveRealOrNone("attn_logit_softcapping");
  parts.softcap = config.positiveRealOrNone("final_logit_softcapping");
  int64_t pattern = config.optionalPositive("sliding_window_pattern").value_or(6);
  parts.attention.hasWindow = [pattern](int64_t layer) { return (layer + 1) % pattern != 0; };
  readLayerTypes(config, parts);
  return makeDecoder(std::move(parts));
}
