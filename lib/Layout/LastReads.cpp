//===- LastReads.cpp - How long values are held in the order of a block ------===//

#include "llmmem/Layout/LastReads.h"

using namespace mlir;

llvm::DenseMap<Value, Operation *>
llmmem::findLastReads(Block &block, llvm::function_ref<Value(Value)> rootOf,
                      llvm::function_ref<SmallVector<Value>(Operation &)> readsOf) {
  llvm::DenseMap<Value, Operation *> last;
  for (Operation &op : block)
    for (Value read : readsOf(op))
      if (Value root = rootOf(read))
        last[root] = &op;
  return last;
}
