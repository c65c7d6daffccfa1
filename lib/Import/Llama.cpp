//===- Llama.cpp - Llama 2 and 3 (Touvron et al. 2023) ---------------------===//

#include "DecoderConfig.h"

using namespace llmmem::importer;

std::unique_ptr<Model> llmmem::importer::readLlama(ConfigReader &config,
                                                   const ImportOptions &options) {
  // Files from before grouped heads have no key/value heads.
  DecoderParts parts = readLlamaKeys(config, options, {.kvHeadsOr = true});
  parts.attention.output.bias = config.flagOr("attention_bias", false);
  setInputBias(parts.attention, parts.attention.output.bias);
  setBias(parts.mlp, config.flagOr("mlp_bias", false));
  return makeDecoder(std::move(parts));
}
