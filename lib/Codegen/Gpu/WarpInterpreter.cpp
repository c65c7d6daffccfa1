//===- WarpInterpreter.cpp - The integers of a kernel, for a warp at once --===//

#include "WarpInterpreter.h"
#include "llmmem/Codegen/Gpu/KernelTraffic.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace llmmem;
using Numbers = WarpInterpreter::Numbers;
using Known = WarpInterpreter::Known;

static int64_t along(gpu::Dimension dimension, const WarpInterpreter::Triple &triple) {
  return triple[static_cast<unsigned>(dimension)];
}

static Numbers splat(int64_t number) {
  Numbers numbers;
  numbers.fill(number);
  return numbers;
}

static bool isUniform(const Numbers &numbers) { return llvm::all_equal(numbers); }

static bool contains(WarpInterpreter::Lanes lanes, int64_t lane) { return lanes >> lane & 1; }

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// The result of an op in one lane, by the ranges that the op infers from constant operands.
static std::optional<int64_t> inferInLane(InferIntRangeInterface op, ArrayRef<Numbers> operands,
                                          int64_t lane) {
  SmallVector<ConstantIntRanges, 3> ranges;
  for (auto [value, numbers] : llvm::zip_equal(op->getOperands(), operands)) {
    unsigned width = ConstantIntRanges::getStorageBitwidth(value.getType());
    ranges.push_back(ConstantIntRanges::constant(
        APInt(width, numbers[lane], /*isSigned=*/true, /*implicitTrunc=*/true)));
  }
  std::optional<int64_t> result;
  op.inferResultRanges(ranges, [&](Value value, const ConstantIntRanges &range) {
    if (std::optional<APInt> number = range.getConstantValue())
      result = value.getType().isInteger(1) ? number->getZExtValue() : number->getSExtValue();
  });
  return result;
}

Known WarpInterpreter::inferFrom(InferIntRangeInterface op) const {
  std::vector<Numbers> operands;
  for (Value value : op->getOperands()) {
    Known numbers = lookup(value);
    if (!numbers)
      return std::nullopt;
    operands.push_back(*numbers);
  }
  bool areUniform = llvm::all_of(operands, isUniform);
  Numbers result = {};
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    if (!areUniform && !contains(lanes, lane))
      continue;
    std::optional<int64_t> number = inferInLane(op, operands, lane);
    if (!number)
      return std::nullopt;
    if (areUniform)
      return splat(*number);
    result[lane] = *number;
  }
  return result;
}

Known WarpInterpreter::evaluate(Operation &op) const {
  return llvm::TypeSwitch<Operation *, Known>(&op)
      .Case([&](gpu::ThreadIdOp id) -> Known {
        Numbers numbers;
        for (int64_t lane = 0; lane < kLanes; ++lane) {
          int64_t thread = firstThread + lane;
          Triple place = {thread % block[0], thread / block[0] % block[1],
                          thread / block[0] / block[1]};
          numbers[lane] = along(id.getDimension(), place);
        }
        return numbers;
      })
      .Case([&](gpu::BlockIdOp id) -> Known { return splat(along(id.getDimension(), blockId)); })
      .Case([&](gpu::BlockDimOp size) -> Known { return splat(along(size.getDimension(), block)); })
      .Case([&](gpu::GridDimOp size) -> Known { return splat(along(size.getDimension(), grid)); })
      .Case([&](memref::ExtractAlignedPointerAsIndexOp pointer) -> Known {
        // Memory begins at multiples of all that matters; a part of it does not.
        auto view = pointer.getSource().getDefiningOp<memref::ViewOp>();
        return view ? lookup(view.getByteShift()) : splat(0);
      })
      .Case([&](InferIntRangeInterface inferable) { return inferFrom(inferable); })
      .Default([](Operation *) { return std::nullopt; });
}

Known WarpInterpreter::lookup(ArrayRef<OpFoldResult> bound) const {
  if (std::optional<int64_t> constant = getConstantIntValue(bound.front()))
    return splat(*constant);
  auto value = dyn_cast<Value>(bound.front());
  return value ? lookup(value) : std::nullopt;
}

void WarpInterpreter::assign(Value value, Known number) {
  Known &place = values[value];
  if (!number || !place)
    place = number;
  else
    for (int64_t lane = 0; lane < kLanes; ++lane)
      if (contains(lanes, lane))
        (*place)[lane] = (*number)[lane];
}

void WarpInterpreter::hand(ValueRange from, ValueRange to) {
  std::vector<Known> numbers;
  for (Value value : from)
    numbers.push_back(lookup(value));
  for (auto [value, number] : llvm::zip(to, numbers))
    assign(value, number);
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

static bool carriesIntegers(LoopLikeOpInterface loop) {
  return llvm::any_of(loop.getRegionIterArgs(),
                      [](Value value) { return value.getType().isIntOrIndex(); });
}

/// (iteration, how many it stands for): all of a short loop, or of one whose integers depend on the
/// iterations before; else the first one, one for those between, and the `last` ones.
static SmallVector<std::pair<int64_t, double>> chosenIterations(LoopLikeOpInterface loop,
                                                                int64_t count, int64_t last) {
  SmallVector<std::pair<int64_t, double>> chosen;
  bool areAll = count <= last + 2 || carriesIntegers(loop);
  if (!areAll)
    chosen = {{0, 1}, {1, static_cast<double>(count - 1 - last)}};
  for (int64_t iteration = areAll ? 0 : count - last; iteration < count; ++iteration)
    chosen.push_back({iteration, 1});
  return chosen;
}

/// So many of a loop's last iterations may copy nothing more for those behind them: copies of
/// tensor maps are up to six steps ahead.
static int64_t lastIterationsOf(gpu::GPUFuncOp kernel) {
  auto isCopy = [](NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp) {
    return WalkResult::interrupt();
  };
  return kernel.walk(isCopy).wasInterrupted() ? 6 : 2;
}

void WarpInterpreter::runIterations(LoopLikeOpInterface loop, const Numbers &lower,
                                    const Numbers &upper, int64_t step) {
  Numbers counts = {};
  int64_t most = 0;
  for (int64_t lane = 0; lane < kLanes; ++lane)
    if (contains(lanes, lane)) {
      counts[lane] = std::max<int64_t>(0, llvm::divideCeilSigned(upper[lane] - lower[lane], step));
      most = std::max(most, counts[lane]);
    }
  llvm::SaveAndRestore outside(lanes);
  for (auto [iteration, times] : chosenIterations(loop, most, lastIterations)) {
    Numbers number = {};
    lanes = 0;
    for (int64_t lane = 0; lane < kLanes; ++lane)
      if (contains(outside.get(), lane) && iteration < counts[lane]) {
        lanes |= Lanes(1) << lane;
        number[lane] = lower[lane] + iteration * step;
      }
    values[*loop.getSingleInductionVar()] = number;
    llvm::SaveAndRestore inside(weight, weight * times);
    run(loop.getLoopRegions().front()->front());
    hand(loop.getYieldedValues(), loop.getRegionIterArgs());
  }
}

void WarpInterpreter::runUnknownLoop(LoopLikeOpInterface loop) {
  isEstimate = true;
  double expected = expectedIterations(loop);
  if (expected == 0)
    return;
  llvm::SaveAndRestore inside(weight, weight * expected);
  for (Value value : loop.getRegionIterArgs())
    values[value] = std::nullopt;
  if (std::optional<Value> number = loop.getSingleInductionVar())
    values[*number] = std::nullopt;
  for (Region *region : loop.getLoopRegions())
    run(region->front());
  for (Value value : loop->getResults())
    values[value] = std::nullopt;
}

void WarpInterpreter::runLoop(LoopLikeOpInterface loop) {
  if (!loop.getSingleInductionVar() || !loop.getLoopLowerBounds() || !loop.getLoopUpperBounds() ||
      !loop.getLoopSteps())
    return runUnknownLoop(loop);
  Known lower = lookup(*loop.getLoopLowerBounds()), upper = lookup(*loop.getLoopUpperBounds()),
        step = lookup(*loop.getLoopSteps());
  if (!lower || !upper || !step || !isUniform(*step) || (*step)[0] <= 0)
    return runUnknownLoop(loop);
  hand(loop.getInits(), loop.getRegionIterArgs());
  runIterations(loop, *lower, *upper, (*step)[0]);
  hand(loop.getRegionIterArgs(), *loop.getLoopResults());
}

void WarpInterpreter::runUnknownIf(scf::IfOp branch) {
  isEstimate = true;
  double expected = expectedIterations(branch);
  llvm::SaveAndRestore inside(weight, weight * expected);
  if (expected > 0)
    for (Region &region : branch->getRegions())
      if (!region.empty())
        run(region.front());
  for (Value value : branch.getResults())
    values[value] = std::nullopt;
}

void WarpInterpreter::runIf(scf::IfOp branch) {
  Known condition = lookup(branch.getCondition());
  if (!condition)
    return runUnknownIf(branch);
  llvm::SaveAndRestore outside(lanes);
  for (Region &region : branch->getRegions()) {
    bool isThen = region.getRegionNumber() == 0;
    lanes = 0;
    for (int64_t lane = 0; lane < kLanes; ++lane)
      if (contains(outside.get(), lane) && ((*condition)[lane] != 0) == isThen)
        lanes |= Lanes(1) << lane;
    if (region.empty() || lanes == 0)
      continue;
    run(region.front());
    hand(region.front().getTerminator()->getOperands(), branch.getResults());
  }
}

void WarpInterpreter::run(Operation &op) {
  visit(op, *this);
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op))
    return runLoop(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return runIf(branch);
  for (Region &region : op.getRegions()) {
    isEstimate = true;
    run(region.front());
  }
  if (op.getNumRegions() == 0 && op.getNumResults() == 1 &&
      op.getResult(0).getType().isIntOrIndex())
    values[op.getResult(0)] = evaluate(op);
}

void WarpInterpreter::run(Block &code) {
  for (Operation &op : code.without_terminator())
    run(op);
}

void WarpInterpreter::run(gpu::GPUFuncOp kernel, Triple id, int64_t warp) {
  blockId = id;
  lastIterations = lastIterationsOf(kernel);
  firstThread = warp * kLanes;
  int64_t threads = std::min<int64_t>(kLanes, block[0] * block[1] * block[2] - firstThread);
  lanes = threads == kLanes ? ~Lanes(0) : (Lanes(1) << threads) - 1;
  weight = 1;
  values.clear();
  for (BlockArgument place : kernel.getArguments())
    if (place.getType().isIndex())
      values[place] = Numbers{};
  run(kernel.getBody().front());
}
