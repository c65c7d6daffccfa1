//===- SequentialPlan.h - A plan without any thought, for tests ------------===//

#ifndef LLMMEM_EXECUTION_SEQUENTIALPLAN_H
#define LLMMEM_EXECUTION_SEQUENTIALPLAN_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// Gives each result of a straight-line function an offset of its own, one after another, and the
/// function its `llm.arena`, without reuse and without in-place results. Views repeat their
/// source's offset. So any function of llm ops can run as a reference for planned ones.
///
/// Example: %a = gelu %x; %b = reshape %a; %c = gelu %b on 40 bytes each have the offsets 0, 0,
/// 256.
void planSequentially(mlir::func::FuncOp function);

} // namespace llmmem

#endif // LLMMEM_EXECUTION_SEQUENTIALPLAN_H
