//===- TrainingRun.h - Steps, parameters, losses ---------------------------===//
//
// Everything that a run needs besides the compiled step: initial parameters from a seed,
// checkpoints by public names, batches, and what is reported. A run is a function of its inputs
// alone.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_EXECUTION_TRAININGRUN_H
#define LLMMEM_EXECUTION_TRAININGRUN_H

#include "llmmem/Execution/CompiledStep.h"
#include "llmmem/Execution/SafeTensors.h"
#include "llmmem/Execution/StepRoles.h"
#include "llmmem/Execution/TokenFeed.h"

namespace llmmem {

struct StepReport {
  int64_t step = 0;
  double loss = 0.0;
  std::string digest; // of the bytes of all parameters, after the step
};

class TrainingRun {
public:
  /// Parameters drawn from `seed`: weights normal with deviation 0.02, scales of norms 1, biases 0.
  static llvm::Expected<TrainingRun> create(const CompiledStep &step, StepRoles roles,
                                            uint64_t seed);

  /// Parameters (and their f32 masters) from a file. Returns the number of tensors in it that no
  /// parameter has.
  llvm::Expected<int64_t> load(const SafeTensors &file);
  llvm::Error save(llvm::StringRef path);
  /// The accumulated gradients of the last step under their parameters' names.
  llvm::Error saveGradients(llvm::StringRef path);

  TokenFeed::Shape feedShape() const;
  StepReport runStep(TokenFeed &feed, double learningRate);
  std::string digest();

  StepMemory &memory() { return stepMemory; }
  bool lossIsDouble() const;

private:
  TrainingRun(const CompiledStep &step, StepRoles roles, uint64_t seed, StepMemory memory)
      : step(&step), roles(std::move(roles)), seed(seed), stepMemory(std::move(memory)) {}

  void initialize(const StepRoles::Parameter &parameter);
  llvm::Error load(const StepRoles::Parameter &parameter, const TensorEntry &tensor);
  void setParameter(const StepRoles::Parameter &parameter, int64_t index, double value);
  TensorEntry tensorOf(llvm::StringRef name, unsigned argument);
  void fillScalars(double learningRate);
  void fillSeed();

  const CompiledStep *step;
  StepRoles roles;
  uint64_t seed;
  StepMemory stepMemory;
  int64_t stepsDone = 0;
};

/// The names under which public checkpoints may hold `name`: with and without the prefix of the
/// family.
llvm::SmallVector<std::string> checkpointNames(llvm::StringRef name);

} // namespace llmmem

#endif // LLMMEM_EXECUTION_TRAININGRUN_H
