//===- StepRunner.h - Runs a function of llm ops on numbers ----------------===//

#ifndef LLMMEM_UNITTESTS_EXECUTION_STEPRUNNER_H
#define LLMMEM_UNITTESTS_EXECUTION_STEPRUNNER_H

#include "llmmem/Execution/CompiledStep.h"
#include "mlir/IR/OwningOpRef.h"

namespace llmmem::test {

using Numbers = std::vector<double>;

/// Replaces each `T` that stands alone as an element type (`xT>` or `<T>`) by `element`.
std::string withElement(std::string text, const std::string &element);

/// One element of a buffer as a double, and back (rounded to nearest even).
double readElement(mlir::Type type, const void *buffer, int64_t index);
void writeElement(mlir::Type type, void *buffer, int64_t index, double value);

/// Deterministic numbers in [-1, 1), exact in bf16.
Numbers someNumbers(int64_t count, unsigned seed);

struct RunOptions {
  bool plan = true; // sequentially; off: the text carries a plan
  bool fillDeadBytes = false;
  /// Compiled for another processor than this one, where it is named.
  std::string processor = "";
  /// GPU kernels, with each access checked. If LLMMEM_TEST_EMULATE is set, all steps run so, except
  /// those that test threads; by wgmma if LLMMEM_TEST_TENSOR_CORES is "warpgroup".
  bool emulate = false;
  /// Matmuls by the library that llmmem was built with, or the emulator's; only if there is one.
  bool libraryMatmuls = false;
  /// Runs once on each of these numbers of threads, and expects equal results of all.
  std::vector<int> threads = {};
  /// With `emulate`; nothing: what LLMMEM_TEST_TENSOR_CORES says.
  std::optional<TensorCores> tensorCores = std::nullopt;
  llm::TileSharing tileSharing = llm::TileSharing::Modelled;
};

/// The results of `@step` in `text` on these arguments, bit for bit as doubles. Fails the test
/// where it cannot run.
std::vector<Numbers> runStep(const std::string &text, const std::vector<Numbers> &arguments,
                             const RunOptions &options = {});

} // namespace llmmem::test

#endif // LLMMEM_UNITTESTS_EXECUTION_STEPRUNNER_H
