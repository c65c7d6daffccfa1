//===- CountedEncoders.cpp - Encoders of text, images and sound -----------===//
//
// ModernBERT (Warner et al. 2024), CLIP (Radford et al. 2021) and Whisper (Radford et al. 2022)
// need windows in both directions, two encoders, or convolutions that overlap, and are counted
// alone.
//
//===----------------------------------------------------------------------===//

#include "Counted.h"

using namespace llmmem::importer;
using llvm::StringRef;
using llvm::Twine;

/// An attention of the first transformers, whose keys may have no bias.
static void addAttention(ShapeList &shapes, const std::string &module, int64_t width,
                         bool keyBias = true) {
  shapes.linear(module + ".k_proj", width, width, keyBias);
  for (StringRef name : {".v_proj", ".q_proj", ".out_proj"})
    shapes.linear(module + name.str(), width, width, /*bias=*/true);
}

static void addMlp(ShapeList &shapes, const std::string &prefix, int64_t inner, int64_t width) {
  shapes.linear(prefix + "fc1", inner, width, /*bias=*/true);
  shapes.linear(prefix + "fc2", width, inner, /*bias=*/true);
}

/// Counts ModernBERT, whose first layer has no norm before attention and whose head has a bias.
std::unique_ptr<Model> llmmem::importer::readModernBert(ConfigReader &config,
                                                        const ImportOptions &) {
  const int64_t width = config.positive("hidden_size"), vocabulary = config.positive("vocab_size"),
                inner = config.positive("intermediate_size"), layers = readLayers(config);
  const bool normBias = config.flagOr("norm_bias", false),
             attentionBias = config.flagOr("attention_bias", false),
             mlpBias = config.flagOr("mlp_bias", false);
  ShapeList shapes;
  shapes.linear("model.embeddings.tok_embeddings", vocabulary, width);
  shapes.norm("model.embeddings.norm", width, normBias);
  for (int64_t layer = 0; layer < layers; ++layer) {
    shapes.setPrefix("model.layers." + Twine(layer) + ".");
    if (layer > 0)
      shapes.norm("attn_norm", width, normBias);
    shapes.linear("attn.Wqkv", 3 * width, width, attentionBias);
    shapes.linear("attn.Wo", width, width, attentionBias);
    shapes.norm("mlp_norm", width, normBias);
    shapes.linear("mlp.Wi", 2 * inner, width, mlpBias);
    shapes.linear("mlp.Wo", width, inner, mlpBias);
  }
  shapes.setPrefix("");
  shapes.norm("model.final_norm", width, normBias);
  shapes.linear("head.dense", width, width, config.flagOr("classifier_bias", false));
  shapes.norm("head.norm", width, normBias);
  if (config.flagOr("decoder_bias", true))
    shapes.add("decoder.bias", {vocabulary});
  return makeCounted(std::move(shapes), layers,
                     "an encoder with rotary positions and windows in both directions");
}

/// Adds one of CLIP's encoders after its embeddings, and returns its number of layers.
static int64_t addClipLayers(ShapeList &shapes, ConfigReader &config, const std::string &prefix) {
  const int64_t width = config.positive("hidden_size"), layers = readLayers(config),
                inner = config.positive("intermediate_size");
  for (int64_t layer = 0; layer < layers; ++layer) {
    shapes.setPrefix(prefix + ".encoder.layers." + Twine(layer) + ".");
    addAttention(shapes, "self_attn", width);
    shapes.norm("layer_norm1", width, /*bias=*/true);
    addMlp(shapes, "mlp.", inner, width);
    shapes.norm("layer_norm2", width, /*bias=*/true);
  }
  shapes.setPrefix("");
  return layers;
}

/// Counts CLIP with both of its encoders.
std::unique_ptr<Model> llmmem::importer::readClip(ConfigReader &config, const ImportOptions &) {
  const llvm::json::Object none;
  auto part = [&](StringRef key) {
    const llvm::json::Object *object = config.optionalObject(key);
    if (!object)
      config.fail("missing key " + config.quoted(key));
    return ConfigReader(object ? *object : none, config.getFile(), key);
  };
  ConfigReader text = part("text_config"), vision = part("vision_config");
  const int64_t shared = config.positive("projection_dim"),
                textWidth = text.positive("hidden_size"), width = vision.positive("hidden_size"),
                patch = vision.positive("patch_size"),
                across = vision.positive("image_size") / patch,
                channels = vision.optionalPositive("num_channels").value_or(3);
  ShapeList shapes;
  shapes.add("logit_scale", {});
  shapes.linear("text_model.embeddings.token_embedding", text.positive("vocab_size"), textWidth);
  shapes.linear("text_model.embeddings.position_embedding",
                text.positive("max_position_embeddings"), textWidth);
  int64_t layers = addClipLayers(shapes, text, "text_model");
  shapes.norm("text_model.final_layer_norm", textWidth, /*bias=*/true);
  shapes.add("vision_model.embeddings.class_embedding", {width});
  shapes.add("vision_model.embeddings.patch_embedding.weight", {width, channels, patch, patch});
  shapes.linear("vision_model.embeddings.position_embedding", across * across + 1, width);
  shapes.norm("vision_model.pre_layrnorm", width, /*bias=*/true);
  layers += addClipLayers(shapes, vision, "vision_model");
  shapes.norm("vision_model.post_layernorm", width, /*bias=*/true);
  shapes.linear("visual_projection", shared, width);
  shapes.linear("text_projection", shared, textWidth);
  config.absorb(text);
  config.absorb(vision);
  return makeCounted(std::move(shapes), layers,
                     "two encoders, of images and of text, and a contrastive loss");
}

/// Adds a stack of Whisper's layers, of which a decoder's attend to the encoder, too.
static void addWhisperLayers(ShapeList &shapes, const std::string &module, int64_t layers,
                             int64_t inner, int64_t width, bool isDecoder) {
  for (int64_t layer = 0; layer < layers; ++layer) {
    shapes.setPrefix(module + ".layers." + Twine(layer) + ".");
    addAttention(shapes, "self_attn", width, /*keyBias=*/false);
    shapes.norm("self_attn_layer_norm", width, /*bias=*/true);
    if (isDecoder) {
      addAttention(shapes, "encoder_attn", width, /*keyBias=*/false);
      shapes.norm("encoder_attn_layer_norm", width, /*bias=*/true);
    }
    addMlp(shapes, "", inner, width);
    shapes.norm("final_layer_norm", width, /*bias=*/true);
  }
  shapes.setPrefix("");
  shapes.norm(module + ".layer_norm", width, /*bias=*/true);
}

/// Counts Whisper, whose head is the embedding of the decoder.
std::unique_ptr<Model> llmmem::importer::readWhisper(ConfigReader &config, const ImportOptions &) {
  const int64_t width = config.positive("d_model"), bins = config.positive("num_mel_bins"),
                encoders = readLayers(config, "encoder_layers"),
                decoders = readLayers(config, "decoder_layers"), taps = 3;
  ShapeList shapes;
  for (auto [name, in] : {std::pair("conv1", bins), {"conv2", width}}) {
    shapes.add("model.encoder." + Twine(name) + ".weight", {width, in, taps});
    shapes.add("model.encoder." + Twine(name) + ".bias", {width});
  }
  shapes.linear("model.encoder.embed_positions", config.positive("max_source_positions"), width);
  addWhisperLayers(shapes, "model.encoder", encoders, config.positive("encoder_ffn_dim"), width,
                   /*isDecoder=*/false);
  shapes.linear("model.decoder.embed_tokens", config.positive("vocab_size"), width);
  shapes.linear("model.decoder.embed_positions", config.positive("max_target_positions"), width);
  addWhisperLayers(shapes, "model.decoder", decoders, config.positive("decoder_ffn_dim"), width,
                   /*isDecoder=*/true);
  return makeCounted(std::move(shapes), encoders + decoders,
                     "an encoder of sound, whose convolutions overlap, and attention to a second "
                     "sequence");
}
