//===- ImportOptions.h - What an import is asked for ------------*- C++ -*-===//

#ifndef LLMMEM_IMPORT_IMPORTOPTIONS_H
#define LLMMEM_IMPORT_IMPORTOPTIONS_H

#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Import/HeldFormat.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace llmmem::importer {

enum class ElementKind { BF16, F16, F32, F64 };
enum class AttentionForm { Flash, Unfused };
enum class MaskForm { Seeded, Stored };
enum class Mode { Train, Forward, Prefill, Decode };

/// Sets the weight decay of the parameters that `parameters` names: `norms` (vectors that are no
/// biases), `biases`, `embeddings` (tables that ids index), or a glob over public names.
struct DecayGroup {
  std::string parameters;
  double decay = 0;
};

/// Selects the type in which AdamW stores its moments: f32 (f64 for f64 parameters), bf16, or 8
/// bits by blocks.
enum class StateType { Wide, BF16, Int8 };

/// Says how the parameters are updated. It becomes the module's `llm.training`. It has many fields
/// because each is a flag of llmmem-import.
struct TrainingOptions {
  llm::OptimizerKind optimizer = llm::OptimizerKind::AdamW;
  llm::GradientLifetime gradients = llm::GradientLifetime::Resident;
  // None means the default of the optimizer (`defaultsOf`).
  std::optional<double> beta1, beta2, eps, weightDecay;
  double clipNorm = 0; ///< The value 0 turns clipping off.
  /// Multiplies the loss: a number, "dynamic", which adapts to overflows, or "none". The default is
  /// "dynamic" for f16 and "none" otherwise.
  std::optional<std::string> lossScale;
  double lossScaleInitial = 65536;  ///< The initial dynamic scale (that of
                                    ///< torch.amp.GradScaler).
  int64_t lossScaleInterval = 2000; ///< The number of steps with finite gradients before the
                                    ///< scale grows.
  std::optional<double> momentum, beta2Decay;
  std::optional<bool> nesterov, master;
  StateType state = StateType::Wide;
  double labelSmoothing = 0, zLoss = 0; ///< Apply to the loss (`llm.cross_entropy`).
  /// Override `weightDecay` and its rule. Where several groups match a parameter, the last one
  /// applies.
  std::vector<DecayGroup> decayGroups;
};

/// Holds the default hyperparameters of an optimizer; none where it has no such parameter.
struct DefaultTraining {
  double beta1, beta2, eps, weightDecay;
  std::optional<double> momentum, beta2Decay;
  std::optional<bool> nesterov;
};

const DefaultTraining &defaultsOf(llm::OptimizerKind optimizer);

/// Describes low-rank adapters of projections (Hu et al. 2021), with the fields of PEFT's
/// LoraConfig: y = W x + alpha / rank B A x. A and B are trained, and all else is frozen.
struct LoraOptions {
  int64_t rank = 0;
  double alpha = 8;
  /// Lists modules by their public names or by the last parts of them: q_proj, self_attn.v_proj.
  std::vector<std::string> targets;
};

/// It has many fields because each is a flag of llmmem-import.
struct ImportOptions {
  int64_t batch = 0;
  int64_t seq = 0;
  std::optional<ElementKind> dtype; ///< None means the config's own.
  AttentionForm attention = AttentionForm::Flash;
  std::optional<double> dropout; ///< None means the config's own probabilities.
  MaskForm masks = MaskForm::Seeded;
  /// Counts the tokens that the decoder of an encoder-decoder predicts for each sequence;
  /// none means `seq`.
  std::optional<int64_t> decoderSeq;
  std::optional<int64_t> layers; ///< None means the config's own.
  Mode mode = Mode::Train;
  /// Limits the number of tokens of a sequence, for a step with caches (`keepsCaches`). A
  /// step of `Mode::Prefill` reads up to `seq` of them at a time. A step of `Mode::Decode` reads
  /// one, and its `seq` is 1.
  std::optional<int64_t> context;
  /// Count the tokens of a page of the caches, and the pages of each cache. Without `page`, caches
  /// have no pages; without `pages`, there are enough for all sequences at their longest.
  std::optional<int64_t> page, pages;
  TrainingOptions training;
  std::vector<std::string> freeze; ///< Lists globs over the public names of parameters.
  std::optional<LoraOptions> lora;
  /// Counts the places that each expert of a mixture has in a sequence. None means as many
  /// as tokens, so that no choice is dropped.
  std::optional<int64_t> expertCapacity;
  /// Gives the coefficient of the loss for unequally chosen experts; none means the config's own.
  std::optional<double> balanceLoss;
  /// Give the formats of untrained weights of projections and tables, and of caches. None means the
  /// types of parameters and activations.
  std::optional<HeldFormat> weights;
  std::optional<HeldKind> kvCache;
  /// Gives the size of the groups in which operands of products by weights in fewer bits are
  /// rounded to 8 bits. None means that they are not rounded.
  std::optional<int64_t> activationGroup;
  /// Rows pack several sequences, which an input `positions` separates.
  bool packed = false;
  /// Gives the type of parameters where activations have fewer bits: f32 for bf16 or f16. None
  /// means the type of the activations.
  std::optional<ElementKind> paramDtype;

  /// All other modes are for inference, whose programs contain nothing that only training needs
  /// (lib/Import/TrainingAlone.cpp).
  bool trains() const { return mode == Mode::Train; }
  bool keepsCaches() const { return mode == Mode::Prefill || mode == Mode::Decode; }
  /// Returns the number of tokens of the longest sequence.
  int64_t longest() const { return context.value_or(seq); }
};

} // namespace llmmem::importer

#endif // LLMMEM_IMPORT_IMPORTOPTIONS_H
