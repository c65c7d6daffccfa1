//===- Deepseek.cpp - What the versions of DeepSeek share ------------------===//

#include "Deepseek.h"
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
    config.fail("key 'qk_rope_head_dim' is " + Twine(latent.turning) +
                "; rotary positions need an even number");
  if (latent.value > attention.headSize)
    config.fail("key 'v_head_dim' is " + Twine(latent.value) +
                ", more than 'qk_nope_head_dim' and 'qk_rope_head_dim' together, " +
                Twine(attention.headSize) + ", which is not supported");
  attention.latent = latent;
  config.onlyFlag("attention_bias", false);
}

void llmmem::importer::readExpertGroups(ConfigReader &config, ExpertParts &experts) {
  experts.groups = config.positive("n_group");
  experts.keptGroups = config.positive("topk_group");
  if (experts.count % experts.groups != 0)
    return config.fail("key 'n_group' is " + Twine(experts.groups) +
                       ", which does not divide 'n_routed_experts', " + Twine(experts.count));
  if (experts.keptGroups > experts.groups ||
      experts.keptGroups * (experts.count / experts.groups) < experts.chosen)
    config.fail("key 'topk_group' is " + Twine(experts.keptGroups) + " of " +
                Twine(experts.groups) + " groups of " + Twine(experts.count / experts.groups) +
                " experts, expected enough for 'num_experts_per_tok', " + Twine(experts.chosen));
}

static MlpParts sharedExperts(const DecoderParts &parts, int64_t count) {
  MlpParts mlp = parts.mlp;
  mlp.inner = count * parts.experts.inner;
  mlp.gate.module = "mlp.shared_experts.gate_proj";
  mlp.up.module = "mlp.shared_experts.up_proj";
  mlp.down.module = "mlp.shared_experts.down_proj";
  return mlp;
}

DecoderParts llmmem::importer::readDeepseekKeys(ConfigReader &config, const ImportOptions &options,
                                                const DeepseekDefaults &defaults) {
  DecoderParts parts =
      readLlamaKeys(config, options, {.kvHeadsOr = true, .rotaryByLayerType = true});
  readLatentAttention(config, parts);
  readRotary(config, options, parts);
  parts.experts = readExperts(config, {.count = "n_routed_experts", .hasBalance = false});
  parts.experts.factor = config.positiveRealOr("routed_scaling_factor", defaults.factor);
  if (config.optionalPositive("moe_layer_freq").value_or(1) != 1)
    config.fail("key 'moe_layer_freq' is not 1; nothing else is supported");
  int64_t dense = config.countOr("first_k_dense_replace", defaults.denseLayers);
  parts.experts.hasExperts = [dense](int64_t layer) { return layer >= dense; };
  if (int64_t shared = config.countOr("n_shared_experts", defaults.sharedExperts))
    parts.experts.shared = sharedExperts(parts, shared);
  return parts;
}
