//===- DescribeOps.cpp - What an op table says, written onto the ops -------===//

#include "llmmem/Transforms/DescribeOps.h"
#include "llmmem/Analysis/OpDescription.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "llmmem/Transforms/Passes.h"
#include "llmmem/Transforms/StepPass.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace llmmem {
#define GEN_PASS_DEF_DESCRIBEOPS
#include "llmmem/Transforms/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

namespace {
class OpDescriber {
public:
  OpDescriber(func::FuncOp step, const OpTable &table, Unpriced unpriced)
      : step(step), table(table), unpriced(unpriced), builder(step.getContext()) {}

  LogicalResult run() {
    Block &body = step.getBody().front();
    // Readers come first: whether a value is returned through views is then known.
    for (Operation &op : llvm::reverse(body.without_terminator()))
      if (failed(describe(op)))
        broken = true;
    return failed(refuseUnknown()) ? failure() : failure(broken);
  }

private:
  /// Returns whether `op` is an op of llmmem or a constant: no table and no person says what it is.
  static bool isKnown(Operation &op) {
    return isa_and_present<LlmDialect>(op.getDialect()) ||
           (isResidentOp(&op) && !op.hasAttr(LlmDialect::kResident));
  }

  /// Returns whether the `llm.cost` of an op is what its own model says, as annotate-memory writes
  /// it.
  static bool saysSo(Operation &op) {
    auto model = dyn_cast<CostOpInterface>(op);
    auto cost = op.getAttrOfType<llm::CostAttr>(LlmDialect::kCost);
    return model && cost && cost.getFlops() == model.getFlops() &&
           cost.getBytes() == model.getBytesMoved() &&
           cost.getWorkspace() == model.getWorkspaceBytes();
  }

  bool isReturned(Value value) {
    return llvm::any_of(value.getUses(), [&](OpOperand &use) {
      Operation *user = use.getOwner();
      if (user->hasTrait<OpTrait::IsTerminator>())
        return true;
      return llvm::any_of(user->getResults(), [&](OpResult result) {
        return viewedOperand(result) == use.getOperandNumber() && isReturned(result);
      });
    });
  }

  LogicalResult describe(Operation &op) {
    if (isKnown(op))
      return success();
    if (op.hasAttr(LlmDialect::kCost) && !op.hasAttr(LlmDialect::kCostFrom) && !saysSo(op))
      writeSource(op, llm::CostSource::Written);
    if (const OpTableEntry *entry = table.find(&op)) {
      if (!entry->refusal.empty() && op.hasAttr(LlmDialect::kCost))
        return success();
      if (!entry->refusal.empty() && unpriced == Unpriced::ByBytes)
        return priceByBytes(op);
      FailureOr<OpDescription> description = describeOp(&op, *entry, table);
      if (failed(description))
        return failure();
      write(op, *description);
      return success();
    }
    if (op.hasAttr(LlmDialect::kCost) || isViewOp(&op) || isResidentOp(&op))
      return success();
    if (isa<CostOpInterface>(op))
      return success();
    if (unpriced == Unpriced::ByBytes)
      return priceByBytes(op);
    ++unknown[op.getName()].second;
    unknown[op.getName()].first = &op;
    return success();
  }

  LogicalResult priceByBytes(Operation &op) {
    for (Value result : op.getResults())
      if (failed(getCheckedBytes(result)))
        return failure();
    op.setAttr(LlmDialect::kCost,
               llm::CostAttr::get(op.getContext(), 0, sumOfOperandAndResultBytes(&op), 0, 0));
    writeSource(op, llm::CostSource::Traffic);
    return success();
  }

  void writeSource(Operation &op, llm::CostSource source) {
    op.setAttr(LlmDialect::kCostFrom, builder.getStringAttr(llm::stringifyCostSource(source)));
  }

  void writeOnce(Operation &op, StringRef name, Attribute attribute) {
    if (!op.hasAttr(name))
      op.setAttr(name, attribute);
  }

  void write(Operation &op, const OpDescription &description) {
    if (description.isConstant) {
      writeOnce(op, LlmDialect::kResident, builder.getUnitAttr());
      return;
    }
    if (description.isPure)
      writeOnce(op, LlmDialect::kPure, builder.getUnitAttr());
    bool isView = llvm::all_of(description.views, [](int64_t operand) { return operand >= 0; });
    // A view of fewer bytes, as a broadcast is, is copied out where the caller gets it.
    for (auto [result, operand] : llvm::zip(op.getResults(), description.views))
      isView &= operand < 0 || !isReturned(result) ||
                bytesOfType(op.getOperand(operand).getType()) == bytesOfType(result.getType());
    if (isView && op.getNumResults() > 0) {
      writeOnce(op, LlmDialect::kViews, builder.getDenseI64ArrayAttr(description.views));
      return;
    }
    SmallVector<Attribute> lists;
    for (ArrayRef<int64_t> operands : description.inPlace)
      lists.push_back(builder.getDenseI64ArrayAttr(operands));
    if (llvm::any_of(description.inPlace, [](const auto &list) { return !list.empty(); }))
      writeOnce(op, LlmDialect::kInPlace, builder.getArrayAttr(lists));
    if (op.hasAttr(LlmDialect::kCost))
      return;
    // A view that is copied out after all moves its bytes.
    int64_t bytes = llvm::is_contained(description.views, -1) ? description.bytesMoved
                                                              : sumOfOperandAndResultBytes(&op);
    op.setAttr(LlmDialect::kCost, llm::CostAttr::get(op.getContext(), description.flops, bytes, 0,
                                                     description.workspace));
    writeSource(op, llm::CostSource::Table);
    if (description.messages > 0)
      op.setAttr(kTransferAttribute,
                 builder.getDenseI64ArrayAttr({description.messages, description.bytesSent}));
  }

  LogicalResult refuseUnknown() {
    for (auto &[name, entry] : llvm::reverse(unknown))
      entry.first->emitError() << "'" << name << "' has no cost, so no plan can be priced (of "
                               << entry.second
                               << " such ops this is the first); implement CostOpInterface, write '"
                               << LlmDialect::kCost
                               << "' on them, describe them in an op table (--op-table=FILE), or "
                                  "price them by the bytes that they read and write "
                                  "(--unpriced=by-bytes)";
    return failure(!unknown.empty());
  }

  func::FuncOp step;
  const OpTable &table;
  Unpriced unpriced;
  Builder builder;
  bool broken = false;
  llvm::MapVector<OperationName, std::pair<Operation *, int64_t>> unknown; // the first, how many
};
} // namespace

LogicalResult llmmem::describeOps(func::FuncOp step, const OpTable &table, Unpriced unpriced) {
  return OpDescriber(step, table, unpriced).run();
}

namespace {
struct DescribeOpsPass : StepPass<llmmem::impl::DescribeOpsBase<DescribeOpsPass>> {
  using StepPass::StepPass;
  LogicalResult runOnStep(func::FuncOp step) override {
    llvm::Expected<OpTable> table = OpTable::load(opTable);
    if (!table)
      return step.emitError() << llvm::toString(table.takeError());
    table->pricesByBytes = unpriced == Unpriced::ByBytes;
    return describeOps(step, *table, unpriced);
  }
};
} // namespace
