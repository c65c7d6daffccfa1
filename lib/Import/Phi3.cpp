//===- Phi3.cpp - Phi-3 and Phi-4 (Abdin et al. 2024) ----------------------===//

#include "DecoderConfig.h"

using namespace llmmem::importer;

/// There is one projection for queries, keys and values, and one for the gate and what it gates.
std::unique_ptr<Model> llmmem::importer::readPhi3(ConfigReader &config,
                                                  const ImportOptions &options) {
  DecoderParts parts = readLlamaKeys(config, options, {.kvHeadsOr = true});
  parts.attention.fusion = AttentionParts::Fusion::SideBySide;
  parts.attention.query = {"self_attn.qkv_proj", config.flagOr("attention_bias", false)};
  parts.attention.window = config.optionalPositive("sliding_window");
  parts.mlp.gate.module = "mlp.gate_up_proj";
  parts.mlp.up.module.clear();
  parts.attention.outputDropout = parts.mlp.outputDropout =
      readDropout(config, options, "resid_pdrop", 0.0);
  parts.block.listedFirst = {"self_attn.o_proj"};
  readLayerTypes(config, parts);
  return makeDecoder(std::move(parts));
}
