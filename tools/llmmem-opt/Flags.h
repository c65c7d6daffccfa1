//===- Flags.h - The flags of llmmem-opt -----------------------------------===//
//
// Each option of the pipeline `llmmem-checkpoint` is a flag with its name, its default and its
// sentence (CheckpointPipeline.h); five short ones carry the pipeline's subject before them:
// `budget` is --checkpoint-budget.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TOOLS_LLMMEM_OPT_FLAGS_H
#define LLMMEM_TOOLS_LLMMEM_OPT_FLAGS_H

#include "llmmem/Conversion/Passes.h"
#include "llmmem/Pipelines/CheckpointPipeline.h"
#include "llmmem/Support/ChoiceParser.h"
#include "llvm/Support/CommandLine.h"
#include <memory>

namespace llmmem {

class Flags {
public:
  /// Registers the flags. A program has one object of this class.
  Flags();

  /// Shows our flags alone in --help. MLIR and LLVM register more than a thousand lines, which
  /// --help-hidden lists.
  void hideFlagsOfOthers();

  /// Returns whether any flag asks for a memory plan. Each flag that says what is planned, or how,
  /// does so, by the policy 'none' where no other is named. Without one the program is mlir-opt
  /// with our passes.
  bool wantsPlan() const;
  bool wantsCuda() const { return target == Target::Cuda; }
  bool wantsDeviceTable() const { return printDeviceTable; }
  llvm::StringRef chip() const { return chipName; }
  ConvertStepToKernelsOptions conversion() const;

  /// Reads what the flags say, and checks it; `outputFile` is where the program goes.
  llvm::Error read(llvm::StringRef outputFile);
  const CheckpointPipelineOptions &options() const { return pipeline; }

private:
  llvm::Error checkFiles(llvm::StringRef outputFile) const;

  enum class Target { None, Cuda };

  llvm::cl::OptionCategory category;
  CheckpointPipelineOptions pipeline;
  std::vector<std::unique_ptr<llvm::cl::opt<std::string>>> forwarded;
  std::vector<std::string> names; // of `forwarded`
  llvm::cl::opt<bool> printDeviceTable;
  llvm::cl::opt<Target, /*ExternalStorage=*/false, ChoiceParser<Target>> target;
  llvm::cl::opt<std::string> chipName;
};

} // namespace llmmem

#endif // LLMMEM_TOOLS_LLMMEM_OPT_FLAGS_H
