//===- EqualBlocks.cpp - A model of a few of its equal blocks --------------===//

#include "llmmem/Strategies/EqualBlocks.h"
#include "llmmem/Analysis/OpFacts.h"
#include <map>

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

namespace {
/// Holds the ops of each block, in order.
class Blocks {
public:
  explicit Blocks(func::FuncOp loss) : body(loss.getBody().front()) {
    for (Operation &op : body.without_terminator())
      if (std::optional<int64_t> label = getBlock(&op)) {
        if (ops.empty() || *label != current) {
          ops.emplace_back();
          isConsecutive &= *label == current + 1;
          current = *label;
        }
        placeOf[&op] = {ops.size() - 1, ops.back().size()};
        ops.back().push_back(&op);
      }
  }

  size_t size() const { return ops.size(); }
  /// Returns for each block a number that is equal for blocks whose ops mean the same.
  std::vector<size_t> findKinds() const;
  LogicalResult checkEqual() const;
  void keep(size_t count);

private:
  struct BlockPosition {
    size_t block = 0, op = 0;
  };
  bool readsAlike(OpOperand &operand, OpOperand &other) const;
  Value counterpart(OpResult result, size_t block) const {
    return ops[block][placeOf.lookup(result.getOwner()).op]->getResult(result.getResultNumber());
  }

  Block &body;
  std::vector<std::vector<Operation *>> ops;
  llvm::DenseMap<Operation *, BlockPosition> placeOf;
  int64_t current = -1;
  bool isConsecutive = true;
};
} // namespace

/// Leaves out what names and numbers an op and says nothing about what it does.
static DictionaryAttr meaningOf(Operation *op) {
  SmallVector<NamedAttribute> kept;
  for (NamedAttribute attribute : op->getAttrs())
    if (!llvm::is_contained({LlmDialect::kBlock, LlmDialect::kName, LlmDialect::kResultNames},
                            attribute.getName().getValue()) &&
        // Each op that samples has a key of its own.
        attribute.getName() != "key")
      kept.push_back(attribute);
  return DictionaryAttr::get(op->getContext(), kept);
}

std::vector<size_t> Blocks::findKinds() const {
  std::map<std::vector<const void *>, size_t> numbers;
  std::vector<size_t> kinds;
  for (ArrayRef<Operation *> block : ops) {
    std::vector<const void *> meaning;
    for (Operation *op : block) {
      meaning.push_back(op->getName().getAsOpaquePointer());
      meaning.push_back(meaningOf(op).getAsOpaquePointer());
      for (Type type : op->getOperandTypes())
        meaning.push_back(type.getAsOpaquePointer());
      for (Type type : op->getResultTypes())
        meaning.push_back(type.getAsOpaquePointer());
    }
    kinds.push_back(numbers.try_emplace(std::move(meaning), numbers.size()).first->second);
  }
  return kinds;
}

/// `operand` belongs to a block, and `other` to the next one.
bool Blocks::readsAlike(OpOperand &operand, OpOperand &other) const {
  Value one = operand.get(), two = other.get();
  if (one.getType() != two.getType())
    return false;
  Operation *writer = one.getDefiningOp(), *nextWriter = two.getDefiningOp();
  auto place = placeOf.find(writer), next = placeOf.find(nextWriter);
  size_t block = placeOf.lookup(operand.getOwner()).block;
  if (next == placeOf.end()) // This is a parameter, or shared by all blocks.
    return place == placeOf.end() &&
           (one == two || (isa<BlockArgument>(one) && isa<BlockArgument>(two)));
  // The first block reads from the embedding what the next ones read from the previous block.
  if (place == placeOf.end())
    return block == 0 && next->second.block == 0;
  return place->second.op == next->second.op && place->second.block + 1 == next->second.block &&
         cast<OpResult>(one).getResultNumber() == cast<OpResult>(two).getResultNumber() &&
         block - place->second.block <= 1;
}

LogicalResult Blocks::checkEqual() const {
  if (!isConsecutive)
    return body.getParentOp()->emitError("has blocks that are not numbered 0, 1, ... in order");
  for (size_t block = 0; block + 1 < ops.size(); ++block) {
    if (ops[block].size() != ops[block + 1].size())
      return ops[block + 1].front()->emitError()
             << "belongs to a block of " << ops[block + 1].size() << " ops after one of "
             << ops[block].size() << "; strategies are compared on equal blocks";
    for (auto [op, other] : llvm::zip_equal(ops[block], ops[block + 1])) {
      bool isEqual = op->getName() == other->getName() && meaningOf(op) == meaningOf(other) &&
                     op->getResultTypes() == other->getResultTypes() &&
                     op->getNumOperands() == other->getNumOperands();
      for (unsigned number = 0; isEqual && number < op->getNumOperands(); ++number)
        isEqual = readsAlike(op->getOpOperand(number), other->getOpOperand(number));
      if (!isEqual)
        return other->emitError("differs from the same op of the block before; strategies are "
                                "compared on equal blocks");
    }
  }
  return success();
}

/// An op of no block may read every block, not only the last: a count of what all experts drop, a
/// sum of balance losses. For each removed block it then reads the last one that stays.
void Blocks::keep(size_t count) {
  for (ArrayRef<Operation *> block : ArrayRef(ops).drop_front(count))
    for (Operation *op : block)
      for (OpResult result : op->getResults())
        result.replaceUsesWithIf(counterpart(result, count - 1),
                                 [&](OpOperand &use) { return !placeOf.contains(use.getOwner()); });
  for (size_t block = ops.size(); block-- > count;)
    for (Operation *op : llvm::reverse(ops[block]))
      op->erase();
}

BlockPattern llmmem::findBlockPattern(func::FuncOp loss) {
  const std::vector<size_t> kinds = Blocks(loss).findKinds();
  const auto blocks = static_cast<int64_t>(kinds.size());
  constexpr int64_t fewest = 3;
  BlockPattern best{0, 1, blocks};
  int64_t covered = 0;
  for (int64_t period = 1; period * fewest <= blocks; ++period)
    for (int64_t first = 0, end = 0; first + period * fewest <= blocks;
         first = std::max(end, first) + 1) {
      for (end = first; end + period < blocks && kinds[end] == kinds[end + period];)
        ++end;
      const int64_t count = (end - first) / period + 1;
      if (count >= fewest && count * period > covered) {
        covered = count * period;
        best = {first, period, count};
      }
    }
  return best;
}

void llmmem::labelGroups(func::FuncOp loss, const BlockPattern &pattern) {
  Builder builder(loss.getContext());
  for (Operation &op : loss.getBody().front().without_terminator()) {
    const std::optional<int64_t> block = getBlock(&op);
    if (!block)
      continue;
    const int64_t number = *block - pattern.first;
    if (number < 0 || number >= pattern.period * pattern.count)
      op.removeAttr(LlmDialect::kBlock);
    else
      op.setAttr(LlmDialect::kBlock, builder.getI64IntegerAttr(number / pattern.period));
  }
}

llvm::FailureOr<int64_t> llmmem::countEqualBlocks(func::FuncOp loss) {
  Blocks blocks(loss);
  if (failed(blocks.checkEqual()))
    return failure();
  return static_cast<int64_t>(blocks.size());
}

LogicalResult llmmem::keepBlocks(func::FuncOp loss, int64_t count) {
  Blocks blocks(loss);
  if (count < 1 || static_cast<int64_t>(blocks.size()) < count)
    return loss.emitError() << "has " << blocks.size() << " blocks, fewer than " << count;
  if (static_cast<int64_t>(blocks.size()) == count)
    return success();
  llvm::BitVector wasRead(loss.getNumArguments());
  for (BlockArgument argument : loss.getArguments())
    wasRead[argument.getArgNumber()] = !argument.use_empty();
  blocks.keep(count);
  for (BlockArgument argument : loss.getArguments())
    if (!argument.use_empty())
      wasRead.reset(argument.getArgNumber());
  return loss.eraseArguments(wasRead);
}
