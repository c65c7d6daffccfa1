//===- SequentialPlan.cpp - A plan without any thought, for tests ----------===//

#include "llmmem/Execution/SequentialPlan.h"
#include "llmmem/Alignment.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Interfaces/BufferOpInterface.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

void llmmem::planSequentially(func::FuncOp function) {
  Builder builder(function.getContext());
  llvm::DenseMap<Value, int64_t> offsets;
  int64_t end = 0;
  auto claim = [&](int64_t bytes) {
    int64_t offset = end;
    end += llvm::alignTo(bytes, kArenaAlignment);
    return offset;
  };
  for (BlockArgument argument : function.getArguments())
    offsets[argument] = -1;
  for (Operation &op : function.getBody().front().without_terminator()) {
    SmallVector<int64_t> own;
    for (OpResult result : op.getOpResults()) {
      std::optional<unsigned> viewed = viewedOperand(result);
      own.push_back(viewed ? offsets.lookup(op.getOperand(*viewed))
                           : claim(bytesOfType(result.getType())));
      offsets[result] = own.back();
    }
    op.setAttr(LlmDialect::kOffsets, builder.getDenseI64ArrayAttr(own));
    auto cost = dyn_cast<CostOpInterface>(op);
    if (int64_t bytes = cost ? cost.getWorkspaceBytes() : 0)
      op.setAttr(LlmDialect::kWorkspace, builder.getDenseI64ArrayAttr({claim(bytes), bytes}));
  }
  function->setAttr(LlmDialect::kArena, builder.getI64IntegerAttr(end));
}
