//===- MissingIdeas.cpp - Model types that are known and not built ---------===//

#include "ConfigKeys.h"
#include "llvm/ADT/STLExtras.h"

using namespace llmmem::importer;
using llvm::StringRef;

namespace {
struct KnownType {
  StringRef modelType;
  StringRef idea;
};
} // namespace

static constexpr StringRef kDeltaNet = "layers of gated DeltaNet, linear attention with a state",
                           kMamba2 = "Mamba-2 layers, which carry a state along the sequence",
                           kMamba = "Mamba layers, which carry a state along the sequence",
                           kIndexer = "sparse attention, whose indexer chooses the keys of a query",
                           kConvolution = "layers of short convolutions";
static constexpr StringRef kHyper =
    "several residual streams (hyper-connections) and compressed keys and values";

static constexpr KnownType kTypes[] = {
    {"qwen3_next", kDeltaNet},
    {"qwen3_5", kDeltaNet},
    {"qwen3_5_text", kDeltaNet},
    {"qwen3_5_moe", kDeltaNet},
    {"qwen3_5_moe_text", kDeltaNet},
    {"kimi_k3", "layers of Kimi Delta Attention, linear attention with a state"},
    {"kimi_linear", "layers of Kimi Delta Attention, linear attention with a state"},
    {"nemotron_h", kMamba2},
    {"granitemoehybrid", kMamba2},
    {"falcon_h1", kMamba2},
    {"bamba", kMamba2},
    {"zamba2", kMamba2},
    {"mamba2", kMamba2},
    {"mamba", kMamba},
    {"falcon_mamba", kMamba},
    {"jamba", kMamba},
    {"lfm2", kConvolution},
    {"lfm2_vl", kConvolution},
    {"lfm2_moe", kConvolution},
    {"deepseek_v32", kIndexer},
    {"glm_moe_dsa", kIndexer},
    {"deepseek_v4", kHyper},
    {"deepseek_ref", kHyper},
    {"minimax_m3", "sparse attention, which chooses blocks of keys"},
    {"step3p7", "layers with different numbers of heads, and gates of heads"},
    {"gemma3n_text",
     "several residual streams (AltUp), embeddings of each layer and shared keys and "
     "values"},
    {"gemma3n",
     "several residual streams (AltUp), embeddings of each layer and shared keys and values"},
    {"gemma4", "heads of two sizes, and layers that share keys and values"},
    {"gemma4_text", "heads of two sizes, and layers that share keys and values"},
    {"modernbert", "an encoder with rotary positions and windows in both directions"},
    {"whisper",
     "an encoder of sound, whose convolutions overlap, and attention to a second sequence"},
    {"clip", "two encoders, of images and of text, and a contrastive loss"},
    {"siglip", "two encoders, of images and of text, and a contrastive loss"},
};

StringRef llmmem::importer::missingIdea(StringRef modelType) {
  const KnownType *known =
      llvm::find_if(kTypes, [&](const KnownType &type) { return type.modelType == modelType; });
  return known == std::end(kTypes) ? "" : known->idea;
}
