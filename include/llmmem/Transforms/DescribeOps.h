//===- DescribeOps.h - What an op table says, written onto the ops ---------===//

#ifndef LLMMEM_TRANSFORMS_DESCRIBEOPS_H
#define LLMMEM_TRANSFORMS_DESCRIBEOPS_H

#include "llmmem/Analysis/OpTable.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

/// Says what becomes of an op without a description.
enum class Unpriced { Refuse, ByBytes };

/// Writes `llm.cost`, `llm.views`, `llm.in_place`, `llm.pure` and `llm.resident` onto the ops of
/// `step` that do not implement `CostOpInterface`, as `table` has them; what is there already
/// is kept. Fails after a diagnostic at the first op of each name without a description.
///
/// Example: "stablehlo.add"(%a, %b) of tensor<4xf32> gets
/// llm.cost = #llm.cost<flops = 4, bytes = 48, ns = 0, workspace = 0>,
/// llm.in_place = [array<i64: 0, 1>] and llm.pure.
llvm::LogicalResult describeOps(mlir::func::FuncOp step, const OpTable &table, Unpriced unpriced);

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_DESCRIBEOPS_H
