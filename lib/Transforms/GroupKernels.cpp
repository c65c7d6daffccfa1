//===- GroupKernels.cpp - Which ops run as one kernel ----------------------===//

#include "llmmem/Transforms/GroupKernels.h"
#include "AttentionColumns.h"
#include "KernelGroup.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Transforms/Passes.h"
#include "llmmem/Transforms/StepPass.h"

namespace llmmem {
#define GEN_PASS_DEF_GROUPKERNELS
#include "llmmem/Transforms/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

static Attribute phaseOf(Operation *op) { return op->getAttr(LlmDialect::kPhase); }

//===----------------------------------------------------------------------===//
// Cheap forward ops that the backward reads
//===----------------------------------------------------------------------===//

/// Returns whether an op of `phase` reads `value`.
static bool isReadIn(Attribute phase, Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) { return phaseOf(user) == phase; });
}

/// Returns the readers of `producer` in later phases, if a copy in the kernel of each costs no
/// byte: each can share a kernel, and all that the copies would read is read in that phase anyway.
static SmallVector<Operation *> readersToCopyInto(Operation *producer) {
  if (producer->getNumResults() != 1 || !isCheapElementwise(producer) ||
      !isReadIn(phaseOf(producer), producer->getResult(0)))
    return {};
  SmallVector<Operation *> readers;
  for (Operation *user : producer->getResult(0).getUsers()) {
    if (phaseOf(user) == phaseOf(producer) || llvm::is_contained(readers, user))
      continue;
    bool free = llvm::all_of(producer->getOperands(), [&](Value operand) {
      return isa<BlockArgument>(operand) || isReadIn(phaseOf(user), operand);
    });
    if (!free || !canFeed(producer, user))
      return {};
    readers.push_back(user);
  }
  return readers;
}

static int64_t copyCheapProducers(Block &block) {
  int64_t copies = 0;
  for (Operation &op : llvm::make_early_inc_range(block))
    for (Operation *reader : readersToCopyInto(&op)) {
      Operation *copy = OpBuilder(reader).clone(op);
      putWith(copy, reader);
      reader->replaceUsesOfWith(op.getResult(0), copy->getResult(0));
      ++copies;
    }
  return copies;
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

/// Merges into the kernel of each op, in program order, what feeds it alone.
static void mergeProducers(Block &block, KernelGroups &groups) {
  for (Operation &op : block.without_terminator()) {
    if (!isGroupable(&op))
      continue;
    bool merged = true;
    while (merged) {
      merged = false;
      for (Value operand : groups.groupOf(&op).inputs())
        if (Operation *producer = operand.getDefiningOp(); producer && isGroupable(producer)) {
          merged = groups.mergeProducer(producer, &op);
          if (merged)
            break;
        }
    }
  }
}

/// Merges elementwise ops that read one value into one kernel, which reads it once.
static void mergeSiblings(Block &block, KernelGroups &groups) {
  for (Operation &op : block.without_terminator())
    if (isGroupable(&op))
      for (Value operand : op.getOperands())
        if (isElementOperand(operand, &op))
          for (Operation *sibling : operand.getUsers())
            if (isGroupable(sibling) && sibling->isBeforeInBlock(&op))
              groups.mergeSibling(sibling, &op);
}

GroupingCounts llmmem::groupKernels(func::FuncOp step) {
  Block &block = step.getBody().front();
  GroupingCounts counts = groupAttention(block);
  counts.copies += copyCheapProducers(block);
  KernelGroups groups(block);
  mergeProducers(block, groups);
  mergeSiblings(block, groups);
  for (const KernelGroup &group : groups.withSeveralMembers()) {
    makeKernel(group);
    ++counts.kernels;
    counts.grouped += group.members().size();
  }
  return counts;
}

namespace {
struct GroupKernelsPass : StepPass<llmmem::impl::GroupKernelsBase<GroupKernelsPass>> {
  using StepPass::StepPass;
  LogicalResult runOnStep(func::FuncOp step) override {
    GroupingCounts counts = groupKernels(step);
    numKernels += counts.kernels;
    numGrouped += counts.grouped;
    numCopies += counts.copies;
    if (counts.kernels == 0 && counts.copies == 0)
      markAllAnalysesPreserved();
    return success();
  }
};
} // namespace
