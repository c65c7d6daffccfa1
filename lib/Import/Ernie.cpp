//===- Ernie.cpp - ERNIE 4.5 and its mixtures of experts (Baidu 2025) ------===//

#include "DecoderConfig.h"

using namespace llmmem::importer;

/// This is Llama whose rotary positions turn neighbouring elements, with biases everywhere or
/// nowhere. The public library drops out nothing.
DecoderParts llmmem::importer::readErnie(ConfigReader &config, const ImportOptions &options) {
  DecoderParts parts =
      readLlamaKeys(config, options, {.kvHeadsOr = true, .thetaOr = 5e5, .tiedOr = true});
  const bool bias = config.flagOr("use_bias", false);
  setInputBias(parts.attention, bias);
  parts.attention.output.bias = bias;
  setBias(parts.mlp, bias);
  expectNoNoise(config, options, "attention_dropout");
  parts.attention.dropout = 0;
  parts.attention.rotary.interleaved = true;
  return parts;
}

/// Reads which layers have experts: one in every `moe_layer_interval`, from the first index to the
/// last one.
static void readLayersOfExperts(ConfigReader &config, DecoderParts &parts) {
  const int64_t every = config.optionalPositive("moe_layer_interval").value_or(1);
  const int64_t first = config.countOr("moe_layer_start_index", 1);
  int64_t last = parts.layers - 1;
  if (!config.isNumber("moe_layer_end_index", -1)) // which is that of the last layer
    last = config.countOr("moe_layer_end_index", last);
  parts.experts.hasExperts = [=](int64_t layer) {
    return (layer + 1) % every == 0 && layer >= first && layer <= last;
  };
}

/// Experts are chosen by the softmax and a bias that no gradient trains.
DecoderParts llmmem::importer::readErnieMoe(ConfigReader &config, const ImportOptions &options) {
  DecoderParts parts = readErnie(config, options);
  parts.experts = readExperts(config, {.count = "moe_num_experts", .chosen = "moe_k"});
  parts.experts.biasOfChoice = "mlp.moe_statics.e_score_correction_bias";
  readLayersOfExperts(config, parts);
  if (int64_t shared = config.countOr("moe_num_shared_experts", 2))
    parts.experts.shared = sharedExperts(parts, shared);
  config.dismiss({"moe_norm_min"});
  return parts;
}
