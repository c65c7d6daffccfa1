//===- Granite.cpp - Granite 3 and 4 (IBM 2024 and 2025) -------------------===//

#include "DecoderConfig.h"
#include "LayerKinds.h"

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

/// Returns the MLP that every token goes through.
static MlpParts sharedMlp(const DecoderParts &parts, int64_t inner) {
  MlpParts shared = parts.mlp;
  shared.inner = inner;
  shared.gate.module = "shared_mlp.input_linear";
  shared.up.module.clear();
  shared.down.module = "shared_mlp.output_linear";
  return shared;
}

DecoderParts llmmem::importer::readGraniteMoeShared(ConfigReader &config,
                                                    const ImportOptions &options) {
  DecoderParts parts = readGraniteMoe(config, options);
  if (int64_t inner = config.countOr("shared_intermediate_size", 0))
    parts.experts.shared = sharedMlp(parts, inner);
  return parts;
}

/// Reads the state of layers that do not attend, which is Mamba-2's.
static StateParts readGraniteState(ConfigReader &config, const DecoderParts &parts) {
  StateParts state;
  state.delta = false;
  state.inputs = StateParts::Inputs::SideBySide;
  state.module = "mamba";
  state.heads = config.positive("mamba_n_heads");
  state.value = config.positive("mamba_d_head");
  state.groups = config.positive("mamba_n_groups");
  state.key = config.positive("mamba_d_state");
  state.taps = config.positive("mamba_d_conv");
  state.convBias = config.flagOr("mamba_conv_bias", true);
  state.bias = config.flagOr("mamba_proj_bias", false);
  state.eps = parts.norm.eps;
  const int64_t expand = config.optionalPositive("mamba_expand").value_or(2);
  if (state.valueWidth() != expand * parts.width)
    config.fail("key " + config.quoted("mamba_n_heads") + " has heads of " +
                llvm::Twine(state.valueWidth()) + " values in all, expected 'mamba_expand' times " +
                "'hidden_size', " + llvm::Twine(expand * parts.width));
  config.dismiss({"mamba_chunk_size"});
  return state;
}

/// Reads Granite 4 (IBM 2025): layers carry a state or attend, mostly without positions, and have
/// an MLP, with experts or without.
DecoderParts llmmem::importer::readGraniteHybrid(ConfigReader &config,
                                                 const ImportOptions &options) {
  const bool hasExperts = config.countOr("num_local_experts", 0) > 0;
  DecoderParts parts =
      hasExperts ? readGraniteMoe(config, options) : readGraniteParts(config, options);
  const MlpParts shared = sharedMlp(parts, config.positive("shared_intermediate_size"));
  if (hasExperts)
    parts.experts.shared = shared;
  else
    parts.mlp = shared;
  if (config.optionalText("position_embedding_type").value_or("") != "rope")
    parts.attention.hasPositions = [](int64_t) { return false; };
  const StateParts state = readGraniteState(config, parts);
  std::vector<std::string> kinds =
      readKinds(config, config.has("layer_types") ? "layer_types" : "layers_block_type",
                {"linear_attention", "full_attention"}, parts.layers);
  if (kinds.empty())
    kinds.push_back("linear_attention");
  // More layers than the file has (--layers) repeat its pattern.
  parts.vary = [state, kinds](int64_t layer, LayerParts &own) {
    own.attends = kinds[static_cast<size_t>(layer) % kinds.size()] == "full_attention";
    if (!own.attends)
      own.state = state;
  };
  config.dismiss({"init_method", "normalization_function"});
  return parts;
}
