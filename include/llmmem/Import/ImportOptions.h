//===- ImportOptions.h - What an import is asked for ------------*- C++ -*-===//

#ifndef LLMMEM_IMPORT_IMPORTOPTIONS_H
#define LLMMEM_IMPORT_IMPORTOPTIONS_H

#include "llmmem/Dialect/LlmDialect.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace llmmem::importer {

enum class ElementKind { BF16, F32, F64 };
enum class AttentionForm { Flash, Unfused };
enum class MaskForm { Seeded, Stored };
enum class Mode { Train, Forward };

/// How the parameters are updated; becomes the module's `llm.training`.
struct TrainingOptions {
  llm::OptimizerKind optimizer = llm::OptimizerKind::AdamW;
  llm::GradientLifetime gradients = llm::GradientLifetime::Resident;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  std::optional<double> weightDecay; ///< none: 0.1 for adamw, 0 for sgd
  double clipNorm = 0;               ///< 0 clips nothing
};

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
  std::optional<int64_t> layers; ///< none: the config's own
  Mode mode = Mode::Train;
  TrainingOptions training;
  std::vector<std::string> freeze; ///< globs over the public names of parameters
  std::optional<LoraOptions> lora;
  /// Places that each expert of a mixture has in a sequence; none: as many as tokens, so that no
  /// choice is dropped.
  std::optional<int64_t> expertCapacity;
  /// What unequally chosen experts cost; none: the config's own.
  std::optional<double> balanceLoss;
};

} // namespace llmmem::importer

#endif // LLMMEM_IMPORT_IMPORTOPTIONS_H
