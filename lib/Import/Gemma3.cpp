//===- Gemma3.cpp - Gemma 3, text alone (Gemma team 2025) ------------------===//

#include "Gemma.h"

using namespace llmmem::importer;
using llvm::StringRef;

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

/// Five layers with a window precede one without. Queries and keys are normalised per head.
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
