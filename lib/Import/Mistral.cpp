//===- Mistral.cpp - Mistral 7B (Jiang et al. 2023) ------------------------===//

#include "RotaryDecoder.h"

using namespace llmmem::importer;

std::unique_ptr<Model> llmmem::importer::readMistral(ConfigReader &config,
                                                     const ImportOptions &options) {
  RotaryTraits traits;
  // Version 0.1 has a window of 4096, the public default; from 0.2 on the files say null: no
  // window.
  traits.window = config.optionalPositive("sliding_window");
  if (!config.mentions("sliding_window"))
    traits.window = 4096;
  return readRotaryDecoder(config, options, traits);
}
