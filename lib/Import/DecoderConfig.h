//===- DecoderConfig.h - Keys that configs of decoders share ----*- C++ -*-===//
//
// A family's reader begins with `readLlamaKeys`, whose keys most files have, and changes the parts
// that are its own. Complaints stay in the ConfigReader.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_IMPORT_DECODERCONFIG_H
#define LLMMEM_LIB_IMPORT_DECODERCONFIG_H

#include "DecoderParts.h"

namespace llmmem::importer {

/// Where a family departs from Llama's keys, and what a key that is left out means.
struct KeyNames {
  NormStyle::Kind norm = NormStyle::Kind::Rms;
  llvm::StringRef eps = "rms_norm_eps";
  llvm::StringRef inner = "intermediate_size";
  int64_t innerOr = 0; ///< times the width; 0: the key is required
  llvm::StringRef activation = "hidden_act";
  llvm::StringRef activationOr = ""; ///< none: the key is required
  llvm::StringRef kvHeads = "num_key_value_heads";
  bool kvHeadsOr = false; ///< as many as heads, else the key is required
  llvm::StringRef theta = "rope_theta";
  double thetaOr = 10000;
  llvm::StringRef rotaryFraction = "partial_rotary_factor";
  double rotaryFractionOr = 1;
  bool rotaryByLayerType = false; ///< the family reads its rotary positions itself
  int64_t maxSeqOr = 0;           ///< 0: max_position_embeddings is required
  bool tiedOr = false;
};

/// Llama's parts, with the sizes, heads, rotary positions and numbers of this config.
DecoderParts readLlamaKeys(ConfigReader &config, const ImportOptions &options,
                           const KeyNames &names = {});

/// Biases on the projections of queries, keys and values.
void setInputBias(AttentionParts &attention, bool bias);
void setBias(MlpParts &mlp, bool bias);

/// What rotary positions are read for.
struct RotaryContext {
  int64_t headSize = 0;
  int64_t seq = 0;    ///< of the import
  int64_t maxSeq = 0; ///< of the config
  /// The positions before they were stretched, where the config says them outside of the scaling.
  std::optional<int64_t> originalMaxSeq;
  int64_t longestSeq = 0; ///< where the scaling allows more than the config
};
/// Changes `rotary` as an object says that holds a scaling, or all of rope_parameters.
void readRotaryObject(ConfigReader &rope, RotaryContext &context, Rotary &rotary);

/// Takes the layers with a window from `layer_types`, where the file has it.
void readLayerTypes(ConfigReader &config, DecoderParts &parts);

/// Qwen's: a window that use_sliding_window switches on, from layer max_window_layers on.
void readSwitchedWindow(ConfigReader &config, DecoderParts &parts);

/// Where a family has its numbers of experts.
struct ExpertKeys {
  llvm::StringRef count = "num_experts";
  llvm::StringRef inner = "moe_intermediate_size";
  bool hasBalance = true; ///< the public library computes an auxiliary loss
};

/// The experts of each layer, how many a token chooses, and what unequal choices cost.
ExpertParts readExperts(ConfigReader &config, const ExpertKeys &keys = {});

/// Qwen's: whether the weights are normalised, and which layers have an MLP as others have.
void readQwenExperts(ConfigReader &config, DecoderParts &parts);

} // namespace llmmem::importer

#endif // LLMMEM_LIB_IMPORT_DECODERCONFIG_H
