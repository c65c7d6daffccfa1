//===- Llama.cpp - Llama 2 and 3 (Touvron et al. 2023) ---------------------===//

#include "RotaryDecoder.h"

using namespace llmmem::importer;

std::unique_ptr<Model> llmmem::importer::readLlama(ConfigReader &config,
                                                   const ImportOptions &options) {
  RotaryTraits traits;
  traits.inputBias = traits.outputBias = config.flagOr("attention_bias", false);
  traits.mlpBias = config.flagOr("mlp_bias", false);
  traits.defaultKvHeads = true; // files older than grouped heads
  return readRotaryDecoder(config, options, traits);
}
