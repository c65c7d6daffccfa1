//===- GroupKernels.cpp - Which ops run as one kernel ----------------------===//

#include "llmmem/Transforms/GroupKernels.h"
#include "KernelGroup.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

static Attribute phaseOf(Operation *op) { return op->getAttr(LlmDialect::kPhase); }

//===----------------------------------------------------------------------===//
// Cheap forward ops that the backward reads
//===----------------------------------------------------------------------===//

/// Whether an op of `phase` reads `value`.
static bool isReadIn(Attribute phase, Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) { return phaseOf(user) == phase; });
}

/// The readers of `producer` in later phases, if a copy in the kernel of each costs no byte:
/// each can share a kernel, and all that the copies would read is read in that phase anyway.
static SmallVector<Operation *> readersToCopyInto(Operation *producer) {
  if (producer->getNumResults() != 1 || !isCheapByElements(producer) ||
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
      for (StringRef note : {LlmDialect::kPhase, LlmDialect::kBlock})
        if (Attribute ofReader = reader->getAttr(note))
          copy->setAttr(note, ofReader);
        else
          copy->removeAttr(note);
      reader->replaceUsesOfWith(op.getResult(0), copy->getResult(0));
      ++copies;
    }
  return copies;
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

/// Into the kernel of each op, in program order, goes what feeds it alone.
static void mergeProducers(Block &block, KernelGroups &groups) {
  for (Operation &op : block.without_terminator()) {
    if (!isGroupable(&op))
      continue;
    bool merged = true;
    while (merged) {
      merged = false;
      for (Value operand : groups.groupOf(&op).inputs())
        if (Operation *producer = operand.getDefiningOp(); producer && isGroupable(producer))
          if ((merged = groups.mergeProducer(producer, &op)))
            break;
    }
  }
}

/// Ops by elements that read one value become one kernel, which reads it once.
static void mergeSiblings(Block &block, KernelGroups &groups) {
  for (Operation &op : block.without_terminator())
    if (isGroupable(&op))
      for (Value operand : op.getOperands())
        if (isElementOperand(operand, &op))
          for (Operation *sibling : operand.getUsers())
            if (isGroupable(sibling) && sibling->isBeforeInBlock(&op))
              groups.mergeSibling(sibling, &op);
}

//===----------------------------------------------------------------------===//
// The kernel op
//===----------------------------------------------------------------------===//

/// The notes of the whole kernel; those of its ops would only be copies of them.
static void annotate(llm::KernelOp kernel, const KernelGroup &group) {
  Operation *last = group.members().back();
  for (StringRef note : {LlmDialect::kPhase, LlmDialect::kBlock})
    if (Attribute attribute = last->getAttr(note))
      kernel->setAttr(note, attribute);
  if (llvm::all_of(group.members(),
                   [](Operation *op) { return op->hasAttr(LlmDialect::kCoreAttention); }))
    kernel->setAttr(LlmDialect::kCoreAttention, UnitAttr::get(kernel->getContext()));
  SmallVector<Attribute> names;
  for (Value output : group.outputs())
    if (Attribute name = output.getDefiningOp()->getAttr(LlmDialect::kName))
      names.push_back(name);
  if (names.size() != group.outputs().size())
    return;
  kernel->setAttr(LlmDialect::kName, names.front());
  if (names.size() > 1)
    kernel->setAttr(LlmDialect::kResultNames, ArrayAttr::get(kernel->getContext(), names));
}

static void materialize(const KernelGroup &group) {
  SmallVector<Value> inputs = group.inputs(), outputs = group.outputs();
  // All that it reads is there before the first member. Further down, an update might already have
  // overwritten a parameter that a member reads.
  OpBuilder builder(group.members().front());
  SmallVector<Location> locations;
  for (Operation *op : group.members())
    locations.push_back(op->getLoc());
  auto kernel = llm::KernelOp::create(builder, builder.getFusedLoc(locations),
                                      ValueRange(outputs).getTypes(), inputs);
  Block &body = kernel.getBody().emplaceBlock();
  IRMapping inside;
  for (Value input : inputs)
    inside.map(input, body.addArgument(input.getType(), input.getLoc()));
  OpBuilder within = OpBuilder::atBlockEnd(&body);
  for (Operation *op : group.members())
    within.clone(*op, inside)->setDiscardableAttrs(DictionaryAttr::get(op->getContext()));
  SmallVector<Value> yielded;
  for (Value output : outputs)
    yielded.push_back(inside.lookup(output));
  llm::YieldOp::create(within, kernel.getLoc(), yielded);
  annotate(kernel, group);
  for (auto [output, result] : llvm::zip_equal(outputs, kernel.getOutputs()))
    output.replaceAllUsesWith(result);
  for (Operation *op : llvm::reverse(group.members()))
    op->erase();
}

GroupingCounts llmmem::groupKernels(func::FuncOp step) {
  Block &block = step.getBody().front();
  GroupingCounts counts;
  counts.copies = copyCheapProducers(block);
  KernelGroups groups(block);
  mergeProducers(block, groups);
  mergeSiblings(block, groups);
  for (const KernelGroup &group : groups.withSeveralMembers()) {
    materialize(group);
    ++counts.kernels;
    counts.grouped += group.members().size();
  }
  return counts;
}
