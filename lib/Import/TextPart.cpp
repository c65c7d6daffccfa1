//===- TextPart.cpp - The text part of a config of several parts -----------===//

#include "TextPart.h"
#include "llvm/ADT/STLExtras.h"

using namespace llmmem::importer;
using llvm::StringRef;
namespace json = llvm::json;

static constexpr StringRef kTextKeys[] = {"text_config", "llm_config", "language_config"};

/// Lists models whose checkpoints have one decoder with a part for each kind of input. In those of
/// others the text part is a model of its own.
static constexpr StringRef kOneDecoder[] = {"exaone4_5",    "gemma3n",    "gemma4",      "glm4v",
                                            "glm4v_moe",    "qwen2_5_vl", "qwen2_vl",    "qwen3_vl",
                                            "qwen3_vl_moe", "qwen3_5",    "qwen3_5_moe", "lfm2_vl"};

namespace {
struct Alias {
  StringRef textType, family;
};
} // namespace

/// Lists text parts that compute what a family does. Without images, positions in three dimensions
/// are those of one.
static constexpr Alias kAliases[] = {{"exaone4_5_text", "exaone4"},
                                     {"qwen2_5_vl_text", "qwen2"},
                                     {"qwen2_vl_text", "qwen2"},
                                     {"qwen3_vl_text", "qwen3"},
                                     {"qwen3_vl_moe_text", "qwen3_moe"}};

static void nameByFamily(json::Object &text) {
  const StringRef type = text.getString("model_type").value_or("");
  for (const Alias &alias : kAliases)
    if (alias.textType == type) {
      text["model_type"] = alias.family;
      return;
    }
}

std::optional<TextPart> llmmem::importer::findTextPart(const json::Object &whole) {
  for (StringRef key : kTextKeys) {
    const json::Object *text = whole.getObject(key);
    if (!text)
      continue;
    TextPart part;
    part.config = *text;
    part.key = key;
    const StringRef modelType = whole.getString("model_type").value_or("");
    const bool isOneDecoder = llvm::is_contained(kOneDecoder, modelType);
    part.names = isOneDecoder ? TextNames{"model.language_model.", ""}
                              : TextNames{"language_model.model.", "language_model."};
    // Of these the whole config has the last word, or the only one.
    for (StringRef shared : {"tie_word_embeddings", "quantization_config"})
      if (const json::Value *value = whole.get(shared))
        part.config[shared] = *value;
    for (StringRef shared : {"dtype", "torch_dtype"})
      if (const json::Value *value = whole.get(shared))
        part.config.try_emplace(shared, *value);
    part.config.erase("architectures");
    nameByFamily(part.config);
    for (const auto &[other, value] : whole)
      if (StringRef(other).ends_with("_config") && value.getAsObject() && StringRef(other) != key &&
          StringRef(other) != "quantization_config")
        part.leftOut.push_back(StringRef(other).str());
    llvm::sort(part.leftOut);
    return part;
  }
  return std::nullopt;
}

namespace {
struct Defaults {
  StringRef modelType;
  StringRef object; ///< As JSON.
};
} // namespace

static constexpr Defaults kDefaults[] = {
    {"gemma3_text", R"({"vocab_size": 262208, "num_attention_heads": 8, "num_key_value_heads": 4,
      "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh", "max_position_embeddings": 131072,
      "rms_norm_eps": 1e-6, "query_pre_attn_scalar": 256, "sliding_window": 4096})"},
    {"glm4_moe_lite", R"({"hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 10000})"}};

std::vector<std::string> llmmem::importer::addLibraryDefaults(json::Object &config,
                                                              StringRef modelType) {
  std::vector<std::string> added;
  const Defaults *own = llvm::find_if(
      kDefaults, [&](const Defaults &defaults) { return defaults.modelType == modelType; });
  if (own == std::end(kDefaults))
    return added;
  const json::Value defaults = llvm::cantFail(json::parse(own->object));
  for (const auto &[key, value] : *defaults.getAsObject())
    if (config.try_emplace(key, value).second)
      added.push_back((StringRef(key) + " = " + shortText(value)).str());
  llvm::sort(added);
  return added;
}
