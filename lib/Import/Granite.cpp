//===- Granite.cpp - Granite 3 and its mixtures of experts (IBM 2024) ------===//

#include "DecoderConfig.h"

using namespace llmmem::importer;

/// This is Llama with factors of the embedding, of what branches add, of scores and of logits (Yang
/// et al. 2022).
static DecoderParts readGraniteParts(ConfigReader &config, const ImportOptions &options) {
  DecoderParts parts = readLlamaKeys(config, options, {.kvHeadsOr = true});
  parts.attention.output.bias = config.flagOr("attention_bias", false);
  setInputBias(parts.attention, parts.attention.output.bias);
  parts.embeddingScale = config.positiveRealOr("embedding_multiplier", 1);
  parts.block.branchScale = config.positiveRealOr("residual_multiplier", 1);
  parts.attention.scale = config.positiveRealOr("attention_multiplier", 1);
  parts.logitsScale = 1 / config.positiveRealOr("logits_scaling", 1);
  return parts;
}

DecoderParts llmmem::importer::readGranite(ConfigReader &config, const ImportOptions &options) {
  DecoderParts parts = readGraniteParts(config, options);
  setBias(parts.mlp, config.flagOr("mlp_bias", false));
  return parts;
}

DecoderParts llmmem::importer::readGraniteMoe(ConfigReader &config, const ImportOptions &options) {
  DecoderParts parts = readGraniteParts(config, options);
  parts.experts = readExperts(config, {.count = "num_local_experts", .inner = "intermediate_size"});
  parts.experts.router.module = "block_sparse_moe.router.layer";
  parts.experts.joined = JoinedExperts{.gateUp = "block_sparse_moe.input_linear.weight",
                                       .down = "block_sparse_moe.output_linear.weight",
                                       .layout = llmmem::llm::WeightLayout::OutIn,
                                       .clamped = std::nullopt};
  return parts;
}

/// Adds an expert that every token goes through.
DecoderParts llmmem::importer::readGraniteMoeShared(ConfigReader &config,
                                                    const ImportOptions &options) {
  DecoderParts parts = readGraniteMoe(config, options);
  if (int64_t inner = config.countOr("shared_intermediate_size", 0)) {
    MlpParts shared = parts.mlp;
    shared.inner = inner;
    shared.gate.module = "shared_mlp.input_linear";
    shared.up.module.clear();
    shared.down.module = "shared_mlp.output_linear";
    parts.experts.shared = shared;
  }
  return parts;
}
