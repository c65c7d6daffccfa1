//===- LoopBody.cpp - What the body of a loop costs and holds --------------===//

#include "LoopBody.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Layout/InPlace.h"
#include "llmmem/Layout/LastReads.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace llmmem;

//===----------------------------------------------------------------------===//
// Rounds
//===----------------------------------------------------------------------===//

/// Returns the number that a scalar constant holds.
static std::optional<int64_t> constantOf(Value value) {
  Operation *op = value.getDefiningOp();
  auto elements = op ? op->getAttrOfType<DenseIntElementsAttr>("value") : DenseIntElementsAttr();
  if (!elements || elements.getNumElements() != 1)
    return std::nullopt;
  return (*elements.value_begin<APInt>()).getSExtValue();
}

static bool isCalled(Operation *op, StringRef name) {
  return op && op->getName().getStringRef().ends_with(("." + name).str());
}

/// Returns the same value outside of the loop, where the region was given it unchanged.
static Value outside(Value value, Operation *loop) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner()->getParentOp() != loop)
    return value;
  Operation *back = loop->getRegion(1).front().getTerminator();
  unsigned number = argument.getArgNumber();
  // What the region reads from around it comes after what it carries (RegionCaptures.h).
  bool isCarriedUnchanged = number >= back->getNumOperands() ||
                            back->getOperand(number) == loop->getRegion(1).getArgument(number);
  return isCarriedUnchanged ? loop->getOperand(number) : value;
}

/// Returns what each round adds to the carried number.
static std::optional<int64_t> strideOf(Operation *loop, unsigned number) {
  Block &body = loop->getRegion(1).front();
  Operation *add = body.getTerminator()->getOperand(number).getDefiningOp();
  if (!isCalled(add, "add") || add->getNumOperands() != 2)
    return std::nullopt;
  for (unsigned side : {0, 1})
    if (add->getOperand(side) == body.getArgument(number))
      return constantOf(outside(add->getOperand(1 - side), loop));
  return std::nullopt;
}

std::optional<int64_t> llmmem::countRounds(Operation *loop) {
  if (loop->getNumRegions() != 2 || !loop->getRegion(0).hasOneBlock() ||
      !loop->getRegion(1).hasOneBlock())
    return std::nullopt;
  Operation *yield = loop->getRegion(0).front().getTerminator();
  Operation *compare =
      yield->getNumOperands() == 1 ? yield->getOperand(0).getDefiningOp() : nullptr;
  if (!isCalled(compare, "compare") || compare->getNumOperands() != 2)
    return std::nullopt;
  std::string direction;
  llvm::raw_string_ostream(direction) << compare->getAttr("comparison_direction");
  auto counter = dyn_cast<BlockArgument>(compare->getOperand(0));
  if (!counter || counter.getOwner()->getParentOp() != loop ||
      !StringRef(direction).contains(" LT>"))
    return std::nullopt;
  unsigned number = counter.getArgNumber();
  std::optional<int64_t> end = constantOf(outside(compare->getOperand(1), loop));
  std::optional<int64_t> begin = constantOf(loop->getOperand(number));
  std::optional<int64_t> stride = strideOf(loop, number);
  if (!end || !begin || !stride || *stride <= 0)
    return std::nullopt;
  return *end <= *begin ? 0 : llvm::divideCeil(*end - *begin, *stride);
}

//===----------------------------------------------------------------------===//
// One round
//===----------------------------------------------------------------------===//

namespace {
/// Makes one walk in the order of the text.
class RegionWalk {
public:
  RegionWalk(Block &body, unsigned carried, const OpTable &table)
      : body(body), carried(carried), table(table) {}

  FailureOr<OpDescription> run() {
    for (BlockArgument argument : body.getArguments()) {
      root[argument] = argument;
      if (argument.getArgNumber() < carried)
        held[argument] = 0, home[argument] = argument;
    }
    for (Operation &op : body)
      if (failed(describe(op)))
        return failure();
    findLastReads();
    for (Operation &op : body.without_terminator())
      visit(op);
    sum.workspace = std::max(peak, live + bytesOfExchanges());
    return sum;
  }

private:
  LogicalResult describe(Operation &op) {
    if (&op == body.getTerminator())
      return success();
    const OpTableEntry *entry = table.find(&op);
    if (table.pricesByBytes && (!entry || !entry->refusal.empty()))
      entry = &OpTable::byBytes();
    if (!entry)
      return op.emitError()
             << "'" << op.getName()
             << "' stands in a region, and no op table describes it; add it to "
                "--op-table=FILE, write 'llm.cost' on the op around it, or price it by the "
                "bytes that it reads and writes (--unpriced=by-bytes)";
    FailureOr<OpDescription> found = describeOp(&op, *entry, table);
    if (failed(found))
      return failure();
    sum.isPure &= found->isPure;
    for (auto [total, part] :
         {std::pair(&sum.flops, found->flops), std::pair(&sum.bytesMoved, found->bytesMoved),
          std::pair(&sum.messages, found->messages), std::pair(&sum.bytesSent, found->bytesSent)})
      *total = llvm::checkedAdd(*total, part).value_or(INT64_MAX);
    for (OpResult result : op.getResults()) {
      int64_t viewed = found->views[result.getResultNumber()];
      root[result] = viewed < 0 ? result : rootOf(op.getOperand(viewed));
    }
    descriptions[&op] = std::move(*found);
    return success();
  }

  /// Returns null for what is defined outside.
  Value rootOf(Value value) { return root.lookup(value); }

  void findLastReads() {
    lastRead = llmmem::findLastReads(
        body, [&](Value value) { return rootOf(value); },
        [](Operation &op) { return SmallVector<Value>(op.getOperands()); });
  }

  /// Gives to results the bytes of operands that are read here last.
  void takeOver(Operation &op) {
    auto allowed = [&](OpResult result) {
      return llvm::to_vector_of<unsigned>(descriptions[&op].inPlace[result.getResultNumber()]);
    };
    SmallVector<InPlaceCandidate, 4> candidates =
        inPlaceCandidates(&op, [&](Value value) { return rootOf(value); }, allowed);
    llvm::erase_if(candidates, [&](const InPlaceCandidate &candidate) {
      auto [result, source] = candidate;
      return root[result] != result || lastRead.lookup(source) != &op || !held.contains(source) ||
             bytesOfType(source.getType()) < bytesOfType(result.getType());
    });
    for (auto [result, source] : chooseInPlace(candidates)) {
      // Its bytes are the result's now, whosever they were.
      held[result] = held[source];
      home[result] = home.lookup(source);
      held.erase(source);
    }
  }

  void visit(Operation &op) {
    const OpDescription &description = descriptions[&op];
    if (description.isConstant)
      return;
    takeOver(op);
    for (OpResult result : op.getResults())
      if (root[result] == result && !held.contains(result))
        live += held[result] = bytesOfType(result.getType());
    peak = std::max(peak, live + description.workspace);
    for (Value operand : op.getOperands())
      release(rootOf(operand), op);
    for (Value result : op.getResults())
      release(rootOf(result), op);
  }

  /// What goes into the next round in the bytes of another carried value is copied in between.
  int64_t bytesOfExchanges() {
    int64_t bytes = 0;
    for (OpOperand &given : body.getTerminator()->getOpOperands())
      if (auto place = dyn_cast_or_null<BlockArgument>(home.lookup(rootOf(given.get())));
          place && place.getArgNumber() != given.getOperandNumber())
        bytes += bytesOfType(given.get().getType());
    return bytes;
  }

  /// Releases what no op reads after `op`.
  void release(Value read, Operation &op) {
    if (!read || !held.contains(read) || (lastRead.contains(read) && lastRead[read] != &op))
      return;
    live -= held[read];
    held.erase(read);
  }

  Block &body;
  const unsigned carried;
  const OpTable &table;
  OpDescription sum;
  int64_t live = 0, peak = 0;
  llvm::DenseMap<Value, Value> root;
  llvm::DenseMap<Value, Operation *> lastRead;
  llvm::DenseMap<Value, Value> home;   // the carried value whose bytes it lies in
  llvm::DenseMap<Value, int64_t> held; // scratch bytes; 0 of a carried value
  llvm::DenseMap<Operation *, OpDescription> descriptions;
};
} // namespace

FailureOr<OpDescription> llmmem::describeRegion(Region &region, unsigned carried,
                                                const OpTable &table) {
  if (!region.hasOneBlock() || region.front().empty())
    return region.getParentOp()->emitError("has a region that is not one straight-line block");
  return RegionWalk(region.front(), carried, table).run();
}
