//===- StepStorage.cpp - Whose bytes each value of a step has --------------===//

#include "llmmem/Layout/StepStorage.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Interfaces/BufferOpInterface.h"
#include "llmmem/Layout/InPlace.h"

using namespace mlir;
using namespace llmmem;

Value StepStorage::getRoot(Value value) const {
  auto it = viewed.find(value);
  return it == viewed.end() ? value : it->second;
}

bool StepStorage::isConstant(Value value) const {
  Operation *writer = getRoot(value).getDefiningOp();
  return writer && isResidentOp(writer);
}

BlockArgument StepStorage::getArgument(Value value) const {
  Value root = getRoot(value);
  if (auto argument = dyn_cast<BlockArgument>(root))
    return argument;
  return inArgument.lookup(root);
}

/// Follows in-place operands from `value` back to `argument`, and not through what lies in another
/// argument already; `chain` collects the roots on the way. An op that reads the argument itself
/// takes its bytes over from there: another operand that had them before would have overwritten it.
static bool reaches(const StepStorage &storage, Value value, BlockArgument argument,
                    SmallVectorImpl<Value> &chain) {
  Value root = storage.getRoot(value);
  if (BlockArgument home = storage.getArgument(root))
    return home == argument;
  auto result = dyn_cast<OpResult>(root);
  if (!result)
    return false;
  SmallVector<Value> sources;
  for (unsigned number : inPlaceOperands(result)) {
    Value source = storage.getRoot(result.getOwner()->getOperand(number));
    auto liesThere = [&](Value other) { return storage.getRoot(other) == source; };
    if (mayOverwrite(result, liesThere))
      sources.push_back(source);
  }
  chain.push_back(root);
  if (llvm::is_contained(sources, argument))
    return true;
  for (Value source : sources)
    if (reaches(storage, source, argument, chain))
      return true;
  chain.pop_back();
  return false;
}

void StepStorage::findViews(func::FuncOp step) {
  for (Operation &op : step.getBody().front())
    for (OpResult result : op.getResults())
      if (std::optional<unsigned> operand = viewedOperand(result))
        viewed[result] = getRoot(op.getOperand(*operand));
}

/// Finds ops that say themselves which argument they overwrite.
LogicalResult StepStorage::findStated(func::FuncOp step) {
  for (Operation &op : step.getBody().front()) {
    auto stated = op.getAttrOfType<DenseI64ArrayAttr>(llm::LlmDialect::kInArgument);
    if (!stated)
      continue;
    if (stated.size() != static_cast<int64_t>(op.getNumResults()))
      return op.emitError() << "has '" << llm::LlmDialect::kInArgument << "' with " << stated.size()
                            << " numbers for " << op.getNumResults() << " results";
    for (auto [result, number] : llvm::zip(op.getResults(), stated.asArrayRef())) {
      if (number == -1)
        continue;
      if (number < 0 || number >= static_cast<int64_t>(step.getNumArguments()) ||
          step.getArgument(number).getType() != result.getType())
        return op.emitError() << "result " << result.getResultNumber() << " overwrites argument "
                              << number << ", which does not exist or has another type";
      inArgument[result] = step.getArgument(number);
    }
  }
  return success();
}

LogicalResult StepStorage::findDonated(func::FuncOp step) {
  Block &body = step.getBody().front();
  Operation *terminator = body.getTerminator();
  for (BlockArgument argument : body.getArguments()) {
    auto donated =
        step.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), llm::LlmDialect::kDonated);
    if (!donated)
      continue;
    int64_t result = donated.getInt();
    if (result < 0 || result >= static_cast<int64_t>(terminator->getNumOperands()))
      return step.emitError() << "argument " << argument.getArgNumber() << " is donated to result "
                              << result << ", but the function has " << terminator->getNumOperands()
                              << " results";
    Value root = getRoot(terminator->getOperand(result));
    if (root == argument || inArgument.lookup(root) == argument)
      continue;
    SmallVector<Value> chain;
    if (!reaches(*this, terminator->getOperand(result), argument, chain))
      return step.emitError() << "argument " << argument.getArgNumber() << " is donated to result "
                              << result
                              << ", but no chain of in-place results leads from one to the other";
    for (Value root : chain)
      inArgument[root] = argument;
  }
  return success();
}

StepStorage::StepStorage(func::FuncOp step) {
  findViews(step);
  valid = succeeded(findStated(step)) && succeeded(findDonated(step));
}
