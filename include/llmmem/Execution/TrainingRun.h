//===- TrainingRun.h - Steps, losses, checkpoints --------------------------===//
//
// A run is a function of its inputs alone: the planned step, the seed, the text, the learning rate
// of each step. What is fed depends on the number of the step and on no clock and no state besides
// what a checkpoint holds, so that N steps, a checkpoint and M steps more are N + M steps, bit for
// bit.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_EXECUTION_TRAININGRUN_H
#define LLMMEM_EXECUTION_TRAININGRUN_H

#include "llmmem/Execution/ModelBuffers.h"

namespace llmmem {

struct StepReport {
  int64_t step = 0;
  double loss = 0.0;
};

class TrainingRun {
public:
  /// Parameters are drawn from `seed`, and dropout from it and the number of the step.
  static llvm::Expected<TrainingRun> create(const CompiledStep &step, StepRoles roles,
                                            uint64_t seed);

  /// Parameters from a file; where a run has saved it, the optimizer's state, the number of the
  /// step and the seed as well. Returns the number of tensors in it that nothing took.
  llvm::Expected<int64_t> load(const SafeTensors &file);
  /// Parameters under their public names (masters in their place, where there are any), and what
  /// going on needs: the optimizer's state as `llmmem.state.NAME`, the number of the step and the
  /// seed as metadata.
  llvm::Error save(llvm::StringRef path);
  /// The accumulated gradients of the last step under their parameters' names.
  llvm::Error saveGradients(llvm::StringRef path);

  /// The step that comes next reads its batch at its place in the text.
  llvm::Expected<StepReport> runStep(TokenFeed &feed, double learningRate);

  /// Over all runs that a checkpoint went through.
  int64_t stepsDone() const { return done; }
  void setSeed(uint64_t value) { seed = value; }
  uint64_t seedOfDraws() const { return seed; }
  bool lossIsDouble() const;
  const ModelBuffers &model() const { return buffers; }
  StepMemory &memory() { return buffers.stepMemory(); }

private:
  TrainingRun(ModelBuffers buffers, uint64_t seed) : buffers(std::move(buffers)), seed(seed) {}

  llvm::Expected<int64_t> loadState(const SafeTensors &file);
  bool isMaster(unsigned state) const;
  void feedInputs(TokenFeed &feed, double learningRate);

  ModelBuffers buffers;
  uint64_t seed;
  int64_t done = 0;
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_TRAININGRUN_H
