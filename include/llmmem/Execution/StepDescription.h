//===- StepDescription.h - What a planned step reads and gives -------------===//

#ifndef LLMMEM_EXECUTION_STEPDESCRIPTION_H
#define LLMMEM_EXECUTION_STEPDESCRIPTION_H

#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Execution/Shard.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"

namespace llmmem {

struct StepArgument {
  std::optional<llm::Role> role;
  std::string name;            // Empty if the function does not say.
  mlir::RankedTensorType type; // The type of this rank's part, if the value is split.
  int64_t bytes = 0;
  Shard shard;
  mlir::RankedTensorType whole; // The type of all parts together, in the same order of elements.
  double initial = 0;           // The initial value of all elements of a state that no file gives.
  bool transposed = false;      // Files hold the transposed matrix.
};

struct StepResult {
  mlir::RankedTensorType type;
  int64_t bytes = 0;
  /// Names the argument whose buffer holds this result after a run. Without one the result has its
  /// own buffer.
  std::optional<unsigned> donatedArgument;
  std::string name = {}; // of the op that gives it; empty if it does not say
};

/// Describes a planned step by its types and attributes.
class StepDescription {
public:
  explicit StepDescription(mlir::func::FuncOp step);

  /// Returns the sizes of the mesh axes, from the step's `llm.mesh`; none for one rank.
  llvm::ArrayRef<int64_t> mesh() const { return meshSizes; }
  /// Returns the names of the parameters of all stages, in the model's order; none where the step
  /// is no stage of a pipeline.
  llvm::ArrayRef<std::string> parametersOfAllStages() const { return parametersOfStages; }
  llvm::ArrayRef<StepArgument> arguments() const { return argumentInfo; }
  /// Returns the token ids of a batch: the argument `ids`, or that of another stage where this one
  /// reads none.
  const std::optional<StepArgument> &ids() const { return idsOfStep; }
  /// Returns the images of a batch, `pixels`, in the same way.
  const std::optional<StepArgument> &pixels() const { return pixelsOfStep; }
  llvm::ArrayRef<StepResult> results() const { return resultInfo; }
  /// Returns the arena of the larger plan, where the update is separate.
  int64_t arenaBytes() const { return arena; }
  /// Returns the arena of what is offloaded to the host; 0 where nothing is.
  int64_t hostArenaBytes() const { return hostArena; }
  /// Returns whether the function itself, and not the update after it, takes that arena.
  bool takesHostArena() const { return hostIsArgument; }

protected:
  /// Adds what the update after the micro-batches gives, and holds more; it has the same arguments.
  void addUpdate(const StepDescription &update);

private:
  void describeResults(mlir::func::FuncOp step);

  llvm::SmallVector<int64_t> meshSizes;
  std::vector<std::string> parametersOfStages;
  llvm::SmallVector<StepArgument, 0> argumentInfo;
  std::optional<StepArgument> idsOfStep, pixelsOfStep;
  llvm::SmallVector<StepResult> resultInfo;
  int64_t arena = 0, hostArena = 0;
  bool hostIsArgument = false;
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_STEPDESCRIPTION_H
