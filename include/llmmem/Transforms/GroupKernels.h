//===- GroupKernels.h - Which ops run as one kernel ------------------------===//
//
// Grouping comes before planning: what lives only inside a kernel has no bytes, so it is nothing to
// plan. It must therefore never take a choice from the planner that is worth having:
//
//   producer into reader   where the reader is the only one, and all else that the kernel reads is
//                          there before the producer: nothing lives longer than it did.
//   copy into a backward   of a cheap forward op whose own operands the backward reads anyway:
//                          silu(gate) is no longer saved, at no byte more.
//   side by side           elementwise ops that read one operand and do not wait for each other.
//   columns                attention and what splits its operands or concatenates its gradients:
//                          it reads and writes them where they lie (AttentionColumns.cpp).
//
// Example, the gate of a Llama block:
//
//   %s = llm.silu %gate                    %y = llm.kernel(%g = %gate, %u = %up) { silu, mul }
//   %y = llm.mul %s, %up              =>   ...
//   %du = llm.mul %dy, %s  (backward)      %du, %dg = llm.kernel(...) { silu, mul, mul, silu_grad }
//
// A residual sum and the norm that reads it stay apart: both are read again, and in one kernel the
// norm could not be recomputed from the sum alone.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TRANSFORMS_GROUPKERNELS_H
#define LLMMEM_TRANSFORMS_GROUPKERNELS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

struct GroupingCounts {
  int64_t kernels = 0; // llm.kernel ops made
  int64_t grouped = 0; // ops that went into them
  int64_t copies = 0;  // cheap forward ops recomputed inside a backward kernel
};

/// Groups the ops of a straight-line step, by `GroupableOpInterface`. Phases and blocks are never
/// mixed, the order of what is not grouped stays, and no bit of any result changes.
GroupingCounts groupKernels(mlir::func::FuncOp step);

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_GROUPKERNELS_H
