//===- DecoderParts.h - What decoders are made of ---------------*- C++ -*-===//
//
// Families share their parts: norms before and after a branch, separate or fused projections,
// rotary positions on all or some elements of a head, gates, windows. A family's reader fills one
// DecoderParts from its config.json, and `makeDecoder` lists its parameters and builds its graph.
// Example: Qwen3 is Llama with `queryNorm` and `keyNorm`.
//
// Modules have the names of the public checkpoint, without `.weight` and `.bias`; those of a block
// are without the block's prefix. An empty name means that the family does not have the module.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_IMPORT_DECODERPARTS_H
#define LLMMEM_LIB_IMPORT_DECODERPARTS_H

#include "RopeScaling.h"
#include "llmmem/Import/Model.h"
#include <functional>
#include <limits>

namespace llmmem::importer {

/// All norms of a model are of one kind.
struct NormStyle {
  enum class Kind { Rms, Layer } kind = Kind::Rms;
  double eps = 0;
  double offset = 0; ///< Added to the weights of an RMS norm.
};

struct Projection {
  std::string module;
  bool bias = false;
};

/// Describes the rotary positions of a head.
struct Rotary {
  double theta = 10000;
  int64_t elements = 0; ///< The number of elements of a head that rotate, the first ones.
  std::optional<RopeScaling> scaling;
  bool interleaved = false; ///< Pairs are neighbours; otherwise their elements are half of a head
                            ///< apart.
};

/// Describes keys and values from one narrow row that all heads share (DeepSeek-AI 2024); queries
/// may have another narrow row. A head's query and key have a part without positions and one that
/// rotates; the rotating key is the same for all heads.
struct LatentParts {
  int64_t queryRank = 0; ///< The value 0 means that queries are one projection.
  int64_t rank = 0;      ///< The rank of keys and values.
  int64_t plain = 0;     ///< Elements of a head's query and key without positions.
  int64_t turning = 0;   ///< Elements with positions.
  int64_t value = 0;     ///< Elements of a head's value.
  double eps = 1e-6;     ///< The eps of the norms of the narrow rows.
  Projection queryDown{"self_attn.q_a_proj"};
  std::string queryNorm = "self_attn.q_a_layernorm";
  Projection queryUp{"self_attn.q_b_proj"};
  Projection down{"self_attn.kv_a_proj_with_mqa"};
  std::string norm = "self_attn.kv_a_layernorm";
  Projection up{"self_attn.kv_b_proj"};
};

/// Queries at position p are multiplied by 1 + factor ln(1 + floor((p + 1) / step)) (Nakanishi
/// 2025).
struct Temperature {
  int64_t step = 0;
  double factor = 0;
};

/// It has many fields because each is a difference between two families of models.
struct AttentionParts {
  int64_t heads = 0;
  int64_t kvHeads = 0;
  int64_t headSize = 0;
  int64_t valueSize = 0; ///< Elements of a head's value, where it is narrower than its key.
  /// Says where queries, keys and values come from: a projection each, or `query` is that of all
  /// three. A fused projection has all queries before all keys (Phi-3), or the queries, the key and
  /// the value of each group of heads together (GPT-NeoX, Falcon).
  enum class Fusion { Apart, SideBySide, ByGroup } fusion = Fusion::Apart;
  Projection query{"self_attn.q_proj"};
  Projection key{"self_attn.k_proj"};
  Projection value{"self_attn.v_proj"};
  Projection output{"self_attn.o_proj"};
  std::optional<LatentParts> latent; ///< Replaces the projections of keys and values.
  std::string sinks;                 ///< A score for each head that takes a share and has no value.
  std::string queryNorm;
  std::string keyNorm;
  bool gated =
      false; ///< Each query comes with a gate, whose logistic multiplies its head's result.
  bool normsHeads = false; ///< Normalises each head separately; otherwise the row of all heads.
  /// The eps of norms without weights of each head of queries and keys, which follow the rotation.
  std::optional<double> turnedNormEps;
  Rotary rotary;
  /// Applies to layers with a window, where theirs differ.
  std::optional<Rotary> windowRotary;
  std::optional<int64_t> window;
  /// Says by its number whether a layer has a window. Without it all layers do.
  std::function<bool(int64_t)> hasWindow;
  /// Says by its number whether queries and keys of a layer have positions. Without it all do.
  std::function<bool(int64_t)> hasPositions;
  std::optional<double> scale;   ///< Multiplies the scores; none means 1 / sqrt(headSize).
  std::optional<double> softcap; ///< Limits the scores.
  double valueScale = 1;         ///< Multiplies the values.
  /// Layers with positions attend within chunks of this many tokens.
  std::optional<int64_t> chunk;
  /// Queries of layers without positions grow with their position.
  std::optional<Temperature> temperature;
  double dropout = 0; ///< The dropout of probabilities.
  double outputDropout = 0;

  bool isWindowed(int64_t layer) const { return window && (!hasWindow || hasWindow(layer)); }
  bool isTurned(int64_t layer) const { return !hasPositions || hasPositions(layer); }
  int64_t queryWidth() const { return heads * headSize; }
  int64_t kvWidth() const { return kvHeads * headSize; }
  /// Returns the elements of a head's value.
  int64_t valueElements() const { return valueSize ? valueSize : headSize; }
};

struct MlpParts {
  int64_t inner = 0;
  Projection gate{"mlp.gate_proj"}; ///< None: the result of `up` is not gated.
  Projection up{"mlp.up_proj"};     ///< None: the gate's projection computes both.
  Projection down{"mlp.down_proj"};
  /// ReluSquared is max(x, 0)^2.
  enum class Activation { Silu, GeluTanh, GeluExact, ReluSquared } activation = Activation::Silu;
  double outputDropout = 0;

  bool isFused() const { return up.module.empty(); }
};

/// A gate g of at most `limit` and an up u between its bounds are multiplied as
/// (u + 1) g / (1 + exp(-alpha g)) (OpenAI 2025).
struct ClampedGate {
  double limit = 7;
  double alpha = 1.702;
};

/// Holds gates and ups of all experts in one weight, [experts, in, 2 inner] or, `OutIn`, [experts,
/// 2 inner, in], the gates before the ups. With a clamped gate they alternate, and each weight has
/// a
/// `_bias`. The names are those of the parameters.
struct JoinedExperts {
  std::string gateUp = "mlp.experts.gate_up_proj";
  std::string down = "mlp.experts.down_proj";
  llm::WeightLayout layout = llm::WeightLayout::InOut;
  std::optional<ClampedGate> clamped;
};

/// Describes a mixture that replaces the MLP: each token goes through the best of many experts. It
/// has many fields because each is a difference between two families of models.
struct ExpertParts {
  int64_t count = 0;
  int64_t chosen = 0; ///< By each token.
  int64_t inner = 0;
  Projection router{"mlp.gate"};
  /// `*` represents the number of the expert: the experts are slices of one parameter. Without a
  /// gate the result of `up` is not gated.
  std::string gate = "mlp.experts.*.gate_proj";
  std::string up = "mlp.experts.*.up_proj";
  std::string down = "mlp.experts.*.down_proj";
  std::optional<JoinedExperts> joined; ///< Replaces these three.
  /// The width of what experts read and write, where it is narrower than the model's, and the
  /// projections to it and from it.
  int64_t latent = 0;
  Projection latentDown, latentUp;
  bool normalized = true;   ///< The weights of the chosen experts add up to 1.
  double factor = 1;        ///< Multiplies the weights.
  bool weighsInput = false; ///< The weights multiply what experts read, not what they write.
  int64_t groups = 1;       ///< Groups of neighbours, of which each token uses the best.
  int64_t keptGroups = 1;
  int64_t groupBest = 1;    ///< The number of experts whose scores represent their group.
  bool logistic = false;    ///< Scores are the logistic of logits; otherwise they are their
                            ///< softmax.
  std::string biasOfChoice; ///< Added to the scores for the choice, and trained by no gradient.
  double balanceLoss = 0;   ///< The coefficient of the loss for unequal choices.
  /// An expert that all tokens go through as well, and the projection that says what share of it
  /// they take.
  std::optional<MlpParts> shared;
  std::string sharedGate;
  /// Says by its number whether a layer has a mixture. Without it all layers do.
  std::function<bool(int64_t)> hasExperts;

  bool isIn(int64_t layer) const { return count > 0 && (!hasExperts || hasExperts(layer)); }
};

/// Describes a short convolution between two gates, which replaces attention: of three rows the
/// first multiplies the third before the convolution, and the second what comes out.
struct ConvolutionParts {
  int64_t taps = 0;
  bool bias = false; ///< Of the convolution.
  Projection input{"conv.in_proj"};
  std::string module = "conv.conv";
  Projection output{"conv.out_proj"};
};

/// Describes a state that is carried along the sequence, which replaces attention: gated DeltaNet
/// or Mamba-2. A short convolution goes over queries, keys and values before.
struct StateParts {
  bool delta = true;           ///< What the key reads already is replaced; otherwise it is Mamba-2.
  int64_t groups = 0, key = 0; ///< Queries and keys, of which several heads have the same.
  int64_t heads = 0, value = 0;
  int64_t taps = 0;
  bool convBias = false;
  bool bias = false; ///< Of the projections.
  /// Says how the input is projected: to the queries, keys, values and gates of each group together
  /// (Qwen3-Next), to what is convolved and to each gate apart (Qwen3.5), or to gate, values, keys,
  /// queries and steps side by side (Mamba-2).
  enum class Inputs { ByGroup, Apart, SideBySide } inputs = Inputs::ByGroup;
  std::string module = "linear_attn";
  double eps = 1e-6; ///< Of the norm before the output.
  double leastStep = 0, mostStep = std::numeric_limits<double>::infinity();

  int64_t keyWidth() const { return groups * key; }
  int64_t valueWidth() const { return heads * value; }
};

/// Holds the parts of one layer, which may differ from those of others.
struct LayerParts {
  /// A layer without attention, or without an MLP, has no norm of that branch either.
  bool attends = true, hasMlp = true;
  AttentionParts attention;
  /// A layer that does not attend may have one of these instead.
  std::optional<ConvolutionParts> convolution;
  std::optional<StateParts> state;
  MlpParts mlp;
  /// Lists parameters that the checkpoint has after those of attention and the graph does not read.
  std::vector<Parameter> unread;
};

struct BlockParts {
  std::string prefix = "model.layers."; ///< Precedes the number of the layer.
  /// The norms before and after a branch.
  std::string attentionNorm = "input_layernorm";
  std::string attentionPostNorm;
  std::string mlpNorm = "post_attention_layernorm";
  std::string mlpPostNorm;
  /// The MLP reads the input of attention, not its result. Without a norm of its own it reads the
  /// norm of attention.
  bool parallel = false;
  double branchScale = 1; ///< Multiplies what a branch adds to the residual.
  /// Lists the modules that the checkpoint has before the projections of attention and MLP; by
  /// default these are the norms, each in the order above.
  std::vector<std::string> listedFirst;
};

/// It has many fields because each is a difference between two families of models.
struct DecoderParts {
  int64_t width = 0;
  int64_t vocabulary = 0;
  std::string embedding = "model.embed_tokens";
  double embeddingScale = 1;
  double embeddingDropout = 0;
  BlockParts block;
  AttentionParts attention;
  MlpParts mlp;
  /// Changes what the layer of this number has of its own. Without it all layers have the parts
  /// above.
  std::function<void(int64_t, LayerParts &)> vary;
  ExpertParts experts;
  NormStyle norm;
  std::string finalNorm = "model.norm";
  Projection head{"lm_head"};
  bool tied = false; ///< The head is the embedding.
  double logitsScale = 1;
  std::optional<double> softcap; ///< Limits the logits.
  int64_t layers = 0;
  /// Counts the layers after these that predict further tokens. They are left out, as the public
  /// library leaves them out of training.
  int64_t furtherTokens = 0;
  int64_t maxSeq = 0;
  std::string maxSeqKey = "max_position_embeddings";
  std::string whyNotLonger;       ///< Names what longer sequences need, where the model has that.
  std::vector<std::string> notes; ///< Lists sentences about this import.

  /// Returns the parts of the layer of this number.
  LayerParts ofLayer(int64_t layer) const;
};

/// Lists the parameters of the first `layers` layers of a decoder, and of all that is no layer, in
/// the order of the public state_dict.
std::vector<Parameter> parametersOf(const DecoderParts &parts, int64_t layers);
std::unique_ptr<Model> makeDecoder(DecoderParts parts);

} // namespace llmmem::importer

#endif // LLMMEM_LIB_IMPORT_DECODERPARTS_H
