//===- Optimizers.h - What an optimizer is ---------------------*- C++ -*-===//
//
// An optimizer keeps states of each parameter and has one op that updates both. The step builder
// does what is the same for all (where states and updates stand, gradients, clips, ranks). A new
// one is a class in Optimizers.cpp, a case of `llm.training`, and an op with UpdateOpInterface.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_TRANSFORMS_OPTIMIZERS_H
#define LLMMEM_LIB_TRANSFORMS_OPTIMIZERS_H

#include "llmmem/Dialect/LlmDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace llmmem {

/// Describes what an optimizer keeps of a parameter from step to step; it begins as zeros, and a
/// master copy begins as the parameter.
struct OptimizerState {
  llvm::StringRef name; // after the parameter's: "first_moment"
  mlir::RankedTensorType type;
};

/// Holds what an update reads. `weightDecay` is 0 where the parameter does not decay; `step` is
/// null in no training step.
struct UpdateOperands {
  mlir::Value param, gradient, learningRate, step;
  mlir::Value norm, factor;           // null without a clip, and of a loss that is not scaled
  llvm::ArrayRef<mlir::Value> states; // in the order of `statesOf`
  mlir::FloatAttr weightDecay;
  mlir::ArrayAttr server; // null where every rank updates
};

class Optimizer {
public:
  virtual ~Optimizer() = default;

  /// Returns what it keeps of a parameter of this type, of which a rank may have a part.
  virtual llvm::SmallVector<OptimizerState> statesOf(llm::TrainingAttr training,
                                                     mlir::RankedTensorType param) const = 0;
  /// Creates the op whose results are the new parameter and the new states, in order.
  virtual mlir::Operation *createUpdate(mlir::OpBuilder &builder, mlir::Location loc,
                                        llm::TrainingAttr training,
                                        const UpdateOperands &operands) const = 0;
  /// Returns whether its update reads whole rows and columns, so that ranks cannot each update a
  /// part.
  virtual bool needsWhole() const { return false; }
};

/// Returns what updates `parameter`, an argument of a loss: Muon is for the matrices that blocks
/// multiply by, and AdamW is for all others (tables, the head, norms, biases).
const Optimizer &optimizerOf(llm::TrainingAttr training, mlir::BlockArgument parameter);

/// Fails, after a diagnostic that says what to do, where ranks would have parts of a parameter that
/// its optimizer needs whole.
llvm::LogicalResult checkOptimizers(mlir::func::FuncOp loss, llm::TrainingAttr training,
                                    llvm::ArrayRef<unsigned> parameterNumbers);

} // namespace llmmem

#endif // LLMMEM_LIB_TRANSFORMS_OPTIMIZERS_H
