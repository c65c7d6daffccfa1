//===- Mistral.cpp - Mistral 7B (Jiang et al. 2023) ------------------------===//

#include "DecoderConfig.h"

using namespace llmmem::importer;

std::unique_ptr<Model> llmmem::importer::readMistral(ConfigReader &config,
                                                     const ImportOptions &options) {
  DecoderParts parts = readLlamaKeys(config, options);
  // Version 0.1 has a window of 4096, the public default. From 0.2 on the files say null: no
  // window.
  parts.attention.window = config.optionalPositive("sliding_window");
  if (!config.mentions("sliding_window"))
    parts.attention.window = 4096;
  readLayerTypes(config, parts);
  return makeDecoder(std::move(parts));
}
