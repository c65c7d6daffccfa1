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

/// The weight decay of the parameters that `parameters` names: `norms` (vectors that are no
/// biases), `biases`, `embeddings` (tables that ids are looked up in), or a glob over public names.
struct DecayGroup {
  std::string parameters;
  double decay = 0;
};

/// What AdamW holds its moments in: f32 (f64 beside f64), bf16, or 8 bits by blocks.
enum class StateType { Wide, BF16, Int8 };

/// How the parameters are updated; becomes the module's `llm.training`.
struct TrainingOptions {
  llm::OptimizerKind optimizer = llm::OptimizerKind::AdamW;
  llm::GradientLifetime gradients = llm::GradientLifetime::Resident;
  // None: what is usual for the optimizer (`usualOf`).
  std::optional<double> beta1, beta2, eps, weightDecay;
  double clipNorm = 0; ///< 0 clips nothing
  /// By what the loss is multiplied: a number, "dynamic", which follows what overflows, or "none".
  /// Nothing given: "dynamic" beside f16, else "none".
  std::optional<std::string> lossScale;
  double lossScaleInitial = 65536;  ///< of a dynamic one (torch.amp.GradScaler's)
  int64_t lossScaleInterval = 2000; ///< steps with finite gradients until it grows
  std::optional<double> momentum, beta2Decay;
  std::optional<bool> nesterov, master;
  StateType state = StateType::Wide;
  double labelSmoothing = 0, zLoss = 0; ///< of the loss (`llm.cross_entropy`)
  /// In the place of `weightDecay` and of its rule; of several that name a parameter the last.
  std::vector<DecayGroup> decayGroups;
};

/// What an optimizer is trained with where nobody says else; none where it has no such number.
struct UsualTraining {
  double beta1, beta2, eps, weightDecay;
  std::optional<double> momentum, beta2Decay;
  std::optional<bool> nesterov;
};

const UsualTraining &usualOf(llm::OptimizerKind optimizer);

/// Low-rank adapters beside projections (Hu et al. 2021), as PEFT's LoraConfig says them: y = W x +
/// alpha / rank B A x, of which A and B are trained and all else is frozen.
struct LoraOptions {
  int64_t rank = 0;
  double alpha = 8;
  /// Modules by their public names, or by the last parts of them: q_proj, self_attn.v_proj.
  std::vector<std::string> targets;
};

struct ImportOptions {
  int64_t batch = 0;
  int64_t seq = 0;
  std::optional<ElementKind> dtype; ///< none: the config's own
  AttentionForm attention = AttentionForm::Flash;
  std::optional<double> dropout; ///< none: the config's own probabilities
  MaskForm masks = MaskForm::Seeded;
  /// Tokens that a decoder behind an encoder predicts of each sequence; none: `seq`.
  std::optional<int64_t> decoderSeq;
  std::optional<int64_t> layers; ///< none: the config's own
  Mode mode = Mode::Train;
  /// Of a step with caches (`keepsCaches`): the most tokens of a sequence. A step of
  /// `Mode::Prefill` takes up to `seq` of them at a time, one of `Mode::Decode` one, and `seq`
  /// is 1.
  std::optional<int64_t> context;
  /// Tokens of a page of its caches, and pages of each; none: caches without pages, and pages for
  /// all sequences at their longest.
  std::optional<int64_t> page, pages;
  TrainingOptions training;
  std::vector<std::string> freeze; ///< globs over the public names of parameters
  std::optional<LoraOptions> lora;
  /// Places that each expert of a mixture has in a sequence; none: as many as tokens, so that no
  /// choice is dropped.
  std::optional<int64_t> expertCapacity;
  /// What unequally chosen experts cost; none: the config's own.
  std::optional<double> balanceLoss;
  /// Of the weights of projections and tables that are not trained, and of caches; none: as
  /// parameters and activations.
  std::optional<HeldFormat> weights;
  std::optional<HeldKind> kvCache;
  /// Of products by weights in fewer bits: what multiplies them is rounded to 8 bits, in groups of
  /// so many. None: it is not rounded.
  std::optional<int64_t> activationGroup;
  /// Rows have several sequences packed into them, which an input `positions` keeps apart.
  bool packed = false;
  /// Of parameters, where activations have fewer bits: f32 beside bf16 or f16. None: as
  /// activations.
  std::optional<ElementKind> paramDtype;

  /// All other modes are of inference, whose programs contain nothing that is for training alone
  /// (lib/Import/TrainingAlone.cpp).
  bool trains() const { return mode == Mode::Train; }
  bool keepsCaches() const { return mode == Mode::Prefill || mode == Mode::Decode; }
  /// Tokens of the longest sequence.
  int64_t longest() const { return context.value_or(seq); }
};

} // namespace llmmem::importer

#endif // LLMMEM_IMPORT_IMPORTOPTIONS_H
