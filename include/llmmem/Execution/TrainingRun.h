//===- TrainingRun.h - Steps, losses, checkpoints --------------------------===//
//
// A run is a function of its inputs alone: the planned step, the seed, the text, the learning rate
// of each step. What is fed depends on the number of the step, on no clock, and on no state that a
// checkpoint does not hold, so that N steps, a checkpoint and M steps more are N + M steps, bit for
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
  /// Choices of experts that found no place; none where the step does not count them.
  std::optional<int64_t> droppedChoices = std::nullopt;
  /// Of all replays of the step on a GPU.
  int64_t deviceNs = 0;
};

/// Of a run whose loss is scaled: what the next step multiplies it by, and how many steps of all
/// have been skipped because their gradients overflowed.
struct LossScaleReport {
  double scale = 1.0;
  int64_t skippedSteps = 0;
};

class TrainingRun {
public:
  /// Parameters are sampled from `seed`, and dropout from it and the number of the step.
  static llvm::Expected<TrainingRun> create(const CompiledStep &step, StepRoles roles,
                                            uint64_t seed);

  /// Whether a run of this training has saved the file: there is state of what the step trains, or
  /// the step keeps none. Else it was another one (all parameters before adapters were trained).
  bool hasState(const SafeTensors &file) const;
  /// Loads parameters from a file; if a run of this training has saved it, the optimizer's state,
  /// the number of the step and the seed as well. Returns the number of unused tensors in it.
  llvm::Expected<int64_t> load(const SafeTensors &file);
  /// Whether a run has saved the file: it has what continuing from a step needs.
  static bool isSavedRun(const SafeTensors &file);
  /// Saves parameters under their public names (or their masters, if there are any), and what
  /// continuing needs: the optimizer's state as `llmmem.state.NAME`, the number of the step and the
  /// seed as metadata. Several files of at most `fileBytes` bytes where `path` is an index of them.
  llvm::Error save(llvm::StringRef path, int64_t fileBytes = kBytesOfFile);
  /// The accumulated gradients of the last step under their parameters' names.
  llvm::Error saveGradients(llvm::StringRef path);

  /// The next step reads its batch at its position in the data.
  llvm::Expected<StepReport> runStep(StepFeed &feed, double learningRate);

  /// None where the loss is not scaled.
  std::optional<LossScaleReport> lossScale() const;
  /// Over all runs of a checkpoint.
  int64_t stepsDone() const { return done; }
  void setSeed(uint64_t value) { seed = value; }
  uint64_t seedOfSamples() const { return seed; }
  bool lossIsDouble() const;
  const ModelBuffers &model() const { return buffers; }
  StepMemory &memory() { return buffers.stepMemory(); }

private:
  TrainingRun(ModelBuffers buffers, uint64_t seed) : buffers(std::move(buffers)), seed(seed) {}

  llvm::Expected<int64_t> loadState(const SafeTensors &file);
  std::string nameInFile(unsigned state) const;
  bool isMaster(unsigned state) const;
  void feedInputs(StepFeed &feed, double learningRate);
  /// The number of the result that counts choices without a place.
  std::optional<unsigned> droppedChoices() const;
  int64_t replayNs() const;

  ModelBuffers buffers;
  uint64_t seed;
  int64_t done = 0;
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_TRAININGRUN_H
