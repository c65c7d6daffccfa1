//===- QwenNext.cpp - Qwen3-Next and Qwen3.5 ------------------------------===//

#include "DecoderConfig.h"
#include "LayerKinds.h"
#include "llvm/ADT/STLExtras.h"

using namespace llmmem::importer;
using llvm::StringRef;

static StateParts readState(ConfigReader &config, StateParts::Inputs inputs, double eps) {
  StateParts state;
  state.groups = config.positive("linear_num_key_heads");
  state.key = config.positive("linear_key_head_dim");
  state.heads = config.positive("linear_num_value_heads");
  state.value = config.positive("linear_value_head_dim");
  state.taps = config.positive("linear_conv_kernel_dim");
  state.inputs = inputs;
  state.eps = eps;
  if (state.heads % state.groups != 0)
    config.fail("key " + config.quoted("linear_num_value_heads") + " is " +
                llvm::Twine(state.heads) + ", which 'linear_num_key_heads', " +
                llvm::Twine(state.groups) + ", does not divide");
  return state;
}

/// Reads which layers attend: those that a list says, or every fourth.
static std::vector<bool> readAttending(ConfigReader &config, int64_t layers) {
  const int64_t every = config.optionalPositive("full_attention_interval").value_or(4);
  std::vector<bool> attends;
  for (const std::string &kind :
       readKinds(config, "layer_types", {"linear_attention", "full_attention"}, layers))
    attends.push_back(kind == "full_attention");
  for (int64_t layer = 0; layer < every && config.optionalTexts("layer_types") == std::nullopt;
       ++layer)
    attends.push_back(layer + 1 == every);
  return attends;
}

/// Reads what all of these models have (Qwen team 2025 and 2026): three of four layers carry a
/// state by gated DeltaNet, and the others attend with gates and turn a quarter of each head.
static DecoderParts readQwenNextKeys(ConfigReader &config, const ImportOptions &options,
                                     StateParts::Inputs inputs, bool hasExperts) {
  // Files of mixtures leave out the width of an MLP that no layer has.
  DecoderParts parts =
      readLlamaKeys(config, options, {.innerOr = hasExperts ? 1 : 0, .rotaryFractionOr = 0.25});
  parts.norm.offset = 1;
  parts.attention.output.bias = config.flagOr("attention_bias", false);
  setInputBias(parts.attention, parts.attention.output.bias);
  parts.attention.queryNorm = "self_attn.q_norm";
  parts.attention.keyNorm = "self_attn.k_norm";
  parts.attention.normsHeads = parts.attention.gated = true;
  parts.furtherTokens = config.countOr("mtp_num_hidden_layers", 0);
  config.onlyFlag("attn_output_gate", true);
  config.onlyFlag("use_sliding_window", false);
  // The states of a step with caches are in f32 whatever the file says.
  config.dismiss(
      {"mamba_ssm_dtype", "max_window_layers", "mtp_use_dedicated_embeddings", "sliding_window"});
  const StateParts state = readState(config, inputs, parts.norm.eps);
  const std::vector<bool> attending = readAttending(config, parts.layers);
  // More layers than the file has (--layers) repeat its pattern.
  parts.vary = [state, attending](int64_t layer, LayerParts &own) {
    own.attends = attending[static_cast<size_t>(layer) % attending.size()];
    if (!own.attends)
      own.state = state;
  };
  if (!hasExperts)
    return parts;
  readQwenExperts(config, parts);
  readSharedExpert(config, parts);
  parts.experts.normalized = config.flagOr("norm_topk_prob", true);
  return parts;
}

DecoderParts llmmem::importer::readQwen3Next(ConfigReader &config, const ImportOptions &options) {
  return readQwenNextKeys(config, options, StateParts::Inputs::ByGroup, true);
}

/// Reads Qwen3.5 without experts.
DecoderParts llmmem::importer::readQwen35(ConfigReader &config, const ImportOptions &options) {
  DecoderParts parts = readQwenNextKeys(config, options, StateParts::Inputs::Apart, false);
  config.dismiss({"mlp_only_layers"});
  return parts;
}

/// Reads Qwen3.5 with experts, whose matrices are joined.
DecoderParts llmmem::importer::readQwen35Moe(ConfigReader &config, const ImportOptions &options) {
  DecoderParts parts = readQwenNextKeys(config, options, StateParts::Inputs::Apart, true);
  parts.experts.joined = JoinedExperts{.layout = llm::WeightLayout::OutIn, .clamped = std::nullopt};
  return parts;
}
