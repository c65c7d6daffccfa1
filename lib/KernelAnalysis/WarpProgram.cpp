//===- WarpProgram.cpp - The part of a kernel followed for a warp -----------===//

#include "WarpProgram.h"
#include "llmmem/Codegen/Gpu/Cluster.h"
#include "llmmem/Codegen/Gpu/KernelAccess.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace llmmem;

using Triple = WarpProgram::Triple;
using Slot = WarpProgram::Slot;
using Handing = WarpProgram::Handing;
using Bound = WarpProgram::Bound;
using Loop = WarpProgram::Loop;
using Step = WarpProgram::Step;
using Code = WarpProgram::Code;

bool llmmem::hasKnownForm(LoopLikeOpInterface loop) {
  return loop.getSingleInductionVar() && loop.getLoopLowerBounds() && loop.getLoopUpperBounds() &&
         loop.getLoopSteps();
}

namespace {
class Compiler {
public:
  Compiler(gpu::GPUFuncOp kernel, Triple grid, Triple block,
           const std::optional<WarpProgram::Scope> &scope)
      : kernel(kernel), grid(grid), block(block), scope(scope) {}

  WarpProgram compile();

private:
  void findFollowed();
  bool isFollowed(Value value) const;
  Code compile(Block &block);
  std::optional<Step> compile(Operation &op);
  void compileRegions(Operation &op, Step &step);
  Loop compileLoop(LoopLikeOpInterface loop);
  bool isKnownBefore(Operation &op);
  Bound boundOf(ArrayRef<OpFoldResult> bounds);
  Handing handing(ValueRange from, ValueRange to);
  Slot slotOf(Value value);

  gpu::GPUFuncOp kernel;
  Triple grid, block;
  const std::optional<WarpProgram::Scope> &scope;
  llvm::DenseSet<Value> followed;
  WarpProgram program;
};
} // namespace

//===----------------------------------------------------------------------===//
// What is followed
//===----------------------------------------------------------------------===//

/// Returns what decides a result of an op, other than conditions and bounds of loops.
static SmallVector<Value> sourcesOf(OpResult result) {
  Operation *op = result.getOwner();
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op))
    return hasKnownForm(loop) ? SmallVector<Value>{loop.getTiedLoopRegionIterArg(result)}
                              : SmallVector<Value>();
  SmallVector<Value> sources;
  if (auto branch = dyn_cast<scf::IfOp>(op))
    for (Region &region : branch->getRegions())
      sources.push_back(region.front().getTerminator()->getOperand(result.getResultNumber()));
  else if (op->getNumRegions() == 0)
    llvm::append_range(sources, op->getOperands());
  return sources;
}

static SmallVector<Value> sourcesOf(BlockArgument argument) {
  auto loop = dyn_cast<LoopLikeOpInterface>(argument.getOwner()->getParentOp());
  if (!loop || !hasKnownForm(loop) || argument == *loop.getSingleInductionVar())
    return {};
  return {loop.getTiedLoopInit(argument)->get(), loop.getTiedLoopYieldedValue(argument)->get()};
}

void Compiler::findFollowed() {
  SmallVector<Value> open = scope->values;
  auto addBounds = [&](const SmallVector<OpFoldResult> &bounds) {
    if (auto value = dyn_cast<Value>(bounds.front()))
      open.push_back(value);
  };
  kernel.walk([&](Operation *op) {
    if (auto branch = dyn_cast<scf::IfOp>(op))
      open.push_back(branch.getCondition());
    else if (auto loop = dyn_cast<LoopLikeOpInterface>(op); loop && hasKnownForm(loop))
      for (const auto &bounds :
           {*loop.getLoopLowerBounds(), *loop.getLoopUpperBounds(), *loop.getLoopSteps()})
        addBounds(bounds);
  });
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (!followed.insert(value).second)
      continue;
    auto result = dyn_cast<OpResult>(value);
    llvm::append_range(open, result ? sourcesOf(result) : sourcesOf(cast<BlockArgument>(value)));
  }
}

bool Compiler::isFollowed(Value value) const {
  return scope ? followed.contains(value) : value.getType().isIntOrIndex();
}

Slot Compiler::slotOf(Value value) {
  auto [place, isNew] =
      program.slots.try_emplace(value, static_cast<Slot>(program.constants.size()));
  if (isNew)
    program.constants.emplace_back();
  return place->second;
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

Handing Compiler::handing(ValueRange from, ValueRange to) {
  Handing handing;
  for (auto [source, target] : llvm::zip(from, to))
    if (isFollowed(target))
      handing.push_back({slotOf(source), slotOf(target)});
  return handing;
}

Bound Compiler::boundOf(ArrayRef<OpFoldResult> bounds) {
  if (std::optional<int64_t> constant = getConstantIntValue(bounds.front()))
    return {constant};
  return {std::nullopt, slotOf(cast<Value>(bounds.front()))};
}

Loop Compiler::compileLoop(LoopLikeOpInterface loop) {
  return {.op = loop,
          .lower = boundOf(*loop.getLoopLowerBounds()),
          .upper = boundOf(*loop.getLoopUpperBounds()),
          .step = boundOf(*loop.getLoopSteps()),
          .number = slotOf(*loop.getSingleInductionVar()),
          .begin = handing(loop.getInits(), loop.getRegionIterArgs()),
          .next = handing(loop.getYieldedValues(), loop.getRegionIterArgs()),
          .end = handing(loop.getRegionIterArgs(), *loop.getLoopResults())};
}

void Compiler::compileRegions(Operation &op, Step &step) {
  auto branch = dyn_cast<scf::IfOp>(op);
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op); loop && hasKnownForm(loop))
    step.loop = compileLoop(loop);
  if (branch)
    step.condition = slotOf(branch.getCondition());
  for (Region &region : op.getRegions()) {
    step.regions.push_back(region.empty() ? Code() : compile(region.front()));
    step.yields.emplace_back();
    if (branch && !region.empty())
      step.yields.back() =
          handing(region.front().getTerminator()->getOperands(), branch.getResults());
  }
}

/// Returns whether the op's result is the same for all that a warp runs, and sets it.
bool Compiler::isKnownBefore(Operation &op) {
  Value result = op.getResult(0);
  auto is = [&](int64_t number) {
    program.constants[slotOf(result)] = LaneIntegers(number);
    return true;
  };
  if (auto id = dyn_cast<gpu::ThreadIdOp>(op))
    program.threadIds.push_back({id.getDimension(), slotOf(result)});
  else if (auto id = dyn_cast<gpu::BlockIdOp>(op))
    program.blockIds.push_back({id.getDimension(), slotOf(result)});
  else if (isa<NVVM::ClusterId>(op))
    program.clusterRanks.push_back(slotOf(result));
  else if (auto size = dyn_cast<gpu::BlockDimOp>(op))
    return is(along(size.getDimension(), block));
  else if (auto size = dyn_cast<gpu::GridDimOp>(op))
    return is(along(size.getDimension(), grid));
  else if (auto cast = dyn_cast<memref::CastOp>(op)) {
    // A buffer that a branch chooses is known by its argument's number.
    if (std::optional<unsigned> argument = kernelArgumentOf(kernel, cast.getSource()))
      is(*argument);
  } else if (auto pointer = dyn_cast<memref::ExtractAlignedPointerAsIndexOp>(op)) {
    // Memory begins at multiples of all numbers that matter; a part of it does not.
    auto view = pointer.getSource().getDefiningOp<memref::ViewOp>();
    if (scope)
      return true;
    if (!view)
      return is(0);
    program.slots[result] = slotOf(view.getByteShift());
  } else
    return false;
  return true;
}

std::optional<Step> Compiler::compile(Operation &op) {
  Step step;
  step.op = &op;
  step.isVisited = !scope || scope->ops.contains(&op);
  if (op.getNumRegions() > 0) {
    compileRegions(op, step);
    return step;
  }
  if (op.getNumResults() == 1 && isFollowed(op.getResult(0)) && !isKnownBefore(op))
    if (std::optional<LaneOp> compute = LaneOp::of(op)) {
      step.result = slotOf(op.getResult(0));
      if (op.getNumOperands() == 0)
        program.constants[step.result] = compute->apply({}, ~Lanes(0));
      else
        step.compute = compute;
      for (Value operand : op.getOperands())
        step.operands.push_back(slotOf(operand));
    }
  return step.isVisited || step.compute ? std::optional(std::move(step)) : std::nullopt;
}

Code Compiler::compile(Block &block) {
  Code code;
  for (Operation &op : block.without_terminator()) {
    ++code.ops;
    if (std::optional<Step> step = compile(op))
      code.steps.push_back(std::move(*step));
  }
  return code;
}

/// Returns how many of a loop's last iterations may copy nothing more for later ones: copies of
/// tensor maps are up to six steps ahead.
static int64_t lastIterationsOf(gpu::GPUFuncOp kernel) {
  auto isCopy = [](NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp) {
    return WalkResult::interrupt();
  };
  return kernel.walk(isCopy).wasInterrupted() ? 6 : 2;
}

WarpProgram Compiler::compile() {
  program.clusterBlocks = clusterBlocksOf(kernel);
  if (scope)
    findFollowed();
  else {
    program.lastIterations = lastIterationsOf(kernel);
    for (BlockArgument place : kernel.getArguments())
      if (place.getType().isIndex())
        program.constants[slotOf(place)] = LaneIntegers(0);
  }
  program.code = compile(kernel.getBody().front());
  return std::move(program);
}

WarpProgram WarpProgram::compile(gpu::GPUFuncOp kernel, Triple grid, Triple block,
                                 const std::optional<Scope> &scope) {
  return Compiler(kernel, grid, block, scope).compile();
}
