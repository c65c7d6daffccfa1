//===- CarryCaptures.cpp - What loops read from outside as operands --------===//

#include "llmmem/Interfaces/BufferOpInterface.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "llmmem/Transforms/HostPlacements.h"
#include "llmmem/Transforms/Passes.h"
#include "llmmem/Transforms/RegionCaptures.h"
#include "llmmem/Transforms/StepPass.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace llmmem {
#define GEN_PASS_DEF_CARRYCAPTURES
#include "llmmem/Transforms/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;

/// Moves the constants of the body out of it; they are there from the start, as all constants of
/// the step are.
static void moveConstantsOut(LoopLikeOpInterface loop) {
  SmallVector<Operation *> constants;
  for (Region *region : loop.getLoopRegions())
    for (Operation &op : region->getOps())
      if (isResidentOp(&op))
        constants.push_back(&op);
  for (Operation *constant : constants)
    constant->moveBefore(loop);
}

/// Lets the readers of what no round changes read what the loop was given.
static void bypassUnchanged(LoopLikeOpInterface loop) {
  std::optional<ResultRange> results = loop.getLoopResults();
  if (!results)
    return;
  for (auto [result, yielded, argument, init] :
       llvm::zip(*results, loop.getYieldedValues(), loop.getRegionIterArgs(), loop.getInits()))
    if (yielded == argument)
      result.replaceAllUsesWith(init);
}

/// Buffers are no values that can be carried: an op that reads them through the loop is refused
/// later.
static bool canBeCarried(Value value) {
  return isa<TensorType>(value.getType()) || bytesOfElementType(value.getType());
}

static LogicalResult carryCaptures(LoopLikeOpInterface loop, IRRewriter &rewriter) {
  if (!loop.getYieldedValuesMutable())
    return success();
  moveConstantsOut(loop);
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(loop->getRegions(), captured);
  captured.remove_if([](Value value) {
    return (value.getDefiningOp() && isResidentOp(value.getDefiningOp())) || !canBeCarried(value);
  });
  if (!captured.empty()) {
    rewriter.setInsertionPoint(loop);
    NewYieldValuesFn yieldUnchanged = [](OpBuilder &, Location, ArrayRef<BlockArgument> added) {
      return SmallVector<Value>(added.begin(), added.end());
    };
    FailureOr<LoopLikeOpInterface> grown = loop.replaceWithAdditionalYields(
        rewriter, captured.getArrayRef(), /*replaceInitOperandUsesInLoop=*/true, yieldUnchanged);
    if (failed(grown))
      return loop.emitError()
             << "reads values from outside and cannot carry them; make them operands";
    loop = *grown;
  }
  bypassUnchanged(loop);
  return success();
}

namespace {
/// Compares constants by everything except where they were written.
struct EqualConstants : llvm::DenseMapInfo<Operation *> {
  static unsigned getHashValue(const Operation *op) {
    return OperationEquivalence::computeHash(
        const_cast<Operation *>(op), OperationEquivalence::directHashValue,
        OperationEquivalence::ignoreHashValue, OperationEquivalence::IgnoreLocations);
  }
  static bool isEqual(const Operation *a, const Operation *b) {
    if (a == b || !isKey(a) || !isKey(b))
      return a == b;
    return OperationEquivalence::isEquivalentTo(const_cast<Operation *>(a),
                                                const_cast<Operation *>(b),
                                                OperationEquivalence::IgnoreLocations);
  }

private:
  static bool isKey(const Operation *op) { return op != getEmptyKey() && op != getTombstoneKey(); }
};
} // namespace

/// Merges equal constants of tensors into one buffer, which the program that runs the step holds
/// once.
static void shareConstants(func::FuncOp step) {
  llvm::DenseSet<Operation *, EqualConstants> known;
  for (Operation &op : llvm::make_early_inc_range(step.getBody().front())) {
    if (!op.hasTrait<OpTrait::ConstantLike>() || op.getNumResults() != 1 ||
        !isa<TensorType>(op.getResult(0).getType()))
      continue;
    auto [equal, isFirst] = known.insert(&op);
    if (isFirst)
      continue;
    op.replaceAllUsesWith(*equal);
    op.erase();
  }
}

namespace {
struct CarryCapturesPass : StepPass<llmmem::impl::CarryCapturesBase<CarryCapturesPass>> {
  using StepPass::StepPass;
  LogicalResult runOnStep(func::FuncOp step) override {
    // Inner loops come first: what they read is then read by the body around them.
    SmallVector<LoopLikeOpInterface> loops;
    step.walk([&](LoopLikeOpInterface loop) { loops.push_back(loop); });
    IRRewriter rewriter(step.getContext());
    for (LoopLikeOpInterface loop : loops)
      if (failed(carryCaptures(loop, rewriter)))
        return failure();
    passCaptures(step);
    readHostPlacements(step);
    shareConstants(step);
    return success();
  }
};
} // namespace
