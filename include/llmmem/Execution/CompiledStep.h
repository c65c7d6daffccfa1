//===- CompiledStep.h - A planned step as a function to call ---------------===//
//
//   FailureOr<std::unique_ptr<CompiledStep>> step = CompiledStep::compile(module);
//   Expected<StepMemory> memory = StepMemory::allocate(**step);
//   ... fill memory->argument(i) ...
//   if (succeeded((*step)->run(*memory)))
//     ... read memory->result(k) ...
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_EXECUTION_COMPILEDSTEP_H
#define LLMMEM_EXECUTION_COMPILEDSTEP_H

#include "llmmem/Execution/ArenaMemory.h"
#include "llmmem/Execution/StepProfile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"

namespace llmmem {

/// Everything that compiling and running steps needs: the llm dialect with its kernels, the
/// dialects that kernels are written in, and their translations to LLVM.
void registerExecution(mlir::DialectRegistry &registry);

struct StepArgument {
  std::string role, name; // empty where the function does not say
  mlir::RankedTensorType type;
  int64_t bytes = 0;
};

struct StepResult {
  mlir::RankedTensorType type;
  int64_t bytes = 0;
  /// The argument whose buffer holds this result after a run; without one it has a buffer of its
  /// own.
  std::optional<unsigned> donatedArgument;
};

class StepMemory;

class CompiledStep {
public:
  struct Options {
    std::string function = "step";
    /// Fill ranges of the arena with 0xFF when their values die.
    bool poison = false;
    /// Take the time before and after each call.
    bool profile = false;
    /// Multiply f32 matrices by the library that llmmem was built with (oneDNN), which must be
    /// there, instead of generated code.
    bool libraryProducts = false;
  };

  /// Compiles a function of a planned module, which stays as it is (and must outlive this object).
  /// Fails after a located diagnostic.
  static mlir::FailureOr<std::unique_ptr<CompiledStep>> compile(mlir::ModuleOp module,
                                                                const Options &options);
  static mlir::FailureOr<std::unique_ptr<CompiledStep>> compile(mlir::ModuleOp module) {
    return compile(module, {});
  }

  llvm::ArrayRef<StepArgument> arguments() const { return argumentInfo; }
  llvm::ArrayRef<StepResult> results() const { return resultInfo; }
  int64_t arenaBytes() const { return arena; }
  /// What a profile times, in order; empty without one.
  llvm::ArrayRef<KernelCall> profiledCalls() const { return calls; }
  /// Functions that were compiled (equal ops share theirs), and the seconds that it took.
  unsigned numFunctions() const { return functions; }
  double compileSeconds() const { return seconds; }

  /// Runs the step once. Everything it touches is in `memory`; nothing is allocated. Fails after a
  /// located diagnostic, and then `memory` holds a part of a step.
  mlir::LogicalResult run(StepMemory &memory) const;

private:
  CompiledStep() = default;
  void describe(mlir::func::FuncOp step);

  llvm::SmallVector<StepArgument> argumentInfo;
  llvm::SmallVector<StepResult> resultInfo;
  std::vector<KernelCall> calls;
  int64_t arena = 0;
  unsigned functions = 0;
  double seconds = 0.0;
  std::unique_ptr<mlir::ExecutionEngine> engine;
  void (*entry)(void **) = nullptr;
};

/// A buffer for each argument and for each result that is not donated, and the arena. Buffers begin
/// at multiples of 256 bytes and are zero at first.
class StepMemory {
public:
  static llvm::Expected<StepMemory> allocate(const CompiledStep &step);

  void *argument(unsigned number) const { return arguments[number].get(); }
  /// The bytes of a result after a run: an argument's, where it is donated.
  void *result(unsigned number) { return results[number]; }
  ArenaMemory &arena() { return arenaMemory; }
  /// Nanoseconds before and after each profiled call of the last step.
  llvm::ArrayRef<int64_t> callTimes() const { return times; }
  /// Bytes of the arguments' buffers, as allocated.
  int64_t residentBytes() const { return resident; }

private:
  friend class CompiledStep;
  struct Free {
    void operator()(void *bytes) const { std::free(bytes); }
  };
  using Bytes = std::unique_ptr<void, Free>;
  static Bytes allocateZeroed(int64_t bytes);

  llvm::SmallVector<Bytes> arguments, ownResults;
  llvm::SmallVector<void *> results;
  /// What the step is called with: the places of addresses, as the packed entry wants them.
  std::vector<void *> addresses, packed;
  ArenaMemory arenaMemory;
  std::vector<int64_t> times;
  int64_t resident = 0;
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_COMPILEDSTEP_H
