//===- NemotronH.cpp - Nemotron-H and Nemotron 3 (NVIDIA 2025 and 2026) ----===//
//
// A layer is one of four: a state of Mamba-2, attention without positions, an MLP, or a mixture of
// experts.
//
//===----------------------------------------------------------------------===//

#include "DecoderConfig.h"
#include "LayerKinds.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llmmem::importer;
using llvm::StringRef;
using llvm::Twine;

/// Reads the kind of each layer from a text such as "MEM*-" or a list.
static std::vector<std::string> readKindsOfLayers(ConfigReader &config) {
  std::vector<std::string> kinds;
  const std::optional<std::string> pattern = config.optionalText("hybrid_override_pattern");
  for (char letter : pattern.value_or("")) {
    const StringRef kind = llvm::StringSwitch<StringRef>(StringRef(&letter, 1))
                               .Case("M", "linear_attention")
                               .Case("E", "moe")
                               .Case("*", "full_attention")
                               .Case("-", "mlp")
                               .Default("");
    if (kind.empty())
      config.fail("key " + config.quoted("hybrid_override_pattern") + " has the letter '" +
                  Twine(letter) + "', expected M (Mamba-2), * (attention), E (experts) or - (MLP)");
    kinds.push_back(kind.str());
  }
  if (!pattern)
    kinds = readKinds(config, config.has("layer_types") ? "layer_types" : "layers_block_type",
                      {"linear_attention", "full_attention", "moe", "mlp"}, std::nullopt);
  if (kinds.empty())
    config.fail("missing key " + config.quoted("layers_block_type") +
                " or 'hybrid_override_pattern', which say what each layer is");
  return kinds;
}

static StateParts readState(ConfigReader &config, double eps) {
  StateParts state;
  state.delta = false;
  state.inputs = StateParts::Inputs::SideBySide;
  state.module = "mixer";
  state.heads = config.positive("mamba_num_heads");
  state.value = config.positive("mamba_head_dim");
  state.groups = config.positive("n_groups");
  state.key = config.positive("ssm_state_size");
  state.taps = config.positive("conv_kernel");
  state.convBias = config.flagOr("use_conv_bias", true);
  state.bias = config.flagOr("mamba_proj_bias", false) || config.flagOr("use_bias", false);
  state.eps = eps;
  // The public library takes this bound, and none above, instead of `time_step_limit`.
  state.leastStep = config.positiveRealOr("time_step_min", 0.001);
  if (state.heads % state.groups != 0)
    config.fail("key " + config.quoted("mamba_num_heads") + " is " + Twine(state.heads) +
                ", which 'n_groups', " + Twine(state.groups) + ", does not divide");
  config.onlyText("mamba_hidden_act", "silu");
  config.dismiss({"chunk_size", "expand", "mamba_ssm_cache_dtype", "time_step_floor",
                  "time_step_limit", "time_step_max", "time_step_rank"});
  return state;
}

/// An expert has two matrices, and with `moe_latent_size` reads and writes a narrower row.
static void readMixture(ConfigReader &config, DecoderParts &parts) {
  parts.experts = readExperts(config, {.count = "n_routed_experts", .hasBalance = false});
  ExpertParts &experts = parts.experts;
  experts.router.module = "mixer.gate";
  experts.gate.clear();
  experts.up = "mixer.experts.*.up_proj";
  experts.down = "mixer.experts.*.down_proj";
  readLogisticRouter(config, experts, 1);
  experts.factor = config.positiveRealOr("routed_scaling_factor", 1);
  experts.biasOfChoice = "mixer.gate.e_score_correction_bias";
  experts.latent = config.optionalPositive("moe_latent_size").value_or(0);
  experts.latentDown = {"mixer.fc1_latent_proj", parts.mlp.up.bias};
  experts.latentUp = {"mixer.fc2_latent_proj", parts.mlp.up.bias};
  MlpParts shared = parts.mlp;
  shared.inner = config.positive("moe_shared_expert_intermediate_size");
  shared.up.module = "mixer.shared_experts.up_proj";
  shared.down.module = "mixer.shared_experts.down_proj";
  experts.shared = shared;
}

DecoderParts llmmem::importer::readNemotronH(ConfigReader &config, const ImportOptions &options) {
  const std::vector<std::string> kinds = readKindsOfLayers(config);
  const auto layers = static_cast<int64_t>(kinds.size());
  const bool hasNorm = config.has("layer_norm_epsilon");
  DecoderParts parts = readLlamaKeys(config, options,
                                     {.eps = hasNorm ? "layer_norm_epsilon" : "norm_eps",
                                      .innerOr = 1,
                                      .activation = "mlp_hidden_act",
                                      .activationOr = "relu2",
                                      .layersOr = layers});
  parts.layers = layers; // As in the public library, the list has the last word.
  parts.embedding = "backbone.embeddings";
  parts.finalNorm = "backbone.norm_f";
  parts.block.prefix = "backbone.layers.";
  parts.block.attentionNorm = parts.block.mlpNorm = "norm";
  AttentionParts &attention = parts.attention;
  attention.headSize = config.optionalPositive("attention_head_dim").value_or(attention.headSize);
  for (auto [projection, name] : {std::pair(&attention.query, "q"),
                                  {&attention.key, "k"},
                                  {&attention.value, "v"},
                                  {&attention.output, "o"}})
    *projection = {std::string("mixer.") + name + "_proj", config.flagOr("attention_bias", false)};
  attention.hasPositions = [](int64_t) { return false; };
  const bool bias = config.flagOr("mlp_bias", false);
  parts.mlp.gate.module.clear();
  parts.mlp.up = {"mixer.up_proj", bias};
  parts.mlp.down = {"mixer.down_proj", bias};
  if (llvm::is_contained(kinds, "moe"))
    readMixture(config, parts);
  else
    config.dismiss({"moe_intermediate_size", "moe_latent_size",
                    "moe_shared_expert_intermediate_size", "n_group", "n_routed_experts",
                    "norm_topk_prob", "num_experts_per_tok", "routed_scaling_factor",
                    "topk_group"});
  parts.experts.hasExperts = [kinds](int64_t layer) {
    return kinds[static_cast<size_t>(layer) % kinds.size()] == "moe";
  };
  const StateParts state = readState(config, parts.norm.eps);
  // More layers than the file has (--layers) repeat its pattern.
  parts.vary = [state, kinds](int64_t layer, LayerParts &own) {
    const std::string &kind = kinds[static_cast<size_t>(layer) % kinds.size()];
    own.attends = kind == "full_attention";
    own.hasMlp = kind == "mlp" || kind == "moe";
    if (kind == "linear_attention")
      own.state = state;
  };
  parts.furtherTokens = config.countOr("num_nextn_predict_layers", 0);
  config.dismiss({"mtp_hybrid_override_pattern", "mtp_layers_block_type", "n_shared_experts",
                  "norm_eps", "rescale_prenorm_residual", "residual_in_fp32", "rms_norm_eps"});
  return parts;
}
