//===- ParameterLoader.h - Parameters from files -----------------*- C++ -*-===//

#ifndef LLMMEM_LIB_EXECUTION_PARAMETERLOADER_H
#define LLMMEM_LIB_EXECUTION_PARAMETERLOADER_H

#include "llmmem/Execution/FileOrder.h"
#include "llmmem/Execution/ModelBuffers.h"
#include "llmmem/Execution/PackNumbers.h"
#include "llmmem/Runtime/Parallel.h"

namespace llmmem {

/// Loads tensors of files into the buffers of a function, as `ModelBuffers` says.
class ParameterLoader {
public:
  explicit ParameterLoader(ModelBuffers &buffers)
      : buffers(buffers), step(buffers.compiled()), memory(buffers.stepMemory()) {}

  llvm::Expected<int64_t> load(const SafeTensors &file);
  llvm::Error loadArgument(unsigned argument, const TensorEntry &tensor);

private:
  llvm::Expected<int64_t> loadParameter(const StepRoles::Parameter &parameter,
                                        const SafeTensors &file);
  llvm::Expected<std::vector<const TensorEntry *>> findSlices(const StepRoles::Parameter &parameter,
                                                              const SafeTensors &file);
  llvm::Expected<int64_t> loadHeld(const StepRoles::Parameter &parameter, const SafeTensors &file,
                                   const TensorEntry &tensor);
  llvm::Error loadSlice(unsigned argument, const TensorEntry &tensor, int64_t slice);
  llvm::Error loadElements(unsigned argument, const TensorEntry &tensor,
                           llvm::ArrayRef<int64_t> expected, int64_t begin);
  llvm::Error loadTransposed(unsigned argument, const TensorEntry &tensor, const FileOrder &order);
  llvm::Error loadStored(unsigned argument, const TensorEntry &tensor);

  ModelBuffers &buffers;
  const CompiledStep &step;
  StepMemory &memory;
};

/// Is a parameter in fewer bits, with its scales and zero points.
class PackedParameter {
public:
  PackedParameter(ModelBuffers &buffers, const StepRoles::Parameter &parameter)
      : buffers(buffers), step(buffers.compiled()), parameter(parameter) {}

  static llvm::Error check(const CompiledStep &step, const StepRoles::Parameter &parameter);
  void sample(uint64_t stream);
  /// Rounds the tensors that form the parameter, each of the `shape`: one, or its slices along the
  /// first dimension.
  llvm::Error load(llvm::ArrayRef<const TensorEntry *> tensors, llvm::ArrayRef<int64_t> shape);

private:
  PackedBytes bytesOf();
  /// Rounds this rank's groups. `read` gives the weights from element `first` of the whole on.
  /// Returns false where one is not finite.
  bool pack(llvm::function_ref<void(int64_t first, llvm::MutableArrayRef<double> weights)> read);

  ModelBuffers &buffers;
  const CompiledStep &step;
  const StepRoles::Parameter &parameter;
};

llvm::Error checkShape(const TensorEntry &tensor, llvm::ArrayRef<int64_t> expected);
/// Returns what this rank has of an unsharded value, in runs of at most `most` elements. Padding is
/// in none.
std::vector<Shard::Run> runsOf(const Shard &shard, int64_t most);

/// Calls `body` with 0 to count - 1 in parallel, on the threads that run steps.
inline void parallelFor(int64_t count, llvm::function_ref<void(int64_t)> body) {
  auto iterations = [](void *context, int64_t begin, int64_t end) {
    for (int64_t number = begin; number < end; ++number)
      (*static_cast<llvm::function_ref<void(int64_t)> *>(context))(number);
  };
  llmmem_parallel_for(count, iterations, &body);
}

} // namespace llmmem

#endif // LLMMEM_LIB_EXECUTION_PARAMETERLOADER_H
