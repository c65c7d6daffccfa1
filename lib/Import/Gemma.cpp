//===- Gemma.cpp - Gemma (Gemma team 2024) ---------------------------------===//

#include "Gemma.h"
#include <cmath>

using namespace llmmem::importer;

DecoderParts llmmem::importer::readGemmaKeys(ConfigReader &config, const ImportOptions &options,
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

std::unique_ptr<Model> llmmem::importer::readGemma(ConfigReader &config,
                                                   const ImportOptions &options) {
  DecoderParts parts = readGemmaKeys(config, options, {});
  // The first files say "gelu" and mean the tanh approximation, which the public library uses, too.
  if (parts.mlp.activation == MlpParts::Activation::GeluExact)
    parts.mlp.activation = MlpParts::Activation::GeluTanh;
  return makeDecoder(std::move(parts));
}
