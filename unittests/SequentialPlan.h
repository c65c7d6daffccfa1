//===- SequentialPlan.h - A plan without any thought, for tests ------------===//

#ifndef LLMMEM_UNITTESTS_SEQUENTIALPLAN_H
#define LLMMEM_UNITTESTS_SEQUENTIALPLAN_H

#include "llmmem/Alignment.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Interfaces/BufferOpInterface.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/MathExtras.h"

namespace llmmem {

/// Gives each result of a straight-line function an offset of its own, one after another, and the
/// function its `llm.arena`, without reuse and without in-place results. Views repeat their
/// source's offset. So any function of llm ops can run as a reference for planned ones.
///
/// Example: %a = gelu %x; %b = reshape %a; %c = gelu %b on 40 bytes each have the offsets 0, 0,
/// 256.
inline void planSequentially(mlir::func::FuncOp function) {
  mlir::Builder builder(function.getContext());
  llvm::DenseMap<mlir::Value, int64_t> offsets;
  int64_t end = 0;
  auto claim = [&](int64_t bytes) {
    int64_t offset = end;
    end += llvm::alignTo(bytes, kArenaAlignment);
    return offset;
  };
  for (mlir::BlockArgument argument : function.getArguments())
    offsets[argument] = -1;
  for (mlir::Operation &op : function.getBody().front().without_terminator()) {
    llvm::SmallVector<int64_t> own;
    for (mlir::OpResult result : op.getOpResults()) {
      std::optional<unsigned> viewed = viewedOperand(result);
      own.push_back(viewed ? offsets.lookup(op.getOperand(*viewed))
                           : claim(bytesOfType(result.getType())));
      offsets[result] = own.back();
    }
    op.setAttr(llm::LlmDialect::kOffsets, builder.getDenseI64ArrayAttr(own));
    auto cost = mlir::dyn_cast<CostOpInterface>(op);
    if (int64_t bytes = cost ? cost.getWorkspaceBytes() : 0)
      op.setAttr(llm::LlmDialect::kWorkspace, builder.getDenseI64ArrayAttr({claim(bytes), bytes}));
  }
  function->setAttr(llm::LlmDialect::kArena, builder.getI64IntegerAttr(end));
}

} // namespace llmmem

#endif // LLMMEM_UNITTESTS_SEQUENTIALPLAN_H
