//===- Deepseek.cpp - DeepSeek-V2, V3 and R1 ------------------------------===//

#include "DecoderConfig.h"
#include "LayerKinds.h"
#include <cmath>

using namespace llmmem::importer;
using llvm::StringRef;
using llvm::Twine;

/// The rotating part of a head is a head of its own for rotary positions. YaRN's scaling also
/// increases the scores, by `mscale_all_dim`.
static void readRotary(ConfigReader &config, const ImportOptions &options, DecoderParts &parts) {
  AttentionParts &attention = parts.attention;
  int64_t turning = attention.latent->turning;
  attention.rotary = {config.positiveRealOr("rope_theta", 1e4), turning, {}, /*interleaved=*/true};
  attention.scale = 1.0 / std::sqrt(static_cast<double>(attention.headSize));
  RotaryContext context{turning, options.longest(), parts.maxSeq, {}};
  for (StringRef key : {"rope_scaling", "rope_parameters"}) {
    const llvm::json::Object *object = config.optionalObject(key);
    if (!object)
      continue;
    ConfigReader nested(*object, config.getFile(), key);
    readRotaryObject(nested, context, attention.rotary);
    double ofScores = nested.realFromZeroOr("mscale_all_dim", 0);
    if (attention.rotary.scaling && ofScores > 0)
      *attention.scale *= std::pow(yarnMagnitude(nested.positiveReal("factor"), ofScores), 2);
    config.absorb(nested);
  }
  parts.maxSeq = std::max(parts.maxSeq, context.longestSeq);
}

static void readLatentAttention(ConfigReader &config, DecoderParts &parts) {
  AttentionParts &attention = parts.attention;
  LatentParts latent;
  latent.queryRank = config.optionalPositive("q_lora_rank").value_or(0);
  latent.rank = config.positive("kv_lora_rank");
  latent.plain = config.positive("qk_nope_head_dim");
  latent.turning = config.positive("qk_rope_head_dim");
  latent.value = config.positive("v_head_dim");
  attention.kvHeads = attention.heads;
  attention.headSize = latent.plain + latent.turning;
  if (latent.turning % 2 != 0)
    config.fail("key " + config.quoted("qk_rope_head_dim") + " is " + Twine(latent.turning) +
                "; rotary positions need an even number");
  if (latent.value > attention.headSize)
    config.fail("key " + config.quoted("v_head_dim") + " is " + Twine(latent.value) +
                ", more than 'qk_nope_head_dim' and 'qk_rope_head_dim' together, " +
                Twine(attention.headSize) + ", which is not supported");
  attention.latent = latent;
  config.onlyFlag("attention_bias", false);
}

/// Reads the experts in `n_group` groups, of which a token keeps `topk_group`.
static void readExpertGroups(ConfigReader &config, ExpertParts &experts,
                             std::optional<int64_t> groupsOr = std::nullopt) {
  auto groups = [&](StringRef key) {
    return groupsOr ? config.optionalPositive(key).value_or(*groupsOr) : config.positive(key);
  };
  experts.groups = groups("n_group");
  experts.keptGroups = groups("topk_group");
  if (experts.count % experts.groups != 0)
    return config.fail("key " + config.quoted("n_group") + " is " + Twine(experts.groups) +
                       ", which does not divide 'n_routed_experts', " + Twine(experts.count));
  if (experts.keptGroups > experts.groups ||
      experts.keptGroups * (experts.count / experts.groups) < experts.chosen)
    config.fail("key " + config.quoted("topk_group") + " is " + Twine(experts.keptGroups) + " of " +
                Twine(experts.groups) + " groups of " + Twine(experts.count / experts.groups) +
                " experts, expected enough for 'num_experts_per_tok', " + Twine(experts.chosen));
}

MlpParts llmmem::importer::sharedExperts(const DecoderParts &parts, int64_t count) {
  MlpParts mlp = parts.mlp;
  mlp.inner = count * parts.experts.inner;
  mlp.gate.module = "mlp.shared_experts.gate_proj";
  mlp.up.module = "mlp.shared_experts.up_proj";
  mlp.down.module = "mlp.shared_experts.down_proj";
  return mlp;
}

namespace {
/// Says what the missing keys of a version mean.
struct DeepseekDefaults {
  double factor; ///< Multiplies the weights of experts.
  int64_t denseLayers, sharedExperts;
};
} // namespace

/// Describes latent attention, and an MLP in the first layers, then experts with shared ones. The
/// version says how experts are chosen.
static DecoderParts readDeepseekKeys(ConfigReader &config, const ImportOptions &options,
                                     const DeepseekDefaults &defaults) {
  DecoderParts parts =
      readLlamaKeys(config, options, {.kvHeadsOr = true, .rotaryByLayerType = true});
  readLatentAttention(config, parts);
  readRotary(config, options, parts);
  parts.experts = readExperts(config, {.count = "n_routed_experts", .hasBalance = false});
  parts.experts.factor = config.positiveRealOr("routed_scaling_factor", defaults.factor);
  if (config.optionalPositive("moe_layer_freq").value_or(1) != 1)
    config.fail("key " + config.quoted("moe_layer_freq") + " is not 1; nothing else is supported");
  readLayersWithExperts(config, parts,
                        config.countOr("first_k_dense_replace", defaults.denseLayers));
  if (int64_t shared = config.countOr("n_shared_experts", defaults.sharedExperts))
    parts.experts.shared = sharedExperts(parts, shared);
  return parts;
}

static void readRouterOfV2(ConfigReader &config, ExpertParts &experts) {
  experts.normalized = false;
  config.onlyFlag("norm_topk_prob", false);
  config.onlyText("scoring_func", "softmax");
  std::string method = config.optionalText("topk_method").value_or("greedy");
  if (method == "group_limited_greedy")
    readExpertGroups(config, experts);
  else if (method != "greedy")
    config.fail("key " + config.quoted("topk_method") + " is \"" + method +
                "\", expected one of greedy, group_limited_greedy");
}

/// Reads DeepSeek-V2 and V2-Lite (DeepSeek-AI 2024).
DecoderParts llmmem::importer::readDeepseekV2(ConfigReader &config, const ImportOptions &options) {
  DecoderParts parts =
      readDeepseekKeys(config, options, {.factor = 1.0, .denseLayers = 0, .sharedExperts = 2});
  readRouterOfV2(config, parts.experts);
  return parts;
}

void llmmem::importer::readLogisticRouter(ConfigReader &config, ExpertParts &experts,
                                          std::optional<int64_t> groupsOr) {
  experts.logistic = true;
  experts.biasOfChoice = "mlp.gate.e_score_correction_bias";
  experts.normalized = config.flagOr("norm_topk_prob", true);
  config.onlyText("scoring_func", "sigmoid");
  config.onlyText("topk_method", "noaux_tc");
  readExpertGroups(config, experts, groupsOr);
  experts.groupBest = 2;
  if (experts.count / experts.groups < experts.groupBest)
    config.fail("key " + config.quoted("n_group") + " is " + Twine(experts.groups) + " for " +
                Twine(experts.count) +
                " experts, expected groups of two or more: the two best speak for theirs");
}

/// Describes DeepSeek-V3: DeepSeek-V2 with another router. The layers after the last one that
/// predict further tokens (`num_nextn_predict_layers`) are left out, as the public library leaves
/// them out of training.
static DecoderParts readDeepseekV3Keys(ConfigReader &config, const ImportOptions &options,
                                       std::optional<int64_t> groupsOr = std::nullopt) {
  DecoderParts parts =
      readDeepseekKeys(config, options, {.factor = 2.5, .denseLayers = 3, .sharedExperts = 1});
  parts.attention.rotary.interleaved = config.flagOr("rope_interleave", true);
  readLogisticRouter(config, parts.experts, groupsOr);
  parts.furtherTokens = config.countOr("num_nextn_predict_layers", 0);
  return parts;
}

/// Reads DeepSeek-V3 and R1 (DeepSeek-AI 2024), and Kimi-K2 (Moonshot AI 2025).
DecoderParts llmmem::importer::readDeepseekV3(ConfigReader &config, const ImportOptions &options) {
  return readDeepseekV3Keys(config, options);
}

//===----------------------------------------------------------------------===//
// Indexers
//===----------------------------------------------------------------------===//

/// Returns the parameters of an indexer, which no gradient of the loss trains.
static std::vector<Parameter> indexerOf(ConfigReader &config, const DecoderParts &parts,
                                        int64_t headsOr) {
  const int64_t heads = config.optionalPositive("index_n_heads").value_or(headsOr),
                size = config.optionalPositive("index_head_dim").value_or(128);
  auto of = [](StringRef name, llvm::SmallVector<int64_t, 2> shape) {
    Parameter parameter{("self_attn.indexer." + name).str(), std::move(shape)};
    parameter.frozen = true;
    return parameter;
  };
  return {of("wq_b.weight", {heads * size, parts.attention.latent->queryRank}),
          of("wk.weight", {size, parts.width}), of("k_norm.weight", {size}),
          of("k_norm.bias", {size}), of("weights_proj.weight", {heads, parts.width})};
}

/// Of a sequence of up to `index_topk` tokens the indexer of a layer chooses all keys, so that it
/// changes nothing. Longer sequences are not imported.
static void readIndexer(ConfigReader &config, DecoderParts &parts, int64_t headsOr) {
  const std::vector<Parameter> indexer = indexerOf(config, parts, headsOr);
  const std::vector<std::string> types =
      readKinds(config, "indexer_types", {"full", "shared"}, parts.layers);
  readKinds(config, "layer_types", {"indexed_attention"}, parts.layers);
  parts.vary = [indexer, types](int64_t layer, LayerParts &own) {
    if (types.empty() || types[static_cast<size_t>(layer) % types.size()] == "full")
      own.unread = indexer;
  };
  const int64_t most = config.optionalPositive("index_topk").value_or(2048);
  if (most < parts.maxSeq) {
    parts.maxSeq = most;
    parts.maxSeqKey = "index_topk";
    parts.whyNotLonger = "sparse attention, whose indexer chooses the keys of a query";
  }
  parts.notes.push_back("the indexers of sparse attention are counted and not run: of a sequence "
                        "of up to 'index_topk' tokens, " +
                        std::to_string(most) + ", they choose all keys");
}

/// Reads DeepSeek-V3.2 (DeepSeek-AI 2025): DeepSeek-V3 with an indexer in each layer.
DecoderParts llmmem::importer::readDeepseekV32(ConfigReader &config, const ImportOptions &options) {
  DecoderParts parts = readDeepseekV3Keys(config, options);
  readIndexer(config, parts, 64);
  return parts;
}

/// Reads GLM-5 (Z.ai 2026): DeepSeek-V3.2 with one group of experts, and layers that share what
/// the indexer of an earlier one has chosen.
DecoderParts llmmem::importer::readGlmMoeDsa(ConfigReader &config, const ImportOptions &options) {
  DecoderParts parts = readDeepseekV3Keys(config, options, 1);
  readIndexer(config, parts, 32);
  for (StringRef key : {"index_topk_freq", "index_topk_pattern"})
    if (config.has(key) && !config.has("indexer_types"))
      config.fail("key " + config.quoted(key) +
                  " says which layers have an indexer; only 'indexer_types' is supported");
  config.dismiss({"head_dim", "qk_head_dim", "index_skip_topk_offset", "indexer_rope_interleave",
                  "index_share_for_mtp_iteration", "moe_router_dtype"});
  return parts;
}

/// Reads GLM-4.7-Flash (Z.ai 2025): DeepSeek-V3 with one group of experts.
DecoderParts llmmem::importer::readGlm4MoeLite(ConfigReader &config, const ImportOptions &options) {
  DecoderParts parts =
      readDeepseekKeys(config, options, {.factor = 1.8, .denseLayers = 1, .sharedExperts = 1});
  // The public library overrides it.
  config.dismiss({"head_dim"});
  parts.attention.rotary.interleaved = config.flagOr("rope_interleave", true);
  readLogisticRouter(config, parts.experts, 1);
  parts.furtherTokens = config.countOr("num_nextn_predict_layers", 0);
  return parts;
}
