//===- Optimizers.h - What an optimizer is ---------------------*- C++ -*-===//
//
// An optimizer keeps states of each parameter and has one op that updates both. What is the same
// for all (where states and updates stand, gradients, clips, ranks) is the step builder's. A new
// one is a class in Optimizers.cpp, a case of `llm.training`, and an op with UpdateOpInterface.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_TRANSFORMS_OPTIMIZERS_H
#define LLMMEM_LIB_TRANSFORMS_OPTIMIZERS_H

#include "llmmem/Dialect/LlmDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace llmmem {

/// What an optimizer keeps of a parameter from step to step; it begins as zeros, a master copy as
/// the parameter.
struct OptimizerState {
  llvm::StringRef name; // behind the parameter's: "first_moment"
  mlir::RankedTensorType type;
};

/// What an update reads. `weightDecay` is 0 where the parameter does not decay; `step` is null in
/// no training step.
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

  /// What it keeps of a parameter of this type, of which a rank may have a part.
  virtual llvm::SmallVector<OptimizerState> statesOf(llm::TrainingAttr training,
                                                     mlir::RankedTensorType param) const = 0;
  /// The op whose results are the new parameter and the new states, in order.
  virtual mlir::Operation *createUpdate(mlir::OpBuilder &builder, mlir::Location loc,
                                        llm::TrainingAttr training,
                                        const UpdateOperands &operands) const = 0;
  /// Whether its update reads whole rows and columns, so that ranks cannot each update a part.
  virtual bool needsWhole() const { return false; }
};

/// What updates `parameter`, an argument of a loss: Muon is for the matrices that blocks multiply
/// by, and what else there is (tables, the head, norms, biases) is AdamW's.
const Optimizer &optimizerOf(llm::TrainingAttr training, mlir::BlockArgument parameter);

/// Fails, after a diagnostic that says what to do, where ranks would have parts of a parameter that
/// its optimizer needs whole.
llvm::LogicalResult checkOptimizers(mlir::func::FuncOp loss, llm::TrainingAttr training,
                                    llvm::ArrayRef<unsigned> parameterNumbers);

} // namespace llmmem

#endif // LLMMEM_LIB_TRANSFORMS_OPTIMIZERS_H
