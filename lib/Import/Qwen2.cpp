//===- Qwen2.cpp - Qwen2 and Qwen2.5 (Yang et al. 2024) --------------------===//

#include "RotaryDecoder.h"

using namespace llmmem::importer;

std::unique_ptr<Model> llmmem::importer::readQwen2(ConfigReader &config,
                                                   const ImportOptions &options) {
  RotaryTraits traits;
  traits.inputBias = true;
  // The published files give a window and switch it off.
  if (config.flagOr("use_sliding_window", false)) {
    traits.window = config.positive("sliding_window");
    traits.firstWindowLayer = config.countOr("max_window_layers", 0);
  }
  return readRotaryDecoder(config, options, traits);
}
