//===- NemotronNas.cpp - Llama with layers of different sizes --------------===//
//
// Llama-Nemotron (Bercovich et al. 2025) was found by a search, which left some layers without
// attention and gave each MLP a width of its own.
//
//===----------------------------------------------------------------------===//

#include "DecoderConfig.h"
#include "llvm/Support/MathExtras.h"

using namespace llmmem::importer;
using llvm::StringRef;
using llvm::Twine;

namespace {
/// The value 0 means that the layer has no such branch.
struct SearchedLayer {
  int64_t kvHeads = 0, inner = 0;
};
} // namespace

/// Returns whether a layer has the branch of this name, which nothing else replaces.
static bool hasBranch(ConfigReader &branch) {
  branch.onlyFlag("replace_with_linear", false);
  for (StringRef key : {"sparsify", "num_sink_tokens", "window_length"})
    if (branch.has(key))
      branch.fail("key " + branch.quoted(key) + " is not null; nothing else is supported");
  branch.dismiss({"unshifted_sink", "use_prefill_window_in_sink_attention"});
  return !branch.flagOr("no_op", false);
}

/// Reads the group of query heads that share a key/value head.
static int64_t readKvHeads(ConfigReader &branch, int64_t heads) {
  if (!hasBranch(branch)) {
    branch.dismiss({"n_heads_in_group"});
    return 0;
  }
  const int64_t group = branch.positive("n_heads_in_group");
  if (heads % group != 0)
    branch.fail("key " + branch.quoted("n_heads_in_group") + " is " + Twine(group) +
                ", which does not divide 'num_attention_heads', " + Twine(heads));
  return std::max<int64_t>(1, heads / group);
}

/// Reads the width of an MLP: two thirds of a multiple of the model's width, rounded up to a
/// multiple of 256.
static int64_t readInner(ConfigReader &branch, int64_t width) {
  if (!hasBranch(branch)) {
    branch.dismiss({"ffn_mult"});
    return 0;
  }
  const double times = branch.positiveReal("ffn_mult");
  constexpr int64_t kMultiple = 256;
  const auto inner = static_cast<int64_t>(2 * times * static_cast<double>(width) / 3);
  return llvm::divideCeil(inner, kMultiple) * kMultiple;
}

static SearchedLayer readLayer(ConfigReader &config, const llvm::json::Object &object,
                               const std::string &where, const DecoderParts &parts) {
  ConfigReader layer(object, config.getFile(), where);
  const llvm::json::Object empty;
  auto branch = [&](StringRef key) {
    const llvm::json::Object *own = layer.optionalObject(key);
    if (!own)
      layer.fail("missing key " + layer.quoted(key));
    return ConfigReader(own ? *own : empty, config.getFile(), where + "." + key.str());
  };
  ConfigReader attention = branch("attention"), mlp = branch("ffn");
  SearchedLayer own{readKvHeads(attention, parts.attention.heads), readInner(mlp, parts.width)};
  layer.absorb(attention);
  layer.absorb(mlp);
  config.absorb(layer);
  return own;
}

DecoderParts llmmem::importer::readNemotronNas(ConfigReader &config, const ImportOptions &options) {
  DecoderParts parts = readLlamaKeys(config, options, {.innerOr = 1, .kvHeadsOr = true});
  parts.attention.output.bias = config.flagOr("attention_bias", false);
  setInputBias(parts.attention, parts.attention.output.bias);
  setBias(parts.mlp, config.flagOr("mlp_bias", false));
  std::vector<SearchedLayer> layers;
  for (const llvm::json::Object *object : config.objects("block_configs"))
    layers.push_back(
        readLayer(config, *object, "block_configs[" + std::to_string(layers.size()) + "]", parts));
  if (static_cast<int64_t>(layers.size()) != parts.layers)
    config.fail("key " + config.quoted("block_configs") + " lists " + Twine(layers.size()) +
                " layers, 'num_hidden_layers' is " + Twine(parts.layers));
  // More layers than the file has (--layers) repeat its pattern.
  parts.vary = [layers](int64_t layer, LayerParts &own) {
    if (layers.empty())
      return;
    const SearchedLayer &searched = layers[static_cast<size_t>(layer) % layers.size()];
    own.attends = searched.kvHeads > 0;
    own.hasMlp = searched.inner > 0;
    own.attention.kvHeads = searched.kvHeads;
    own.mlp.inner = searched.inner;
  };
  return parts;
}
