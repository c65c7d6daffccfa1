//===- Qwen2.cpp - Qwen2 and Qwen2.5 (Yang et al. 2024) --------------------===//

#include "DecoderConfig.h"

using namespace llmmem::importer;

std::unique_ptr<Model> llmmem::importer::readQwen2(ConfigReader &config,
                                                   const ImportOptions &options) {
  DecoderParts parts = readLlamaKeys(config, options);
  setInputBias(parts.attention, true);
  readSwitchedWindow(config, parts);
  return makeDecoder(std::move(parts));
}
