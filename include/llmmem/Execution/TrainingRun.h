//===- TrainingRun.h - Steps, losses, checkpoints --------------------------===//
//
// A run is a function of its inputs alone: the planned step, the seed, the text, the learning rate
// of each step. What is fed depends on the number of the step, not on a clock nor on state that a
// checkpoint does not hold. So N steps, a checkpoint and M more steps equal N + M steps, bit for
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
  /// Counts the choices of experts that found no place; none where the step does not count them.
  std::optional<int64_t> droppedChoices = std::nullopt;
  /// Sums over all replays of the step on a GPU.
  int64_t deviceNs = 0;
};

/// Describes a run whose loss is scaled: what the next step multiplies it by, and how many of all
/// steps were skipped because their gradients overflowed.
struct LossScaleReport {
  double scale = 1.0;
  int64_t skippedSteps = 0;
};

class TrainingRun {
public:
  /// Samples parameters from `seed`, and dropout from it and the number of the step.
  static llvm::Expected<TrainingRun> create(const CompiledStep &step, StepRoles roles,
                                            uint64_t seed);

  /// Returns whether a run of this training has saved the file: it has the state of what the step
  /// trains, or the step has no state. Otherwise another training saved it (for example all
  /// parameters, before adapters were trained).
  bool hasState(const SafeTensors &file) const;
  /// Loads parameters from a file. If a run of this training saved it, loads the optimizer's state,
  /// the number of the step and the seed as well. Returns the number of unused tensors in it.
  llvm::Expected<int64_t> load(const SafeTensors &file);
  /// Returns whether a run has saved the file, which then has what continuing from a step needs.
  static bool isSavedRun(const SafeTensors &file);
  /// Saves parameters under their public names (or their masters, if there are any), and what
  /// continuing needs: the optimizer's state as `llmmem.state.NAME`, the number of the step and the
  /// seed as metadata. Where `path` is an index, writes several files of at most `fileBytes` bytes.
  llvm::Error save(llvm::StringRef path, int64_t fileBytes = kBytesOfFile);
  /// Saves the accumulated gradients of the last step under their parameters' names.
  llvm::Error saveGradients(llvm::StringRef path);

  /// Runs the next step, which reads its batch at its position in the data.
  llvm::Expected<StepReport> runStep(StepFeed &feed, double learningRate);

  /// Returns none where the loss is not scaled.
  std::optional<LossScaleReport> lossScale() const;
  /// Counts the steps over all runs of a checkpoint.
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
  /// Returns the number of the result that counts choices without a place.
  std::optional<unsigned> droppedChoices() const;
  int64_t replayNs() const;

  ModelBuffers buffers;
  uint64_t seed;
  int64_t done = 0;
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_TRAININGRUN_H
