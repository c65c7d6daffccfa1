//===- DefaultTraining.cpp - The default numbers of each optimizer -----------===//

#include "llmmem/Import/ImportOptions.h"
#include "llvm/Support/ErrorHandling.h"

using namespace llmmem;
using namespace llmmem::importer;

/// The numbers are those of the papers and of torch.optim. The decay of AdamW and of similar
/// optimizers is that of public recipes.
const DefaultTraining &importer::defaultsOf(llm::OptimizerKind optimizer) {
  static const DefaultTraining adamw{0.9,          0.999,        1e-8,        0.1,
                                     std::nullopt, std::nullopt, std::nullopt};
  static const DefaultTraining sgd{0.9, 0.999, 1e-8, 0.0, 0.0, std::nullopt, false};
  static const DefaultTraining lion{0.9, 0.99, 1e-8, 0.1, std::nullopt, std::nullopt, std::nullopt};
  // This is the smallest number that changes 1 in f32.
  static const DefaultTraining adafactor{0.9,          0.999, 0x1p-23,     0.0,
                                         std::nullopt, -0.8,  std::nullopt};
  static const DefaultTraining muon{0.9, 0.999, 1e-8, 0.1, 0.95, std::nullopt, true};
  switch (optimizer) {
  case llm::OptimizerKind::AdamW:
    return adamw;
  case llm::OptimizerKind::SGD:
    return sgd;
  case llm::OptimizerKind::Lion:
    return lion;
  case llm::OptimizerKind::Adafactor:
    return adafactor;
  case llm::OptimizerKind::Muon:
    return muon;
  }
  llvm_unreachable("an optimizer beyond the enum");
}
