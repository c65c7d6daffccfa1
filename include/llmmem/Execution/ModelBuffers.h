//===- ModelBuffers.h - The buffers of a compiled function, by name --------===//
//
// Holds parameters and other arguments that live from call to call. They are sampled from a seed,
// or loaded from a file under their public names.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_EXECUTION_MODELBUFFERS_H
#define LLMMEM_EXECUTION_MODELBUFFERS_H

#include "llmmem/Execution/CompiledStep.h"
#include "llmmem/Execution/SafeTensors.h"
#include "llmmem/Execution/StepRoles.h"
#include "llmmem/Execution/TensorBytes.h"
#include "llmmem/Execution/TokenFeed.h"

namespace llmmem {

/// Initializes a parameter that no file gives: each element is `value`, or `value` times a normal
/// number.
struct InitialSample {
  double value = 0;
  bool isNormal = false;
};
/// Weights are normal with standard deviation 0.02. Scales of norms are 1. Biases and the last
/// matrix of an adapter are 0.
InitialSample initialSampleOf(llvm::StringRef name, mlir::RankedTensorType type);

class ModelBuffers {
public:
  /// Fails if a parameter or a state is no tensor of floats, or there is not enough memory.
  static llvm::Expected<ModelBuffers> allocate(const CompiledStep &step, StepRoles roles);
  /// Shares the buffers of the parameters and caches of `other`, which must outlive this object.
  /// Fails if one is missing there or has another type.
  static llvm::Expected<ModelBuffers> allocateSharing(const ModelBuffers &other,
                                                      const CompiledStep &step, StepRoles roles);

  /// Samples parameters from `seed`, as `initialSampleOf` says.
  void sampleParameters(uint64_t seed);
  /// Sets states to the value that the step gives (`StepArgument::initial`), or to zeros where it
  /// gives none.
  void initializeStates();
  /// Loads parameters and their f32 masters. Adapters keep their values if the file has none.
  /// Returns how many tensors of the file were used.
  llvm::Expected<int64_t> loadParameters(const SafeTensors &file);
  /// Loads a tensor into one argument. Fails if the shapes differ.
  llvm::Error loadArgument(unsigned argument, const TensorEntry &tensor);
  /// Returns an argument's bytes under a name, without a copy.
  TensorEntry tensorOf(llvm::StringRef name, unsigned argument) const;
  /// Returns the same as public checkpoints have it: where the name is a pattern, a tensor for each
  /// slice along the first dimension. If ranks split the argument, it is one tensor under the
  /// pattern.
  std::vector<TensorEntry> tensorsOf(llvm::StringRef name, unsigned argument) const;
  /// Returns a hash of the hashes of all parameters' bytes, in the order of the arguments.
  std::string digest() const;

  llvm::MutableArrayRef<int32_t> integers(unsigned argument);
  FloatKind kindOf(unsigned argument) const;

  /// Fails after a located diagnostic that says why.
  llvm::Error run();
  /// Runs the update after the runs of a step of micro-batches.
  llvm::Error runUpdate();

  const CompiledStep &compiled() const { return *step; }
  const StepRoles &argumentRoles() const { return roles; }
  StepMemory &stepMemory() { return memory; }
  const StepMemory &stepMemory() const { return memory; }

private:
  ModelBuffers(const CompiledStep &step, StepRoles roles, StepMemory memory)
      : step(&step), roles(std::move(roles)), memory(std::move(memory)) {}

  static llvm::Error checkFloats(const CompiledStep &step, const StepRoles &roles);
  void sample(const StepRoles::Parameter &parameter, uint64_t stream);
  void sample(unsigned number, const StepRoles::Parameter &parameter, uint64_t stream);
  std::vector<std::string> hashesOfAllStages(llvm::ArrayRef<std::string> ownHashes) const;

  const CompiledStep *step;
  StepRoles roles;
  StepMemory memory;
};

/// Returns the shape of the batch that a function with these roles reads.
TokenFeed::Shape feedShapeOf(const CompiledStep &step, const StepRoles &roles);

/// Returns the names under which public checkpoints may hold `name`: with and without the prefix of
/// the family, and with the names that BERT's first files give a norm's scale and shift.
llvm::SmallVector<std::string> checkpointNames(llvm::StringRef name);

/// Returns the name of a slice along the first dimension of a parameter whose name has `*` for the
/// number, such as experts: slice 3 of "h.experts.*.up" is "h.experts.3.up". Returns an empty
/// string if the name has no `*`.
std::string nameOfSlice(llvm::StringRef name, int64_t slice);

} // namespace llmmem

#endif // LLMMEM_EXECUTION_MODELBUFFERS_H
