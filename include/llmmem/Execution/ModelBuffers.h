//===- ModelBuffers.h - The buffers of a compiled function, by name --------===//
//
// Parameters and whatever else a function takes that lives from call to call: drawn from a seed, or
// from a file under their public names.
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

class ModelBuffers {
public:
  /// Fails where a parameter or a state is no tensor of floats, or memory is short.
  static llvm::Expected<ModelBuffers> allocate(const CompiledStep &step, StepRoles roles);

  /// Parameters drawn from `seed`: weights normal with deviation 0.02, scales of norms 1, biases 0.
  void drawParameters(uint64_t seed);
  /// Parameters and their f32 masters. Returns how many tensors of the file they are.
  llvm::Expected<int64_t> loadParameters(const SafeTensors &file);
  /// The elements of a tensor into one argument. Fails where the shapes differ.
  llvm::Error loadArgument(unsigned argument, const TensorEntry &tensor);
  /// An argument's bytes under a name; they stay where they are.
  TensorEntry tensorOf(llvm::StringRef name, unsigned argument) const;
  /// A hash of the hashes of all parameters' bytes, in the order of the arguments.
  std::string digest() const;

  llvm::MutableArrayRef<int32_t> integers(unsigned argument);
  FloatKind kindOf(unsigned argument) const;

  /// Fails after a located diagnostic that says why.
  llvm::Error run();

  const CompiledStep &compiled() const { return *step; }
  const StepRoles &argumentRoles() const { return roles; }
  StepMemory &stepMemory() { return memory; }

private:
  ModelBuffers(const CompiledStep &step, StepRoles roles, StepMemory memory)
      : step(&step), roles(std::move(roles)), memory(std::move(memory)) {}

  void draw(const StepRoles::Parameter &parameter, uint64_t stream);

  const CompiledStep *step;
  StepRoles roles;
  StepMemory memory;
};

/// What a function with these roles reads at a time.
TokenFeed::Shape feedShapeOf(const CompiledStep &step, const StepRoles &roles);

/// The names under which public checkpoints may hold `name`: with and without the prefix of the
/// family.
llvm::SmallVector<std::string> checkpointNames(llvm::StringRef name);

} // namespace llmmem

#endif // LLMMEM_EXECUTION_MODELBUFFERS_H
