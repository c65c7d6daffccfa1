//===- StableLm.cpp - StableLM 3B and StableLM 2 (Bellagente et al. 2024) --===//

#include "DecoderConfig.h"

using namespace llmmem::importer;

/// This is Llama with layer norms, and rotary positions on a quarter of each head.
DecoderParts llmmem::importer::readStableLm(ConfigReader &config, const ImportOptions &options) {
  KeyNames names;
  names.norm = NormStyle::Kind::Layer;
  names.eps = "layer_norm_eps";
  names.rotaryFractionOr = 0.25;
  DecoderParts parts = readLlamaKeys(config, options, names);
  setInputBias(parts.attention, config.flagOr("use_qkv_bias", false));
  config.onlyFlag("qk_layernorm", false);
  parts.mlp.outputDropout = readDropout(config, options, "hidden_dropout", 0.0);
  parts.block.parallel = config.flagOr("use_parallel_residual", false);
  if (parts.block.parallel)
    parts.block.mlpNorm.clear();
  return parts;
}
