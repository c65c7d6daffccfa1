//===- WarpInterpreter.cpp - The integers of a kernel, for a warp at once --===//

#include "WarpInterpreter.h"
#include "llmmem/Codegen/Emitter/Expectations.h"
#include "llmmem/Codegen/Gpu/Cluster.h"
#include "llmmem/Codegen/Gpu/KernelAccess.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace llmmem;

static int64_t along(gpu::Dimension dimension, const WarpInterpreter::Triple &triple) {
  return triple[static_cast<unsigned>(dimension)];
}

bool llmmem::hasKnownForm(LoopLikeOpInterface loop) {
  return loop.getSingleInductionVar() && loop.getLoopLowerBounds() && loop.getLoopUpperBounds() &&
         loop.getLoopSteps();
}

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

void WarpInterpreter::findFollowed() {
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

bool WarpInterpreter::isFollowed(Value value) const {
  return scope ? followed.contains(value) : value.getType().isIntOrIndex();
}

WarpInterpreter::Slot WarpInterpreter::slotOf(Value value) {
  auto [place, isNew] = slots.try_emplace(value, static_cast<Slot>(constants.size()));
  if (isNew)
    constants.emplace_back();
  return place->second;
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

WarpInterpreter::Handing WarpInterpreter::handing(ValueRange from, ValueRange to) {
  Handing handing;
  for (auto [source, target] : llvm::zip(from, to))
    if (isFollowed(target))
      handing.push_back({slotOf(source), slotOf(target)});
  return handing;
}

WarpInterpreter::Bound WarpInterpreter::boundOf(ArrayRef<OpFoldResult> bounds) {
  if (std::optional<int64_t> constant = getConstantIntValue(bounds.front()))
    return {constant};
  return {std::nullopt, slotOf(cast<Value>(bounds.front()))};
}

WarpInterpreter::Loop WarpInterpreter::compileLoop(LoopLikeOpInterface loop) {
  return {.op = loop,
          .lower = boundOf(*loop.getLoopLowerBounds()),
          .upper = boundOf(*loop.getLoopUpperBounds()),
          .step = boundOf(*loop.getLoopSteps()),
          .number = slotOf(*loop.getSingleInductionVar()),
          .begin = handing(loop.getInits(), loop.getRegionIterArgs()),
          .next = handing(loop.getYieldedValues(), loop.getRegionIterArgs()),
          .end = handing(loop.getRegionIterArgs(), *loop.getLoopResults())};
}

void WarpInterpreter::compileRegions(Operation &op, Step &step) {
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
bool WarpInterpreter::isKnownBefore(Operation &op) {
  Value result = op.getResult(0);
  auto is = [&](int64_t number) {
    constants[slotOf(result)] = LaneIntegers(number);
    return true;
  };
  if (auto id = dyn_cast<gpu::ThreadIdOp>(op))
    threadIds.push_back({id.getDimension(), slotOf(result)});
  else if (auto id = dyn_cast<gpu::BlockIdOp>(op))
    blockIds.push_back({id.getDimension(), slotOf(result)});
  else if (isa<NVVM::ClusterId>(op))
    clusterRanks.push_back(slotOf(result));
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
    slots[result] = slotOf(view.getByteShift());
  } else
    return false;
  return true;
}

std::optional<WarpInterpreter::Step> WarpInterpreter::compile(Operation &op) {
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
        constants[step.result] = compute->apply({}, ~Lanes(0));
      else
        step.compute = compute;
      for (Value operand : op.getOperands())
        step.operands.push_back(slotOf(operand));
    }
  return step.isVisited || step.compute ? std::optional(std::move(step)) : std::nullopt;
}

WarpInterpreter::Code WarpInterpreter::compile(Block &block) {
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

WarpInterpreter::WarpInterpreter(gpu::GPUFuncOp kernel, Triple grid, Triple block, Visit visit,
                                 std::optional<Scope> scope)
    : kernel(kernel), grid(grid), block(block), visit(std::move(visit)), scope(std::move(scope)),
      lastIterations(lastIterationsOf(kernel)), clusterBlocks(clusterBlocksOf(kernel)) {
  if (this->scope)
    findFollowed();
  else
    for (BlockArgument place : kernel.getArguments())
      if (place.getType().isIndex())
        constants[slotOf(place)] = LaneIntegers(0);
  code = compile(kernel.getBody().front());
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

const LaneIntegers &WarpInterpreter::integers(Value value) const {
  static const LaneIntegers unknown;
  auto place = slots.find(value);
  return place == slots.end() ? unknown : values[place->second];
}

WarpInterpreter::Known WarpInterpreter::lookup(Value value) const {
  const LaneIntegers &all = integers(value);
  if ((all.known() & lanes) != lanes)
    return std::nullopt;
  Numbers numbers;
  for (int64_t lane = 0; lane < kLanes; ++lane)
    numbers[lane] = all[contains(lanes, lane) ? lane : llvm::countr_zero(lanes)];
  return numbers;
}

LaneIntegers WarpInterpreter::at(const Bound &bound) const {
  return bound.constant ? LaneIntegers(*bound.constant) : values[bound.slot];
}

void WarpInterpreter::hand(const Handing &handing) {
  SmallVector<LaneIntegers, 2> numbers;
  for (auto [from, to] : handing)
    numbers.push_back(values[from]);
  for (auto [number, places] : llvm::zip_equal(numbers, handing))
    values[places.second].assign(number, lanes == lanesOfWarp ? ~Lanes(0) : lanes);
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

static bool carriesIntegers(LoopLikeOpInterface loop) {
  return llvm::any_of(loop.getRegionIterArgs(),
                      [](Value value) { return value.getType().isIntOrIndex(); });
}

/// Returns (iteration, how many it represents): all of a short loop, or of one whose integers
/// depend on earlier iterations; otherwise the first one, one for those between, and the last ones.
SmallVector<std::pair<int64_t, double>> WarpInterpreter::chosenIterations(LoopLikeOpInterface loop,
                                                                          int64_t count) const {
  SmallVector<std::pair<int64_t, double>> chosen;
  bool areAll = scope || count <= lastIterations + 2 || carriesIntegers(loop);
  if (!areAll)
    chosen = {{0, 1}, {1, static_cast<double>(count - 1 - lastIterations)}};
  for (int64_t iteration = areAll ? 0 : count - lastIterations; iteration < count; ++iteration)
    chosen.push_back({iteration, 1});
  return chosen;
}

void WarpInterpreter::runIterations(const Step &step, const LaneIntegers &lower,
                                    const LaneIntegers &upper, const LaneIntegers &stride) {
  auto countIn = [&](int64_t lane) {
    return std::max<int64_t>(0, llvm::divideCeilSigned(upper[lane] - lower[lane], stride[lane]));
  };
  bool isUniform = lower.isUniform() && upper.isUniform() && stride.isUniform();
  Numbers counts = {};
  for (int64_t lane = 0; lane < (isUniform ? 1 : kLanes); ++lane)
    if (isUniform || contains(lanes, lane))
      counts[lane] = countIn(lane);
  llvm::SaveAndRestore outside(lanes);
  for (auto [iteration, times] : chosenIterations(step.loop->op, *llvm::max_element(counts))) {
    LaneIntegers number;
    if (isUniform)
      number = LaneIntegers(lower[0] + iteration * stride[0]);
    else {
      lanes = 0;
      for (int64_t lane = 0; lane < kLanes; ++lane)
        if (contains(outside.get(), lane) && iteration < counts[lane]) {
          lanes |= Lanes(1) << lane;
          number.set(lane, lower[lane] + iteration * stride[lane]);
        }
    }
    values[step.loop->number] = number;
    llvm::SaveAndRestore inside(weight, weight * times);
    run(step.regions.front());
    hand(step.loop->next);
  }
}

/// One iteration represents all of a loop whose bounds data decides.
void WarpInterpreter::runOnce(const Step &step) {
  isEstimate = true;
  double expected = expectedIterations(step.op);
  if (expected == 0)
    return;
  llvm::SaveAndRestore inside(weight, weight * expected);
  values[step.loop->number] = LaneIntegers();
  run(step.regions.front());
  hand(step.loop->next);
}

void WarpInterpreter::runLoop(const Step &step) {
  LaneIntegers lower = at(step.loop->lower), upper = at(step.loop->upper),
               stride = at(step.loop->step);
  Lanes known = lower.known() & upper.known() & stride.known();
  for (int64_t lane = 0; lane < kLanes; ++lane)
    if (contains(known, lane) && stride[lane] <= 0)
      known &= ~(Lanes(1) << lane);
  hand(step.loop->begin);
  llvm::SaveAndRestore outside(lanes);
  if ((lanes = outside.get() & known))
    runIterations(step, lower, upper, stride);
  if ((lanes = outside.get() & ~known))
    runOnce(step);
  lanes = outside.get();
  hand(step.loop->end);
}

/// Runs a loop that data ends, or a branch that it chooses.
void WarpInterpreter::runUnknownRegions(const Step &step) {
  isEstimate = true;
  double expected = expectedIterations(step.op);
  llvm::SaveAndRestore inside(weight, weight * expected);
  if (expected > 0)
    for (const Code &region : step.regions)
      run(region);
}

void WarpInterpreter::runUnknownIf(const Step &step) {
  runUnknownRegions(step);
  for (auto [from, to] : step.yields.front())
    values[to].assign(LaneIntegers(), lanes);
}

void WarpInterpreter::runIf(const Step &step) {
  LaneIntegers condition = values[*step.condition];
  llvm::SaveAndRestore outside(lanes);
  for (auto [number, region] : llvm::enumerate(step.regions)) {
    lanes = 0;
    for (int64_t lane = 0; lane < kLanes; ++lane)
      if (contains(outside.get() & condition.known(), lane) &&
          (condition[lane] != 0) == (number == 0))
        lanes |= Lanes(1) << lane;
    if (lanes == 0)
      continue;
    run(region);
    hand(step.yields[number]);
  }
  if ((lanes = outside.get() & ~condition.known()))
    runUnknownIf(step);
}

void WarpInterpreter::run(const Step &step) {
  if (step.isVisited)
    visit(*step.op, *this);
  if (step.compute) {
    SmallVector<const LaneIntegers *, 3> operands;
    for (Slot slot : step.operands)
      operands.push_back(&values[slot]);
    values[step.result] = step.compute->apply(operands, lanes);
  } else if (step.loop)
    runLoop(step);
  else if (step.condition)
    runIf(step);
  else if (!step.regions.empty())
    runUnknownRegions(step);
}

void WarpInterpreter::run(const Code &code) {
  ops += code.ops * llvm::popcount(lanes);
  for (const Step &step : code.steps)
    run(step);
}

void WarpInterpreter::run(Triple blockId, int64_t warp) {
  int64_t first = warp * kLanes,
          threads = std::min<int64_t>(kLanes, block[0] * block[1] * block[2] - first);
  lanes = lanesOfWarp = threads == kLanes ? ~Lanes(0) : (Lanes(1) << threads) - 1;
  weight = 1;
  values = constants;
  for (auto [dimension, slot] : blockIds)
    values[slot] = LaneIntegers(along(dimension, blockId));
  for (Slot slot : clusterRanks)
    values[slot] = LaneIntegers(blockId[0] % clusterBlocks);
  for (auto [dimension, slot] : threadIds)
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      int64_t thread = first + lane;
      values[slot].set(lane, along(dimension, {thread % block[0], thread / block[0] % block[1],
                                               thread / block[0] / block[1]}));
    }
  run(code);
}
