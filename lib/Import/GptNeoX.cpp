//===- GptNeoX.cpp - GPT-NeoX 20B and Pythia (Black et al. 2022) -----------===//

#include "DecoderConfig.h"

using namespace llmmem::importer;

/// Attention and MLP are parallel, each after a layer norm. Queries, keys and values come from one
/// projection, head after head.
DecoderParts llmmem::importer::readGptNeoX(ConfigReader &config, const ImportOptions &options) {
  KeyNames names;
  names.norm = NormStyle::Kind::Layer;
  names.eps = "layer_norm_eps";
  names.theta = "rotary_emb_base";
  names.rotaryFraction = "rotary_pct";
  names.rotaryFractionOr = 0.25;
  names.kvHeadsOr = true;
  DecoderParts parts = readLlamaKeys(config, options, names);
  bool bias = config.flagOr("attention_bias", true);
  parts.attention.fusion = AttentionParts::Fusion::ByGroup;
  parts.attention.query = {"attention.query_key_value", bias};
  parts.attention.output = {"attention.dense", bias};
  parts.mlp.gate.module.clear();
  parts.mlp.up = {"mlp.dense_h_to_4h", true};
  parts.mlp.down = {"mlp.dense_4h_to_h", true};
  parts.embeddingDropout = parts.attention.outputDropout = parts.mlp.outputDropout =
      readDropout(config, options, "hidden_dropout", 0.0);
  parts.block.prefix = "gpt_neox.layers.";
  parts.block.parallel = config.flagOr("use_parallel_residual", true);
  parts.block.listedFirst = {parts.block.attentionNorm, parts.block.mlpNorm};
  parts.embedding = "gpt_neox.embed_in";
  parts.finalNorm = "gpt_neox.final_layer_norm";
  parts.head.module = "embed_out";
  return parts;
}
