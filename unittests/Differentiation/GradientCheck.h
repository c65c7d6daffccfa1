//===- GradientCheck.h - Gradients against central differences -------------===//
//
// Everything runs in f64, as the machine code that runs in production: the functions are planned
// one value after another and compiled. A gradient is compared element by element with the
// five-point difference
//
//   (8 (f(x+h) - f(x-h)) - (f(x+2h) - f(x-2h))) / 12h,   h = 2^-12,
//
// whose error is O(h^4): what a wrong rule does to the eighth digit shows.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_UNITTESTS_DIFFERENTIATION_GRADIENTCHECK_H
#define LLMMEM_UNITTESTS_DIFFERENTIATION_GRADIENTCHECK_H

#include "Execution/StepRunner.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <map>

namespace llmmem::test {

/// Largest difference allowed, relative to the largest element of the gradient.
inline constexpr double kTolerance = 1e-8;

mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text);

/// A compiled function of numbers.
class Program {
public:
  /// `module` holds the function, and its plan if `isPlanned`; it must outlive the program. Null,
  /// after a failure of the test, where it cannot be compiled.
  static std::unique_ptr<Program> compile(mlir::ModuleOp module, llvm::StringRef function,
                                          bool isPlanned = false);

  std::vector<Numbers> run(const std::vector<Numbers> &arguments);
  const CompiledStep &step() const { return *compiled; }
  /// The number of the argument of this name.
  unsigned argument(llvm::StringRef name) const;
  std::vector<unsigned> argumentsOfRole(llm::Role role) const;

private:
  explicit Program(StepMemory memory) : memory(std::move(memory)) {}

  std::unique_ptr<CompiledStep> compiled;
  StepMemory memory;
};

/// Compares `gradient` with differences of `function` in each element of `at`.
void expectGradient(llvm::StringRef what, const Numbers &gradient, const Numbers &at,
                    llvm::function_ref<double(const Numbers &)> function);

/// Checks the gradients of a function @f by all its arguments of floats, its results weighted with
/// random numbers. `given` holds arguments by number; the others are random.
void checkGradients(const std::string &text, std::map<unsigned, Numbers> given = {});

} // namespace llmmem::test

#endif // LLMMEM_UNITTESTS_DIFFERENTIATION_GRADIENTCHECK_H
