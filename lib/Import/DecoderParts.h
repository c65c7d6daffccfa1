//===- DecoderParts.h - What decoders are made of ---------------*- C++ -*-===//
//
// Families share their parts: norms before and behind a branch, projections apart or fused, rotary
// positions on all or some of a head, gates, windows. A family's reader fills one DecoderParts from
// its config.json, and `makeDecoder` lists its parameters and builds its graph. Example: Qwen3 is
// Llama with `queryNorm` and `keyNorm`.
//
// Modules are named as in the public checkpoint, without `.weight` and `.bias`; those of a block,
// without the block's prefix. An empty name is a module that the family does not have.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_IMPORT_DECODERPARTS_H
#define LLMMEM_LIB_IMPORT_DECODERPARTS_H

#include "RopeScaling.h"
#include "llmmem/Import/Model.h"
#include <functional>

namespace llmmem::importer {

/// All norms of a model are of one kind.
struct NormStyle {
  enum class Kind { Rms, Layer } kind = Kind::Rms;
  double eps = 0;
  double offset = 0; ///< that an RMS norm's weights count from
};

struct Projection {
  std::string module;
  bool bias = false;
};

/// Rotary positions of a head.
struct Rotary {
  double theta = 10000;
  int64_t elements = 0; ///< of a head that turn: the first ones
  std::optional<RopeScaling> scaling;
  bool interleaved = false; ///< neighbours turn together, else elements half of a head apart
};

/// Keys and values from one narrow row that all heads share (DeepSeek-AI 2024), and queries perhaps
/// from another one. A head's query and key have a part without positions and one that turns; the
/// turning key is the same for all heads.
struct LatentParts {
  int64_t queryRank = 0; ///< 0: queries are one projection
  int64_t rank = 0;      ///< of keys and values
  int64_t plain = 0;     ///< elements of a head's query and key without positions
  int64_t turning = 0;   ///< and with them
  int64_t value = 0;     ///< of a head's value
  double eps = 1e-6;     ///< of the norms of the narrow rows
  Projection queryDown{"self_attn.q_a_proj"};
  std::string queryNorm = "self_attn.q_a_layernorm";
  Projection queryUp{"self_attn.q_b_proj"};
  Projection down{"self_attn.kv_a_proj_with_mqa"};
  std::string norm = "self_attn.kv_a_layernorm";
  Projection up{"self_attn.kv_b_proj"};
};

struct AttentionParts {
  int64_t heads = 0;
  int64_t kvHeads = 0;
  int64_t headSize = 0;
  /// Where queries, keys and values come from: a projection each, or `query` is that of all three.
  /// Then all queries stand before all keys (Phi-3), or each group of heads has its queries, its
  /// key and its value side by side (GPT-NeoX, Falcon).
  enum class Fusion { Apart, SideBySide, ByGroup } fusion = Fusion::Apart;
  Projection query{"self_attn.q_proj"};
  Projection key{"self_attn.k_proj"};
  Projection value{"self_attn.v_proj"};
  Projection output{"self_attn.o_proj"};
  std::optional<LatentParts> latent; ///< in the place of projections of keys and values
  std::string sinks; ///< a score for each head that takes a share and gives no value
  std::string queryNorm;
  std::string keyNorm;
  bool normsHeads = false; ///< each head by itself, else the row of all of them
  Rotary rotary;
  /// Of layers with a window, where theirs differ.
  std::optional<Rotary> windowRotary;
  std::optional<int64_t> window;
  /// The layers with a window, by their number; all where there is none.
  std::function<bool(int64_t)> hasWindow;
  std::optional<double> scale;   ///< of scores; none: 1 / sqrt(headSize)
  std::optional<double> softcap; ///< of scores
  double dropout = 0;            ///< of probabilities
  double outputDropout = 0;

  bool isWindowed(int64_t layer) const { return window && (!hasWindow || hasWindow(layer)); }
};

struct MlpParts {
  int64_t inner = 0;
  Projection gate{"mlp.gate_proj"}; ///< none: what `up` gives is not gated
  Projection up{"mlp.up_proj"};     ///< none: the gate's projection is that of both
  Projection down{"mlp.down_proj"};
  enum class Activation { Silu, GeluTanh, GeluExact } activation = Activation::Silu;
  double outputDropout = 0;

  bool isFused() const { return up.module.empty(); }
};

/// Gates and ups of all experts in one weight [experts, in, 2 inner], their columns by turns; each
/// weight beside its `_bias`. A gate g of at most `limit` and an up u between its bounds are
/// multiplied as (u + 1) g / (1 + exp(-alpha g)) (OpenAI 2025).
struct JoinedExperts {
  std::string gateUp = "mlp.experts.gate_up_proj";
  std::string down = "mlp.experts.down_proj";
  double limit = 7;
  double alpha = 1.702;
};

/// A mixture in the place of the MLP: each token goes through the best of many.
struct ExpertParts {
  int64_t count = 0;
  int64_t chosen = 0; ///< by each token
  int64_t inner = 0;
  Projection router{"mlp.gate"};
  /// `*` stands for the number of the expert: they are slices of one parameter.
  std::string gate = "mlp.experts.*.gate_proj";
  std::string up = "mlp.experts.*.up_proj";
  std::string down = "mlp.experts.*.down_proj";
  std::optional<JoinedExperts> joined; ///< in the place of these three
  bool normalized = true;              ///< the weights of the chosen ones add up to 1
  double factor = 1;                   ///< of the weights
  int64_t groups = 1;                  ///< of neighbours, of which each token goes to the best
  int64_t keptGroups = 1;
  int64_t groupBest = 1;    ///< experts that speak for their group
  bool logistic = false;    ///< scores are the logistic of logits, else their softmax
  std::string biasOfChoice; ///< that scores are chosen by, trained by no gradient
  double balanceLoss = 0;   ///< the coefficient of what unequal choices cost
  /// One that all tokens go through beside, and the projection that says how much of it they take.
  std::optional<MlpParts> shared;
  std::string sharedGate;
  /// The layers with a mixture, by their number; all where there is none.
  std::function<bool(int64_t)> hasExperts;

  bool isIn(int64_t layer) const { return count > 0 && (!hasExperts || hasExperts(layer)); }
};

struct BlockParts {
  std::string prefix = "model.layers."; ///< before the number of the layer
  /// Before a branch, and behind it.
  std::string attentionNorm = "input_layernorm";
  std::string attentionPostNorm;
  std::string mlpNorm = "post_attention_layernorm";
  std::string mlpPostNorm;
  /// The MLP reads what attention reads, not what it adds; without a norm of its own, behind its.
  bool parallel = false;
  /// Modules that the checkpoint lists before the projections of attention and MLP, else the
  /// norms, each in the order above.
  std::vector<std::string> listedFirst;
};

struct DecoderParts {
  int64_t width = 0;
  int64_t vocabulary = 0;
  std::string embedding = "model.embed_tokens";
  double embeddingScale = 1;
  double embeddingDropout = 0;
  BlockParts block;
  AttentionParts attention;
  MlpParts mlp;
  ExpertParts experts;
  NormStyle norm;
  std::string finalNorm = "model.norm";
  Projection head{"lm_head"};
  bool tied = false;             ///< the head is the embedding
  std::optional<double> softcap; ///< of logits
  int64_t layers = 0;
  int64_t maxSeq = 0;
  std::string maxSeqKey = "max_position_embeddings";
};

std::unique_ptr<Model> makeDecoder(DecoderParts parts);

} // namespace llmmem::importer

#endif // LLMMEM_LIB_IMPORT_DECODERPARTS_H
