//===- GptOss.cpp - gpt-oss 20b and 120b (OpenAI 2025) ---------------------===//

#include "DecoderConfig.h"

using namespace llmmem::importer;

static void readJoinedExperts(ConfigReader &config, DecoderParts &parts) {
  parts.experts = readExperts(config, {.count = "num_local_experts", .inner = "intermediate_size"});
  parts.experts.router = {"mlp.router", /*bias=*/true};
  ClampedGate clamped;
  clamped.limit = config.positiveRealOr("swiglu_limit", clamped.limit);
  clamped.alpha = config.positiveRealOr("swiglu_alpha", clamped.alpha);
  parts.experts.joined.emplace().clamped = clamped;
}

/// Has sinks, a window in every other layer from the first on, and experts with biases and a
/// clamped gate in every layer.
DecoderParts llmmem::importer::readGptOss(ConfigReader &config, const ImportOptions &options) {
  DecoderParts parts = readLlamaKeys(config, options, {.thetaOr = 150000});
  parts.attention.sinks = "self_attn.sinks";
  bool bias = config.flagOr("attention_bias", true);
  setInputBias(parts.attention, bias);
  parts.attention.output.bias = bias;
  parts.attention.window = config.optionalPositive("sliding_window");
  parts.attention.hasWindow = [](int64_t layer) { return layer % 2 == 0; };
  readLayerTypes(config, parts);
  readJoinedExperts(config, parts);
  return parts;
}
