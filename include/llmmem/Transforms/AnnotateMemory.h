//===- AnnotateMemory.h - Bytes and costs, readable in the text ------------===//

#ifndef LLMMEM_TRANSFORMS_ANNOTATEMEMORY_H
#define LLMMEM_TRANSFORMS_ANNOTATEMEMORY_H

#include "llmmem/Device/DeviceModel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// Writes `llm.bytes`, `llm.cost` and a missing `llm.phase` on every op of `step`; fails, after a
/// located diagnostic, on an op without a cost or a value without static bytes.
llvm::LogicalResult annotateMemory(mlir::func::FuncOp step, const DeviceModel &device);

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_ANNOTATEMEMORY_H
