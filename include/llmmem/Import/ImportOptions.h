//===- ImportOptions.h - What an import is asked for ------------*- C++ -*-===//

#ifndef LLMMEM_IMPORT_IMPORTOPTIONS_H
#define LLMMEM_IMPORT_IMPORTOPTIONS_H

#include "llmmem/Dialect/LlmDialect.h"
#include <cstdint>
#include <optional>

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
};

} // namespace llmmem::importer

#endif // LLMMEM_IMPORT_IMPORTOPTIONS_H
