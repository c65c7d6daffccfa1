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

static constexpr StringRef kMamba2 = "Mamba-2 layers, which carry a state along the sequence",
                           kMamba = "Mamba layers, which carry a state along the sequence";
static constexpr StringRef kHyper =
    "several residual streams (hyper-connections) and compressed keys and values";

static constexpr KnownType kTypes[] = {
    {"kimi_k3", "layers of Kimi Delta Attention, linear attention with a state"},
    {"kimi_linear", "layers of Kimi Delta Attention, linear attention with a state"},
    {"falcon_h1", kMamba2},
    {"bamba", kMamba2},
    {"zamba2", kMamba2},
    {"mamba2", kMamba2},
    {"falcon_mamba", kMamba},
    {"lfm2_moe", "weights of experts that are divided by a little more than their sum"},
    {"deepseek_v4", kHyper},
    {"deepseek_ref", kHyper},
    {"minimax_m3", "sparse attention, which chooses blocks of keys"},
    {"step3p7", "layers with different numbers of heads, and gates of heads"},
    {"gemma3n_text",
     "several residual streams (AltUp), embeddings of each layer and shared keys and "
     "values"},
    {"gemma3n",
     "several residual streams (AltUp), embeddings of each layer and shared keys and values"},
    {"siglip", "two encoders, of images and of text, and a contrastive loss"},
};

StringRef llmmem::importer::missingIdea(StringRef modelType) {
  const KnownType *known =
      llvm::find_if(kTypes, [&](const KnownType &type) { return type.modelType == modelType; });
  return known == std::end(kTypes) ? "" : known->idea;
}
