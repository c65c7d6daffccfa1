//===- FindDonations.cpp - Which results lie in which arguments ------------===//

#include "StepAncestors.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Transforms/AdoptStep.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

namespace {
class DonationFinder {
public:
  DonationFinder(func::FuncOp step, int64_t loss)
      : step(step), body(step.getBody().front()), storage(step), results(body.getTerminator()) {
    if (loss >= 0)
      lossNeeds = findAncestors(results->getOperand(loss));
    int64_t position = 0;
    for (Operation &op : body) {
      positions[&op] = position++;
      for (OpOperand &operand : op.getOpOperands())
        readers[storage.getRoot(operand.get())].push_back(&operand);
    }
  }

  int64_t run() {
    SmallVector<std::pair<BlockArgument, int64_t>> given = findGiven();
    int64_t donated = 0;
    for (auto [argument, result] : given)
      donated += donate(argument, result);
    return donated;
  }

private:
  /// Finds the results that arguments are given to: by number, or any of the same type.
  SmallVector<std::pair<BlockArgument, int64_t>> findGiven() {
    SmallVector<std::pair<BlockArgument, int64_t>> given;
    SmallVector<BlockArgument> anyOfType;
    llvm::DenseSet<int64_t> taken;
    for (BlockArgument argument : body.getArguments()) {
      unsigned number = argument.getArgNumber();
      auto alias = step.getArgAttrOfType<IntegerAttr>(number, "tf.aliasing_output");
      if (step.getArgAttr(number, LlmDialect::kDonated))
        continue;
      if (alias && alias.getInt() >= 0 && alias.getInt() < results->getNumOperands()) {
        given.push_back({argument, alias.getInt()});
        taken.insert(alias.getInt());
      } else if (isGiven(number)) {
        anyOfType.push_back(argument);
      }
    }
    for (BlockArgument argument : anyOfType)
      for (auto [number, value] : llvm::enumerate(results->getOperands()))
        if (value.getType() == argument.getType() && taken.insert(number).second) {
          given.push_back({argument, static_cast<int64_t>(number)});
          break;
        }
    return given;
  }

  bool isGiven(unsigned argument) {
    for (StringRef name : {"jax.buffer_donor", "bufferization.writable"})
      if (auto flag = step.getArgAttrOfType<BoolAttr>(argument, name))
        return flag.getValue();
    return false;
  }

  /// Returns whether all that read `value` have done so when `op` runs, or are `op` itself where
  /// `result` may reuse the bytes of its operand.
  bool isReadBefore(Value value, OpResult result) {
    Operation *op = result.getOwner();
    return llvm::all_of(readers.lookup(value), [&](OpOperand *read) {
      if (read->getOwner() == op)
        return llvm::is_contained(inPlaceOperands(result), read->getOperandNumber());
      return positions.lookup(read->getOwner()) < positions.lookup(op);
    });
  }

  bool mayOverwrite(Value value, BlockArgument argument) {
    auto result = dyn_cast<OpResult>(value);
    return result && result.getType() == argument.getType() &&
           !result.getOwner()->hasAttr(LlmDialect::kInArgument) &&
           !isResidentOp(result.getOwner()) && !lossNeeds.contains(result.getOwner());
  }

  /// Finds in-place results from `value` back to the argument, each of which is the last to read
  /// the one before.
  bool findChain(Value value, BlockArgument argument, llvm::DenseSet<Value> &seen,
                 SmallVectorImpl<OpResult> &chain) {
    if (!seen.insert(value).second || !mayOverwrite(value, argument))
      return false;
    auto result = cast<OpResult>(value);
    for (unsigned number : inPlaceOperands(result)) {
      Value read = storage.getRoot(result.getOwner()->getOperand(number));
      if (read.getType() != argument.getType() || !isReadBefore(read, result))
        continue;
      if (read == argument || findChain(read, argument, seen, chain)) {
        chain.push_back(result);
        return true;
      }
    }
    return false;
  }

  bool donate(BlockArgument argument, int64_t number) {
    Value root = storage.getRoot(results->getOperand(number));
    bool isItself = root == argument;
    SmallVector<OpResult> chain;
    llvm::DenseSet<Value> seen;
    if (!isItself && !findChain(root, argument, seen, chain)) {
      chain.clear();
      if (!mayOverwrite(root, argument) || !isReadBefore(argument, cast<OpResult>(root)))
        return false;
      chain.push_back(cast<OpResult>(root));
    }
    Builder builder(step.getContext());
    for (OpResult result : chain) {
      SmallVector<int64_t> homes(result.getOwner()->getNumResults(), -1);
      homes[result.getResultNumber()] = argument.getArgNumber();
      result.getOwner()->setAttr(LlmDialect::kInArgument, builder.getDenseI64ArrayAttr(homes));
    }
    step.setArgAttr(argument.getArgNumber(), LlmDialect::kDonated,
                    builder.getI64IntegerAttr(number));
    return true;
  }

  func::FuncOp step;
  Block &body;
  StepStorage storage;
  Operation *results;
  llvm::DenseSet<Operation *> lossNeeds;
  llvm::DenseMap<Operation *, int64_t> positions;
  llvm::DenseMap<Value, SmallVector<OpOperand *>> readers; // of roots, also through views
};
} // namespace

int64_t llmmem::findDonations(func::FuncOp step, int64_t loss) {
  return DonationFinder(step, loss).run();
}
