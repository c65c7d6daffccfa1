//===- AdoptStep.h - What a graph of another compiler does not say ---------===//
//
// This file finds from the graph what `differentiate` writes onto its own steps: which arguments a
// step overwrites, which result is its loss, and where its backward begins. It keeps whatever
// is in the text already.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TRANSFORMS_ADOPTSTEP_H
#define LLMMEM_TRANSFORMS_ADOPTSTEP_H

#include "llmmem/Layout/StepStorage.h"

namespace llmmem {

/// Returns the result that is the loss: `wanted`, else `llm.loss`, else the only scalar of floating
/// point that is no argument and takes no argument's place. Returns -1 where there is none, or
/// several. Fails, after a diagnostic, where `wanted` is no such result.
llvm::FailureOr<int64_t> findLoss(mlir::func::FuncOp step, int64_t wanted);

/// Finds arguments that the caller gives away (`tf.aliasing_output`, `jax.buffer_donor`,
/// `bufferization.writable`), and the results that may have their bytes: writes `llm.donated` on
/// the argument, and `llm.in_argument` on the op that writes the result and on those before it
/// whose results may lie there too. Where an op reads the argument after that, both are held.
/// Without one of the three attributes nothing is given away. Returns how many arguments were.
///
/// What the loss depends on overwrites nothing, since a recomputation may need what was there.
int64_t findDonations(mlir::func::FuncOp step, int64_t loss);

/// Writes `llm.role` onto the arguments: one whose place a result of equal type takes is a
/// parameter where the loss depends on it, else optimizer state; the rest is input.
void findRoles(mlir::func::FuncOp step, int64_t loss);

/// Writes `llm.phase` onto the ops: by the locations of JAX, `transpose(jvp(` and `jvp(`, where
/// there are any; else what the loss depends on or what comes before it is forward, and the rest
/// is backward. Writes nothing without a loss.
void findPhases(mlir::func::FuncOp step, int64_t loss);

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_ADOPTSTEP_H
