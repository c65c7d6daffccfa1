//===- ArenaLoops.cpp - Loops over views of the arena ----------------------===//
//
// The values that a loop carries lie in the bytes of its results, and those that an iteration
// computes in the scratch bytes of the loop (Layout/LoopLayout.h). So the loop carries only
// numbers.
//
//===----------------------------------------------------------------------===//

#include "ArenaBufferizer.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Interfaces/EmptyOpInterface.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

static bool isTensor(Value value) { return isa<TensorType>(value.getType()); }

//===----------------------------------------------------------------------===//
// Deciding
//===----------------------------------------------------------------------===//

/// Returns where the scratch bytes of a loop begin: in the body of another, as its layout says,
/// else as the plan does.
FailureOr<int64_t> ArenaBufferizer::scratchOf(scf::ForOp loop, const LoopLayout &layout) {
  if (auto known = innerScratch.find(loop); known != innerScratch.end())
    return known->second;
  if (layout.getBytes() == 0)
    return 0;
  std::optional<Workspace> workspace = plannedWorkspace(loop);
  if (workspace && workspace->bytes >= layout.getBytes())
    return workspace->offset;
  return loop.emitError() << "needs " << layout.getBytes() << " scratch bytes for one round, and '"
                          << LlmDialect::kWorkspace << "' has "
                          << (workspace ? workspace->bytes : 0)
                          << "; run plan-arena, or write no fewer into its 'llm.cost'";
}

/// Records where the values of the body lie.
void ArenaBufferizer::placeBody(scf::ForOp loop, const LoopLayout &layout,
                                const ArenaOpPlan &plan) {
  for (auto [number, argument] : llvm::enumerate(loop.getRegionIterArgs()))
    if (plan.loop->isUnchanged[number])
      viewed[argument] = loop.getInitArgs()[number];
  for (auto &[value, place] : layout.getPlaces())
    if (isTensor(value))
      inner[value] = place.carried ? plan.results[*place.carried]
                                   : Place{std::nullopt, plan.loop->scratch + place.offset};
  for (Operation &op : *loop.getBody()) {
    innerScratch[&op] = plan.loop->scratch + layout.getScratch(&op);
    for (OpResult result : op.getResults())
      if (std::optional<unsigned> operand = viewedOperand(result))
        viewed[result] = op.getOperand(*operand);
  }
}

LogicalResult ArenaBufferizer::decideLoop(scf::ForOp loop, ArenaOpPlan &plan) {
  LoopLayout layout(cast<LoopLikeOpInterface>(loop.getOperation()));
  FailureOr<int64_t> scratch = scratchOf(loop, layout);
  if (failed(scratch))
    return failure();
  plan.loop = std::make_shared<ArenaLoopPlan>();
  plan.loop->scratch = *scratch;
  llvm::append_range(plan.loop->copies, layout.getCopies());
  for (auto [number, result, init] : llvm::enumerate(loop.getResults(), loop.getInitArgs())) {
    bool isUnchanged = isCarriedUnchanged(cast<LoopLikeOpInterface>(loop.getOperation()), number);
    bool hasPlace = isTensor(result) && !isUnchanged;
    plan.loop->isUnchanged.push_back(isUnchanged);
    plan.results.push_back(hasPlace ? placeOf(result) : Place());
    Value root = rootOf(init);
    bool isThere = hasPlace && !storage.isConstant(root) && placeOf(root) == plan.results.back();
    plan.copiesInits.push_back(hasPlace && !isThere && !isEmptyValue(root));
  }
  placeBody(loop, layout, plan);
  for (Operation &op : loop.getBody()->without_terminator())
    if (failed(decide(op, plan.loop->body)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// Copies the values for the next iteration from elsewhere into the bytes that carry them.
LogicalResult ArenaBufferizer::endRound(scf::ForOp loop, const ArenaOpPlan &plan,
                                        ArrayRef<Value> homes) {
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  rewriter.setInsertionPoint(yield);
  SmallVector<std::pair<Value, Value>> after; // From, to.
  for (LoopLayout::Copy copy : plan.loop->copies) {
    Value value = yield.getOperand(copy.carried);
    if (isEmptyValue(value))
      continue;
    FailureOr<Value> from = bufferOf(value);
    if (failed(from))
      return failure();
    if (copy.by) {
      Value way =
          viewOf({std::nullopt, plan.loop->scratch + *copy.by}, value.getType(), value.getLoc());
      memref::CopyOp::create(rewriter, yield.getLoc(), *from, way);
      from = way;
    }
    after.push_back({*from, homes[copy.carried]});
  }
  for (auto [from, to] : after)
    memref::CopyOp::create(rewriter, yield.getLoc(), from, to);
  SmallVector<Value> numbers =
      llvm::filter_to_vector(yield.getOperands(), [](Value value) { return !isTensor(value); });
  rewriter.replaceOpWithNewOp<scf::YieldOp>(yield, numbers);
  return success();
}

LogicalResult ArenaBufferizer::rewriteLoop(const ArenaOpPlan &plan) {
  auto loop = cast<scf::ForOp>(plan.op);
  Location location = loop.getLoc();
  SmallVector<Value> numbers, homes(loop.getNumResults()), carried(loop.getNumResults());
  for (auto [number, init] : llvm::enumerate(loop.getInitArgs())) {
    if (!isTensor(init)) {
      numbers.push_back(init);
    } else if (plan.loop->isUnchanged[number]) {
      carried[number] = init;
    } else {
      homes[number] = viewOf(plan.results[number], init.getType(), location);
      if (plan.copiesInits[number] && failed(copyTo(init, homes[number])))
        return failure();
      carried[number] = asTensor(homes[number], init.getType());
    }
  }
  auto again = scf::ForOp::create(
      rewriter, location, loop.getLowerBound(), loop.getUpperBound(), loop.getStep(), numbers,
      [](OpBuilder &, Location, Value, ValueRange) {}, loop.getUnsignedCmp());
  SmallVector<Value> arguments{again.getInductionVar()}, results;
  unsigned next = 0;
  for (Value given : carried) {
    arguments.push_back(given ? given : Value(again.getRegionIterArg(next)));
    results.push_back(given ? given : Value(again.getResult(next)));
    next += !given;
  }
  rewriter.mergeBlocks(loop.getBody(), again.getBody(), arguments);
  for (const ArenaOpPlan &inside : plan.loop->body)
    if (failed(rewrite(inside)))
      return failure();
  if (failed(endRound(again, plan, homes)))
    return failure();
  rewriter.replaceOp(loop, results);
  return success();
}
