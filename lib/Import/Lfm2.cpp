//===- Lfm2.cpp - LFM2 (Liquid AI 2025) ------------------------------------===//

#include "DecoderConfig.h"
#include "LayerKinds.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llmmem::importer;

/// The width that a file gives is that of an MLP without a gate; with one, two thirds of it are
/// taken, times a factor, and rounded up to a multiple.
static int64_t readInner(ConfigReader &config) {
  const int64_t given = config.positive("intermediate_size"),
                width = config.optionalPositive("block_ff_dim").value_or(given),
                multiple = config.optionalPositive("block_multiple_of").value_or(256);
  const double factor = config.positiveRealOr("block_ffn_dim_multiplier", 1.0);
  if (!config.flagOr("block_auto_adjust_ff_dim", true))
    return width;
  const auto adjusted = static_cast<int64_t>(factor * static_cast<double>(2 * width / 3));
  return llvm::divideCeil(adjusted, multiple) * multiple;
}

/// Reads which layers have attention; without either key all of them do.
static std::vector<bool> readConvolutions(ConfigReader &config, int64_t layers) {
  std::vector<bool> convolves(layers, false);
  const std::vector<int64_t> attending = config.counts("full_attn_idxs");
  for (int64_t layer = 0; layer < layers && !attending.empty(); ++layer)
    convolves[layer] = !llvm::is_contained(attending, layer);
  for (auto [layer, kind] :
       llvm::enumerate(readKinds(config, "layer_types", {"conv", "full_attention"}, layers)))
    if (static_cast<int64_t>(layer) < layers)
      convolves[layer] = kind == "conv";
  return convolves;
}

/// Most layers have a short convolution between two gates in place of attention. Queries and keys
/// are normalised per head.
DecoderParts llmmem::importer::readLfm2(ConfigReader &config, const ImportOptions &options) {
  const bool tied = config.flagOr("tie_embedding", true);
  DecoderParts parts = readLlamaKeys(
      config, options, {.eps = "norm_eps", .activationOr = "silu", .thetaOr = 1e6, .tiedOr = tied});
  parts.mlp.inner = readInner(config);
  parts.mlp.gate.module = "feed_forward.w1";
  parts.mlp.up.module = "feed_forward.w3";
  parts.mlp.down.module = "feed_forward.w2";
  parts.attention.output.module = "self_attn.out_proj";
  parts.attention.queryNorm = "self_attn.q_layernorm";
  parts.attention.keyNorm = "self_attn.k_layernorm";
  parts.attention.normsHeads = true;
  parts.block.attentionNorm = "operator_norm";
  parts.block.mlpNorm = "ffn_norm";
  parts.finalNorm = "model.embedding_norm";
  ConvolutionParts convolution;
  convolution.taps = config.optionalPositive("conv_L_cache").value_or(3);
  convolution.input.bias = convolution.bias = convolution.output.bias =
      config.flagOr("conv_bias", false);
  const std::vector<bool> convolves = readConvolutions(config, parts.layers);
  // More layers than the file has (--layers) repeat its pattern.
  parts.vary = [convolution, convolves](int64_t layer, LayerParts &own) {
    if (!convolves[static_cast<size_t>(layer) % convolves.size()])
      return;
    own.attends = false;
    own.convolution = convolution;
  };
  config.dismiss({"block_dim", "block_mlp_init_scale", "block_norm_eps", "block_out_init_scale",
                  "block_use_swiglu", "block_use_xavier_init", "conv_dim", "conv_dim_out",
                  "conv_use_xavier_init", "num_heads", "use_pos_enc"});
  return parts;
}
