//===- DecoderConfig.h - Keys that configs of decoders share ----*- C++ -*-===//
//
// A family's reader begins with `readLlamaKeys`, whose keys most files have, and changes the parts
// that differ. Complaints stay in the ConfigReader.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_IMPORT_DECODERCONFIG_H
#define LLMMEM_LIB_IMPORT_DECODERCONFIG_H

#include "DecoderParts.h"

namespace llmmem::importer {

/// Says where a family departs from Llama's keys, and what a missing key means. It has many fields
/// because each is a key, or what families disagree on about one.
struct KeyNames {
  NormStyle::Kind norm = NormStyle::Kind::Rms;
  llvm::StringRef eps = "rms_norm_eps";
  llvm::StringRef inner = "intermediate_size";
  int64_t innerOr = 0; ///< A multiple of the width; 0 makes the key required.
  llvm::StringRef activation = "hidden_act";
  llvm::StringRef activationOr = ""; ///< None makes the key required.
  llvm::StringRef kvHeads = "num_key_value_heads";
  bool kvHeadsOr = false; ///< As many as heads; otherwise the key is required.
  llvm::StringRef theta = "rope_theta";
  double thetaOr = 10000;
  llvm::StringRef rotaryFraction = "partial_rotary_factor";
  double rotaryFractionOr = 1;
  llvm::StringRef rotaryElements = ""; ///< A key of the number of elements that turn.
  bool rotaryByLayerType = false;      ///< The family reads its rotary positions itself.
  int64_t layersOr = 0;                ///< The value 0 makes num_hidden_layers required.
  int64_t maxSeqOr = 0;                ///< The value 0 makes max_position_embeddings required.
  bool tiedOr = false;
};

/// Returns Llama's parts with the sizes, heads, rotary positions and numbers of this config.
DecoderParts readLlamaKeys(ConfigReader &config, const ImportOptions &options,
                           const KeyNames &names = {});

/// Sets biases on the projections of queries, keys and values.
void setInputBias(AttentionParts &attention, bool bias);
void setBias(MlpParts &mlp, bool bias);

/// Says what rotary positions are read for.
struct RotaryContext {
  int64_t headSize = 0;
  int64_t seq = 0;    ///< The sequence length of the import.
  int64_t maxSeq = 0; ///< The limit of the config.
  /// Holds the number of positions before they were stretched, where the config says it outside of
  /// the scaling.
  std::optional<int64_t> originalMaxSeq;
  int64_t longestSeq = 0; ///< The limit of the scaling, where it exceeds that of the config.
};
/// Changes `rotary` according to an object that holds a scaling, or all of rope_parameters.
void readRotaryObject(ConfigReader &rope, RotaryContext &context, Rotary &rotary);

/// Reads the layers with a window from `layer_types`, where the file has it.
void readLayerTypes(ConfigReader &config, DecoderParts &parts);

/// Reads which layers have no positions: those with a 0 in `no_rope_layers` or, without that list,
/// one in every `no_rope_layer_interval`, or in every `intervalOr`.
void readLayersWithoutPositions(ConfigReader &config, DecoderParts &parts, int64_t intervalOr);

/// Reads rotary positions of which layers with a window have their own. Newer files have an object
/// of `rope_parameters` for each kind of layer. In older ones `rope_scaling` is of layers without a
/// window, and `windowTheta` is the base of the others.
void readRotaryByLayerType(ConfigReader &config, const ImportOptions &options, DecoderParts &parts,
                           double thetaOr, std::optional<double> windowTheta = std::nullopt);

/// Reads Qwen's window, which use_sliding_window switches on, from layer max_window_layers on.
void readSwitchedWindow(ConfigReader &config, DecoderParts &parts);

/// Says which keys hold a family's numbers of experts.
struct ExpertKeys {
  llvm::StringRef count = "num_experts";
  llvm::StringRef inner = "moe_intermediate_size";
  llvm::StringRef chosen = "num_experts_per_tok";
  bool hasBalance = true; ///< The public library computes an auxiliary loss.
};

/// Reads the experts of each layer, how many a token chooses, and the loss for unequal choices.
ExpertParts readExperts(ConfigReader &config, const ExpertKeys &keys = {});

/// Reads the router of DeepSeek-V3: scores are logistic, and experts are chosen by score and a bias
/// that a rule and no gradient trains, in the groups whose two best experts have the largest sum.
/// Without `groupsOr` the keys of the groups are required.
void readLogisticRouter(ConfigReader &config, ExpertParts &experts,
                        std::optional<int64_t> groupsOr = std::nullopt);

/// Returns `count` experts that every token goes through, as one MLP of DeepSeek's names.
MlpParts sharedExperts(const DecoderParts &parts, int64_t count);

/// Reads which layers have experts from `mlp_layer_types`, where the file has it; `dense` says how
/// many layers at the beginning have none otherwise.
void readLayersWithExperts(ConfigReader &config, DecoderParts &parts, int64_t dense);

/// Reads Qwen's expert that every token goes through, and takes a share of.
void readSharedExpert(ConfigReader &config, DecoderParts &parts);

/// Reads Qwen's keys: whether the weights are normalised, and which layers have an ordinary MLP.
void readQwenExperts(ConfigReader &config, DecoderParts &parts);

} // namespace llmmem::importer

#endif // LLMMEM_LIB_IMPORT_DECODERCONFIG_H
