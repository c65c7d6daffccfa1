//===- Loops.cpp - scf: loops whose rounds are counted ---------------------===//

#include "llmmem/Upstream/Loops.h"
#include "Models.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Interfaces/EmptyOpInterface.h"
#include "llmmem/Layout/LoopLayout.h"
#include "llmmem/Support/Count.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::upstream;

static bool touchesTensors(Operation &op) {
  auto isTensor = [](Type type) { return isa<TensorType>(type); };
  return llvm::any_of(op.getOperandTypes(), isTensor) ||
         llvm::any_of(op.getResultTypes(), isTensor);
}

bool llmmem::isFreeInLoop(Operation &op) {
  return isResidentOp(&op) || isViewOp(&op) ||
         (!touchesTensors(op) && op.getNumRegions() == 0 && isFreeOfEffects(&op));
}

std::optional<int64_t> llmmem::countLoopRounds(LoopLikeOpInterface loop) {
  std::optional<APInt> rounds = loop.getStaticTripCount();
  if (!rounds || rounds->getActiveBits() > 62)
    return std::nullopt;
  return rounds->getZExtValue();
}

/// The bytes of a constant in a body would not be counted, because only those of the step are
/// listed.
static LogicalResult checkConstant(Operation &op) {
  if (llvm::none_of(op.getResults(), [](Value result) { return residentBytes(result) > 0; }))
    return success();
  return op.emitError("is a constant with bytes in the body of a loop, which no plan would count; "
                      "move it in front of the loop (--carry-captures)");
}

LogicalResult llmmem::checkLoopHasCost(LoopLikeOpInterface loop) {
  if (!countLoopRounds(loop))
    return loop.emitError() << "'" << loop->getName()
                            << "' runs a number of rounds that is not known, so no plan can be "
                               "priced; make its bounds and its step constants, or write "
                               "'llm.cost' on it";
  for (Operation &op : loop.getLoopRegions().front()->front().without_terminator()) {
    if (isResidentOp(&op) && failed(checkConstant(op)))
      return failure();
    if (isFreeInLoop(op))
      continue;
    if (!isa<CostOpInterface>(op))
      return op.emitError() << "'" << op.getName()
                            << "' stands in the body of a loop and has no cost, so the loop cannot "
                               "be priced; implement CostOpInterface, or write 'llm.cost' on the "
                               "loop";
    if (auto inner = dyn_cast<LoopLikeOpInterface>(op); inner && failed(checkLoopHasCost(inner)))
      return failure();
  }
  return success();
}

static LoopLikeOpInterface loopOf(Operation *op) { return cast<LoopLikeOpInterface>(op); }

/// Returns the sum of `count` over the ops of one iteration, and `inCopies`, times the iterations;
/// -1 where it does not fit.
static int64_t sumOfRounds(scf::ForOp loop, int64_t inCopies,
                           llvm::function_ref<int64_t(CostOpInterface)> count) {
  Count sum = inCopies;
  for (Operation &op : loop.getBody()->without_terminator()) {
    auto cost = dyn_cast<CostOpInterface>(op);
    if (!cost || isFreeInLoop(op))
      continue;
    sum += count(cost);
  }
  return sum * countLoopRounds(loopOf(loop)).value_or(0);
}

namespace {
struct LoopCost : CostOpInterface::ExternalModel<LoopCost, scf::ForOp> {
  int64_t getFlops(Operation *op) const {
    return sumOfRounds(cast<scf::ForOp>(op), 0,
                       [](CostOpInterface cost) { return cost.getFlops(); });
  }

  /// Copies into the bytes that carry a value read and write it.
  int64_t getBytesMoved(Operation *op) const {
    return sumOfRounds(cast<scf::ForOp>(op), LoopLayout(loopOf(op)).getBytesCopied(),
                       [](CostOpInterface cost) { return cost.getBytesMoved(); });
  }

  int64_t getWorkspaceBytes(Operation *op) const { return LoopLayout(loopOf(op)).getBytes(); }
};

/// What no iteration changes is a view of the initial value; anything else may be computed in its
/// bytes.
struct LoopBuffers : BufferOpInterface::ExternalModel<LoopBuffers, scf::ForOp> {
  std::optional<unsigned> getViewedOperand(Operation *op, unsigned result) const {
    return isCarriedUnchanged(loopOf(op), result)
               ? std::optional(initOf(op, result).getOperandNumber())
               : std::nullopt;
  }

  SmallVector<unsigned> getInPlaceOperands(Operation *op, unsigned result) const {
    OpOperand &init = initOf(op, result);
    if (getViewedOperand(op, result) || !isa<TensorType>(init.get().getType()) ||
        isReadTwice(init) || !coversItsBytes(init.get()))
      return {};
    return {init.getOperandNumber()};
  }

private:
  static OpOperand &initOf(Operation *op, unsigned result) {
    return cast<scf::ForOp>(op).getInitArgsMutable()[result];
  }
};
} // namespace

void upstream::registerLoops(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, scf::SCFDialect *) {
    scf::ForOp::attachInterface<LoopCost, LoopBuffers>(*context);
  });
}
