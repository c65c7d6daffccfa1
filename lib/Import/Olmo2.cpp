//===- Olmo2.cpp - OLMo 2 and 3, and EXAONE 4 ------------------------------===//

#include "DecoderConfig.h"

using namespace llmmem::importer;

/// Branches are normalised after them, not before.
static void normalizeAfterBranches(DecoderParts &parts) {
  parts.block.attentionNorm.clear();
  parts.block.attentionPostNorm = "post_attention_layernorm";
  parts.block.mlpNorm.clear();
  parts.block.mlpPostNorm = "post_feedforward_layernorm";
  parts.attention.queryNorm = "self_attn.q_norm";
  parts.attention.keyNorm = "self_attn.k_norm";
}

/// Whole rows of queries and of keys are normalised.
static DecoderParts readOlmoParts(ConfigReader &config, const ImportOptions &options,
                                  KeyNames names = {}) {
  names.kvHeadsOr = true;
  DecoderParts parts = readLlamaKeys(config, options, names);
  parts.attention.output.bias = config.flagOr("attention_bias", false);
  setInputBias(parts.attention, parts.attention.output.bias);
  normalizeAfterBranches(parts);
  return parts;
}

/// Reads OLMo 2 (OLMo team 2024).
DecoderParts llmmem::importer::readOlmo2(ConfigReader &config, const ImportOptions &options) {
  return readOlmoParts(config, options);
}

/// Reads OLMo 3 (OLMo team 2025): OLMo 2 with a window in three of four layers, whose rotary
/// positions are not stretched.
DecoderParts llmmem::importer::readOlmo3(ConfigReader &config, const ImportOptions &options) {
  DecoderParts parts = readOlmoParts(config, options, {.rotaryByLayerType = true});
  readRotaryByLayerType(config, options, parts, 5e5);
  parts.attention.window = config.optionalPositive("sliding_window").value_or(4096);
  parts.attention.hasWindow = [](int64_t layer) { return (layer + 1) % 4 != 0; };
  readLayerTypes(config, parts);
  return parts;
}

/// Reads which layers have a window where `layer_types` does not say so: "LLLG" and 4 say that
/// every fourth has none, nor has the last.
static void readWindowPattern(ConfigReader &config, DecoderParts &parts) {
  const int64_t last = parts.layers - 1;
  if (!config.hasText("sliding_window_pattern")) {
    const int64_t every = config.optionalPositive("sliding_window_pattern").value_or(4);
    parts.attention.hasWindow = [every, last](int64_t layer) {
      return layer != last && (layer + 1) % every != 0;
    };
    return;
  }
  const std::string pattern = config.optionalText("sliding_window_pattern").value_or("");
  if (pattern.empty() || pattern.find_first_not_of("LG") != std::string::npos)
    return config.fail("key " + config.quoted("sliding_window_pattern") + " is \"" + pattern +
                       "\", expected a text of L (a window) and G (none)");
  parts.attention.hasWindow = [pattern, last](int64_t layer) {
    return layer != last && pattern[layer % pattern.size()] == 'L';
  };
}

/// Reads EXAONE 4 (LG AI Research 2025). Queries and keys are normalised per head. Where some
/// layers have a window, the others have no positions.
DecoderParts llmmem::importer::readExaone4(ConfigReader &config, const ImportOptions &options) {
  DecoderParts parts = readLlamaKeys(config, options);
  normalizeAfterBranches(parts);
  parts.attention.normsHeads = true;
  parts.attention.window = config.optionalPositive("sliding_window");
  if (parts.attention.window) {
    readWindowPattern(config, parts);
    readLayerTypes(config, parts);
    parts.attention.hasPositions = parts.attention.hasWindow;
  } else {
    config.dismiss({"sliding_window_pattern"});
  }
  for (llvm::StringRef key : {"num_nextn_predict_layers", "_num_mtp_layers"})
    parts.furtherTokens = std::max(parts.furtherTokens, config.countOr(key, 0));
  config.dismiss({"mtp_loss_scaling_factor", "mtp_share_layers"});
  return parts;
}
