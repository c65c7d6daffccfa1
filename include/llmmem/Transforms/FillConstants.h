//===- FillConstants.h - Constants that a plan may write where they are read ----===//
//
// A constant is held throughout, in addition to the arena. One whose elements are all one number
// can be written by an op instead (FillableOpInterface.h), which runs again where that is cheaper
// than to hold its result. That costs the time of writing it, so it is a choice like epilogues:
// the planning pass compares the step with constants and the step with fills, and takes the
// cheapest plan, or the one that needs the fewest bytes.
//
// Example: the first and the last op of a step read `dense<1.0> : tensor<1024xf32>`. The constant
// holds 4,096 bytes throughout; two runs of one fill hold them while each of the two ops runs.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TRANSFORMS_FILLCONSTANTS_H
#define LLMMEM_TRANSFORMS_FILLCONSTANTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// Returns whether `fillConstants` would change `step`.
bool hasConstantsToFill(mlir::func::FuncOp step);

/// Puts a fill in the place of each constant of a tensor that has one, before its first
/// reader; returns how many. Those stay that an op has to know when the step is compiled, that the
/// region of an op reads, or that the step returns.
int64_t fillConstants(mlir::func::FuncOp step);

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_FILLCONSTANTS_H
