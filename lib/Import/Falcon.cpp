//===- Falcon.cpp - Falcon 7B, 40B and 180B (Almazrouei et al. 2023) -------===//

#include "DecoderConfig.h"

using namespace llmmem::importer;

/// Falcon 40B and 180B have key/value heads by group, and Falcon 7B has one for all heads.
static void readGroups(ConfigReader &config, DecoderParts &parts, bool isNew) {
  parts.attention.fusion = AttentionParts::Fusion::ByGroup;
  if (!isNew)
    parts.attention.kvHeads = config.flagOr("multi_query", true) ? 1 : parts.attention.heads;
}

/// Attention and MLP are parallel, after one layer norm or one each.
static void readBlock(ConfigReader &config, BlockParts &block, bool isNew) {
  block.prefix = "transformer.h.";
  block.parallel = config.flagOr("parallel_attn", true) || isNew;
  if (isNew && config.optionalPositive("num_ln_in_parallel_attn").value_or(2) == 2) {
    block.attentionNorm = "ln_attn";
    block.mlpNorm = "ln_mlp";
  } else if (block.parallel) {
    block.mlpNorm.clear();
  }
}

DecoderParts llmmem::importer::readFalcon(ConfigReader &config, const ImportOptions &options) {
  KeyNames names;
  names.norm = NormStyle::Kind::Layer;
  names.eps = "layer_norm_epsilon";
  names.inner = "ffn_hidden_size";
  names.innerOr = 4;
  names.activation = "activation";
  names.activationOr = "gelu";
  names.kvHeads = "num_kv_heads";
  names.kvHeadsOr = true;
  names.maxSeqOr = 2048;
  names.tiedOr = true;
  DecoderParts parts = readLlamaKeys(config, options, names);
  config.onlyFlag("alibi", false);
  bool isNew = config.flagOr("new_decoder_architecture", false),
       bias = config.flagOr("bias", false);
  readGroups(config, parts, isNew);
  readBlock(config, parts.block, isNew);
  parts.attention.query = {"self_attention.query_key_value", bias};
  parts.attention.output = {"self_attention.dense", bias};
  parts.mlp.gate.module.clear();
  parts.mlp.up = {"mlp.dense_h_to_4h", bias};
  parts.mlp.down = {"mlp.dense_4h_to_h", bias};
  // The public code applies dropout to the sum of both branches, or by attention_dropout after
  // attention.
  if (config.probabilityOr("hidden_dropout", 0.0) > 0 && options.trains())
    config.fail("key " + config.quoted("hidden_dropout") +
                " is above 0; nothing else than 0 is supported");
  parts.embedding = "transformer.word_embeddings";
  parts.finalNorm = "transformer.ln_f";
  return parts;
}
