//===- Llama.cpp - Llama 2 and 3, and models that differ in little ---------===//

#include "DecoderConfig.h"

using namespace llmmem::importer;

/// Files from before grouped heads have no key/value heads.
static DecoderParts readLlamaParts(ConfigReader &config, const ImportOptions &options,
                                   KeyNames names = {}) {
  names.kvHeadsOr = true;
  DecoderParts parts = readLlamaKeys(config, options, names);
  parts.attention.output.bias = config.flagOr("attention_bias", false);
  setInputBias(parts.attention, parts.attention.output.bias);
  setBias(parts.mlp, config.flagOr("mlp_bias", false));
  return parts;
}

/// Reads Llama 2 and 3 (Touvron et al. 2023).
DecoderParts llmmem::importer::readLlama(ConfigReader &config, const ImportOptions &options) {
  return readLlamaParts(config, options);
}

/// Reads SmolLM3 (Bakouch et al. 2025). Every fourth layer has no positions, and it alone may have
/// a window.
DecoderParts llmmem::importer::readSmolLm3(ConfigReader &config, const ImportOptions &options) {
  DecoderParts parts = readLlamaParts(config, options, {.thetaOr = 2e6, .tiedOr = true});
  readLayersWithoutPositions(config, parts, 4);
  const bool isWindowed = config.flagOr("use_sliding_window", false);
  config.dismiss({"max_window_layers"});
  if (isWindowed) {
    parts.attention.window = config.optionalPositive("sliding_window");
    parts.attention.hasWindow = [turned = parts.attention.hasPositions](int64_t layer) {
      return !turned(layer);
    };
  } else {
    config.dismiss({"sliding_window"});
  }
  readLayerTypes(config, parts);
  return parts;
}

/// Reads Seed-OSS (ByteDance 2025), whose attention has biases before it and perhaps after it.
DecoderParts llmmem::importer::readSeedOss(ConfigReader &config, const ImportOptions &options) {
  DecoderParts parts = readLlamaKeys(config, options, {.kvHeadsOr = true});
  parts.attention.dropout = readDropout(config, options, "attention_dropout", 0.1);
  parts.attention.outputDropout = parts.mlp.outputDropout =
      readDropout(config, options, "residual_dropout", 0.1);
  setInputBias(parts.attention, config.flagOr("attention_bias", true));
  parts.attention.output.bias = config.flagOr("attention_out_bias", false);
  setBias(parts.mlp, config.flagOr("mlp_bias", false));
  return parts;
}
