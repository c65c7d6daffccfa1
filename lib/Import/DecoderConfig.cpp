//===- DecoderConfig.cpp - Keys that configs of decoders share -------------===//

#include "DecoderConfig.h"
#include "LayerKinds.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llmmem::importer;
using llvm::StringRef;
using llvm::Twine;

void llmmem::importer::setInputBias(AttentionParts &attention, bool bias) {
  attention.query.bias = attention.key.bias = attention.value.bias = bias;
}

void llmmem::importer::setBias(MlpParts &mlp, bool bias) {
  mlp.gate.bias = mlp.up.bias = mlp.down.bias = bias;
}

/// Several public names mean one function.
static MlpParts::Activation readActivation(ConfigReader &config, const KeyNames &names) {
  using Activation = MlpParts::Activation;
  std::string name = names.activationOr.str();
  if (name.empty() || config.has(names.activation))
    name = config.choice(names.activation, {"silu", "swish", "gelu", "gelu_new",
                                            "gelu_pytorch_tanh", "gelu_fast", "relu2"});
  return llvm::StringSwitch<Activation>(name)
      .Cases({"silu", "swish", ""}, Activation::Silu)
      .Case("gelu", Activation::GeluExact)
      .Case("relu2", Activation::ReluSquared)
      .Default(Activation::GeluTanh);
}

static void readHeads(ConfigReader &config, const KeyNames &names, DecoderParts &parts) {
  AttentionParts &attention = parts.attention;
  attention.heads = config.positive("num_attention_heads");
  attention.kvHeads = names.kvHeadsOr
                          ? config.optionalPositive(names.kvHeads).value_or(attention.heads)
                          : config.positive(names.kvHeads);
  std::optional<int64_t> ownSize = config.optionalPositive("head_dim");
  attention.headSize = ownSize.value_or(parts.width / attention.heads);
  if (!ownSize && parts.width % attention.heads != 0)
    config.fail("key " + config.quoted("num_attention_heads") + " is " + Twine(attention.heads) +
                ", which does not divide 'hidden_size', " + Twine(parts.width) +
                ", and there is no 'head_dim'");
  if (attention.heads % attention.kvHeads != 0)
    config.fail("key " + config.quoted(names.kvHeads) + " is " + Twine(attention.kvHeads) +
                ", which does not divide 'num_attention_heads', " + Twine(attention.heads));
  if (attention.headSize % 2 != 0)
    config.fail("the head size is " + Twine(attention.headSize) +
                (ownSize ? " ('head_dim')" : " ('hidden_size' / 'num_attention_heads')") +
                "; rotary positions need an even one");
}

/// Older files have the keys rope_theta and rope_scaling, newer ones rope_parameters with both.
static void readRotary(ConfigReader &config, const ImportOptions &options, const KeyNames &names,
                       DecoderParts &parts) {
  AttentionParts &attention = parts.attention;
  Rotary &rotary = attention.rotary;
  rotary.theta = config.positiveRealOr(names.theta, names.thetaOr);
  double fraction = config.positiveRealOr(names.rotaryFraction, names.rotaryFractionOr);
  rotary.elements = static_cast<int64_t>(static_cast<double>(attention.headSize) * fraction);
  if (!names.rotaryElements.empty())
    rotary.elements = config.optionalPositive(names.rotaryElements).value_or(rotary.elements);
  // Phi-3's files have this key outside of the scaling.
  RotaryContext context{attention.headSize, options.longest(), parts.maxSeq,
                        config.optionalPositive("original_max_position_embeddings")};
  for (StringRef key : {"rope_scaling", "rope_parameters"}) {
    const llvm::json::Object *object = config.optionalObject(key);
    if (!object)
      continue;
    ConfigReader nested(*object, config.getFile(), key);
    readRotaryObject(nested, context, rotary);
    config.absorb(nested);
  }
  parts.maxSeq = std::max(parts.maxSeq, context.longestSeq);
  if (rotary.elements < 2 || rotary.elements > attention.headSize || rotary.elements % 2 != 0)
    config.fail("key " +
                config.quoted(!names.rotaryElements.empty() && config.has(names.rotaryElements)
                                  ? names.rotaryElements
                                  : names.rotaryFraction) +
                " turns " + Twine(rotary.elements) + " elements of heads of " +
                Twine(attention.headSize) + "; expected an even number of them, from 2 up");
}

DecoderParts llmmem::importer::readLlamaKeys(ConfigReader &config, const ImportOptions &options,
                                             const KeyNames &names) {
  DecoderParts parts;
  parts.width = config.positive("hidden_size");
  parts.vocabulary = config.positive("vocab_size");
  parts.layers = names.layersOr
                     ? config.optionalPositive("num_hidden_layers").value_or(names.layersOr)
                     : config.positive("num_hidden_layers");
  parts.maxSeq = names.maxSeqOr ? config.optionalPositive(parts.maxSeqKey).value_or(names.maxSeqOr)
                                : config.positive(parts.maxSeqKey);
  parts.tied = config.flagOr("tie_word_embeddings", names.tiedOr);
  parts.norm = {names.norm, config.positiveReal(names.eps)};
  parts.mlp.inner = names.innerOr
                        ? config.optionalPositive(names.inner).value_or(names.innerOr * parts.width)
                        : config.positive(names.inner);
  parts.mlp.activation = readActivation(config, names);
  readHeads(config, names, parts);
  parts.attention.dropout = readDropout(config, options, "attention_dropout", 0.0);
  if (!names.rotaryByLayerType)
    readRotary(config, options, names, parts);
  return parts;
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

void llmmem::importer::readLayerTypes(ConfigReader &config, DecoderParts &parts) {
  std::vector<bool> windowed;
  for (const std::string &kind :
       readKinds(config, "layer_types", {"full_attention", "sliding_attention"}, parts.layers))
    windowed.push_back(kind == "sliding_attention");
  if (windowed.empty())
    return;
  if (llvm::is_contained(windowed, true) && !parts.attention.window)
    config.fail("key " + config.quoted("layer_types") +
                " has sliding_attention, but the config gives no window "
                "('sliding_window')");
  // More layers than the file has (--layers) repeat its pattern.
  parts.attention.hasWindow = [windowed](int64_t layer) {
    return windowed[layer % windowed.size()];
  };
}

/// Of lists that are longer than the model the rest is not read, as in the public library.
void llmmem::importer::readLayersWithoutPositions(ConfigReader &config, DecoderParts &parts,
                                                  int64_t intervalOr) {
  std::vector<int64_t> turned = config.counts("no_rope_layers");
  const int64_t interval = config.optionalPositive("no_rope_layer_interval").value_or(intervalOr);
  if (!turned.empty() && static_cast<int64_t>(turned.size()) < parts.layers)
    config.fail("key " + config.quoted("no_rope_layers") + " lists " + Twine(turned.size()) +
                " layers, 'num_hidden_layers' is " + Twine(parts.layers));
  parts.attention.hasPositions = [turned, interval](int64_t layer) {
    return turned.empty() ? (layer + 1) % interval != 0
                          : turned[layer % static_cast<int64_t>(turned.size())] != 0;
  };
}

void llmmem::importer::readSwitchedWindow(ConfigReader &config, DecoderParts &parts) {
  // The published files give a window and switch it off.
  if (config.flagOr("use_sliding_window", false)) {
    parts.attention.window = config.positive("sliding_window");
    int64_t first = config.countOr("max_window_layers", 0);
    parts.attention.hasWindow = [first](int64_t layer) { return layer >= first; };
  } else {
    config.dismiss({"sliding_window", "max_window_layers"});
  }
  readLayerTypes(config, parts);
}
