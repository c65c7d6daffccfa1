//===- Differentiation.h - Reverse mode over straight-line code ------------===//
//
// Differentiation knows rules (`DifferentiableOpInterface`) and the order of ops, and nothing of
// memory plans: the backward reads forward values as they are. Ops are in one block and have no
// regions that hold active values.
//
// clang-format off
//   %y = llm.linear %x, %w layout(in_out)               forward
//   %z = llm.mul %y, %y
//                                                       backward, from %dz:
//   %0 = llm.mul %dz, %y
//   %1 = llm.mul %dz, %y
//   %2 = llm.add %0, %1                                 several readers: the sum, as the sweep goes
//   %dw = llm.linear_weight_grad %x, %2 into(%g)        starts from %g, where the caller gave one
// clang-format on
//
// New ops carry `llm.phase = "backward"`, the `llm.block` of the op whose rule made them, and a
// name. The gradient of the value X is "X.gradient"; anything else that a rule makes, or an op that
// makes several gradients, is "X.vjp" for the forward op X. Forward ops without a name lend none.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TRANSFORMS_DIFFERENTIATION_H
#define LLMMEM_TRANSFORMS_DIFFERENTIATION_H

#include "llmmem/Dialect/LlmDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace llmmem {

/// Is the name of the function that updates the parameters after the micro-batches of a step.
inline constexpr llvm::StringLiteral kUpdateFunction = "update";

/// Maps values to their gradients.
using GradientMap = llvm::DenseMap<mlir::Value, mlir::Value>;

/// Builds, at the insertion point of `builder`, the backward of the ops that come before it in its
/// block. On entry `gradients` holds the gradients to start from (of results) and accumulators that
/// contributions are added to (of values in `wanted`); on success it holds the gradient of each
/// value in `wanted` that has one: none means zero. Ops without an operand that depends on `wanted`
/// are skipped. Fails, after a located diagnostic, at an op without a rule.
llvm::LogicalResult buildGradients(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Value> wanted,
                                   GradientMap &gradients);

/// Does the same for `ops` alone, swept from the last to the first wherever they are in the
/// block.
llvm::LogicalResult buildGradients(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Operation *> ops,
                                   llvm::ArrayRef<mlir::Value> wanted, GradientMap &gradients);

/// Builds, after `function`, a function `name` which takes its arguments and then a gradient for
/// each of its results of floats, and returns its results and then the gradients of the arguments
/// `wanted`. `function` stays as it is.
llvm::FailureOr<mlir::func::FuncOp> buildGradientFunction(mlir::func::FuncOp function,
                                                          llvm::StringRef name,
                                                          llvm::ArrayRef<unsigned> wanted);

/// Builds, after `loss`, the training step of it; `loss` stays as it is.
///
/// Requires: the first result of `loss` is a scalar of floats; arguments with `llm.role = "param"`;
/// straight-line ops and static shapes; no result is a parameter itself. The step
///
/// clang-format off
///   takes    the arguments of `loss`;
///            `learning_rate` (f32, or f64 with an f64 loss) and `step` (i32, counted from 1);
///            for each parameter its state: under AdamW `first_moment` and `second_moment`
///            (f32; f64 with f64), and for bf16 a `master` in f32;
///            for each parameter its `gradient`, where gradients are resident
///   returns  the loss, the new parameters, the new states, the summed gradients,
///            and what else `loss` returned
/// clang-format on
///
/// Each updated argument carries `llm.donated`. A parameter with `llm.frozen` is read and left
/// alone; so is one that the loss does not depend on, with a warning.
///
/// Of a loss of one micro-batch (`splitMicroBatches`) the step runs once for each, adds to the
/// gradients, which are resident whatever `training` says, and returns the addend of the loss and
/// the gradients; @update follows it, has the same arguments and runs once after all of them.
///
/// Fails, after a located diagnostic that says what to do, and leaves the module as it was.
llvm::FailureOr<mlir::func::FuncOp> buildTrainingStep(mlir::func::FuncOp loss,
                                                      llm::TrainingAttr training,
                                                      llvm::StringRef name = "step");

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_DIFFERENTIATION_H
