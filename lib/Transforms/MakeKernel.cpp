//===- MakeKernel.cpp - The llm.kernel of a group of ops -------------------===//

#include "KernelGroup.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

/// Returns the name that people have for `output`, or null.
static Attribute nameOf(Value output) {
  Operation *op = output.getDefiningOp();
  bool isNamed = op->hasAttr(LlmDialect::kName) || op->hasAttr(LlmDialect::kResultNames);
  return isNamed ? StringAttr::get(output.getContext(), getName(output)) : StringAttr();
}

/// Writes the attributes of the whole kernel; those of its ops would only be copies of them.
static void annotate(llm::KernelOp kernel, const KernelGroup &group) {
  putWith(kernel, group.members().back());
  if (llvm::all_of(group.members(), [](Operation *op) {
        return op->hasAttr(LlmDialect::kCoreAttention) || isColumns(op);
      }))
    kernel->setAttr(LlmDialect::kCoreAttention, UnitAttr::get(kernel->getContext()));
  SmallVector<Attribute> names;
  for (Value output : group.outputs())
    if (Attribute name = nameOf(output))
      names.push_back(name);
  if (names.size() != group.outputs().size())
    return;
  kernel->setAttr(LlmDialect::kName, names.front());
  if (names.size() > 1)
    kernel->setAttr(LlmDialect::kResultNames, ArrayAttr::get(kernel->getContext(), names));
}

/// Writes `member` into the body; afterwards `inside` knows its results.
static void writeMember(Operation *member, OpBuilder &within, IRMapping &inside) {
  auto kernel = dyn_cast<llm::KernelOp>(member);
  if (!kernel) {
    within.clone(*member, inside)->setDiscardableAttrs(DictionaryAttr::get(member->getContext()));
    return;
  }
  for (auto [argument, input] :
       llvm::zip_equal(kernel.getBody().getArguments(), kernel.getInputs()))
    inside.map(argument, inside.lookup(input));
  for (Operation &op : kernel.getBody().front().without_terminator())
    within.clone(op, inside);
  for (auto [output, yielded] : llvm::zip_equal(kernel.getOutputs(), kernel.getYielded()))
    inside.map(output, inside.lookup(yielded));
}

Operation *llmmem::makeKernel(const KernelGroup &group) {
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
    writeMember(op, within, inside);
  auto yielded = llvm::map_to_vector(outputs, [&](Value output) { return inside.lookup(output); });
  llm::YieldOp::create(within, kernel.getLoc(), yielded);
  annotate(kernel, group);
  for (auto [output, result] : llvm::zip_equal(outputs, kernel.getOutputs()))
    output.replaceAllUsesWith(result);
  for (Operation *op : llvm::reverse(group.members()))
    op->erase();
  return kernel;
}
