//===- AttentionColumns.cpp - Attention where a product wrote it -----------===//
//
// One product often computes queries, keys and values side by side, and the gradients of all three
// go into one product again. Attention reads and writes rows of heads at any distance, so nothing
// has to be copied: each reader gets a split of its own, and in a kernel a split is a place. What
// lives on between forward and backward is then the product's result, as many bytes as its parts.
//
//===----------------------------------------------------------------------===//

#include "AttentionColumns.h"
#include "KernelGroup.h"
#include "llmmem/Dialect/HeadColumns.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

static GroupableOpInterface attentionOf(Operation *op) {
  auto groupable = dyn_cast<GroupableOpInterface>(op);
  return groupable && groupable.getTraversal() == Traversal::Attention ? groupable
                                                                       : GroupableOpInterface();
}

/// Returns the readers of `split` if they are attention and read each part of it as rows of heads.
static llvm::SetVector<Operation *> readersOfHeads(llm::SplitOp split) {
  llvm::SetVector<Operation *> readers(split->user_begin(), split->user_end());
  for (Value part : split.getParts())
    for (Operation *reader : readers)
      if (!llvm::is_contained(part.getUsers(), reader) ||
          !llvm::all_of(part.getUses(), llm::readsHeads))
        return {};
  return readers;
}

/// Creates a split before `reader`, which reads it in the place of `split`.
static Operation *splitFor(Operation *reader, llm::SplitOp split) {
  Operation *copy = OpBuilder(reader).clone(*split);
  putWith(copy, reader);
  for (auto [before, part] : llvm::zip_equal(split.getParts(), copy->getResults()))
    reader->replaceUsesOfWith(before, part);
  return copy;
}

/// Returns the concat that is the only reader of the gradients of `attention`, or null.
static Operation *concatOf(GroupableOpInterface attention) {
  for (unsigned number : attention.getHeadResults()) {
    OpResult result = attention->getResult(number);
    auto concat = result.hasOneUse() ? dyn_cast<llm::ConcatOp>(*result.user_begin()) : nullptr;
    if (concat && llvm::all_of(concat.getParts(), [&](Value part) {
          return part.hasOneUse() && part.getDefiningOp() == attention && llm::areHeads(part);
        }))
      return concat;
  }
  return nullptr;
}

GroupingCounts llmmem::groupAttention(Block &block) {
  llvm::MapVector<Operation *, SmallVector<Operation *>> splitsOf;
  GroupingCounts counts;
  for (Operation &op : block)
    if (attentionOf(&op))
      splitsOf.insert({&op, {}});
  SmallVector<llm::SplitOp> splits(block.getOps<llm::SplitOp>());
  for (llm::SplitOp split : splits) {
    llvm::SetVector<Operation *> readers = readersOfHeads(split);
    for (Operation *reader : readers)
      splitsOf[reader].push_back(splitFor(reader, split));
    if (readers.empty())
      continue;
    counts.copies += static_cast<int64_t>(readers.size()) - 1;
    split->erase();
  }
  for (auto &[attention, own] : splitsOf) {
    KernelGroup group(attention);
    for (Operation *split : own)
      group = group.with(KernelGroup(split));
    Operation *concat = concatOf(attentionOf(attention));
    if (concat && standTogether(attention, concat))
      if (KernelGroup both = group.with(KernelGroup(concat)); both.keepsLifetimes())
        group = both;
    if (group.members().size() == 1)
      continue;
    ++counts.kernels;
    counts.grouped += static_cast<int64_t>(group.members().size());
    makeKernel(group);
  }
  return counts;
}
