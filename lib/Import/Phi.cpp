//===- Phi.cpp - Phi-1 to Phi-4 -------------------------------------------===//

#include "DecoderConfig.h"

using namespace llmmem::importer;

/// Reads Phi-1, Phi-1.5 and Phi-2 (Gunasekar et al. 2023). Attention and MLP are parallel, after
/// one layer norm. There are biases everywhere, the head included.
DecoderParts llmmem::importer::readPhi(ConfigReader &config, const ImportOptions &options) {
  KeyNames names;
  names.norm = NormStyle::Kind::Layer;
  names.eps = "layer_norm_eps";
  names.rotaryFractionOr = 0.5;
  names.kvHeadsOr = true;
  DecoderParts parts = readLlamaKeys(config, options, names);
  config.onlyFlag("qk_layernorm", false);
  setInputBias(parts.attention, true);
  parts.attention.output = {"self_attn.dense", true};
  parts.mlp.gate.module.clear();
  parts.mlp.up = {"mlp.fc1", true};
  parts.mlp.down = {"mlp.fc2", true};
  parts.embeddingDropout = readDropout(config, options, "embd_pdrop", 0.0);
  parts.attention.outputDropout = parts.mlp.outputDropout =
      readDropout(config, options, "resid_pdrop", 0.0);
  parts.block.parallel = true;
  parts.block.mlpNorm.clear();
  parts.finalNorm = "model.final_layernorm";
  parts.head.bias = true;
  if (parts.tied)
    config.fail("key " + config.quoted("tie_word_embeddings") +
                " is true, expected false: a tied head with a bias is not "
                "supported");
  return parts;
}

/// Reads Phi-3 and Phi-4 (Abdin et al. 2024). There is one projection for queries, keys and values,
/// and one for the gate and what it gates.
DecoderParts llmmem::importer::readPhi3(ConfigReader &config, const ImportOptions &options) {
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
  return parts;
}
