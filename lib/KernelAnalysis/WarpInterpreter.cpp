//===- WarpInterpreter.cpp - The integers of a kernel, for a warp at once --===//

#include "WarpInterpreter.h"
#include "llmmem/Codegen/Emitter/Expectations.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace llmmem;

WarpInterpreter::WarpInterpreter(gpu::GPUFuncOp kernel, Triple grid, Triple block, Visit visit,
                                 const std::optional<Scope> &scope)
    : program(WarpProgram::compile(kernel, grid, block, scope)), block(block),
      visit(std::move(visit)) {}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

const LaneIntegers &WarpInterpreter::integers(Value value) const {
  static const LaneIntegers unknown;
  auto place = program.slots.find(value);
  return place == program.slots.end() ? unknown : values[place->second];
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

LaneIntegers WarpInterpreter::at(const WarpProgram::Bound &bound) const {
  return bound.constant ? LaneIntegers(*bound.constant) : values[bound.slot];
}

void WarpInterpreter::hand(const WarpProgram::Handing &handing) {
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
  int64_t last = program.lastIterations.value_or(count);
  bool areAll = count <= last + 2 || carriesIntegers(loop);
  if (!areAll)
    chosen = {{0, 1}, {1, static_cast<double>(count - 1 - last)}};
  for (int64_t iteration = areAll ? 0 : count - last; iteration < count; ++iteration)
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
    for (WarpProgram::Slot slot : step.operands)
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
  values = program.constants;
  for (auto [dimension, slot] : program.blockIds)
    values[slot] = LaneIntegers(along(dimension, blockId));
  for (WarpProgram::Slot slot : program.clusterRanks)
    values[slot] = LaneIntegers(blockId[0] % program.clusterBlocks);
  for (auto [dimension, slot] : program.threadIds)
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      int64_t thread = first + lane;
      values[slot].set(lane, along(dimension, {thread % block[0], thread / block[0] % block[1],
                                               thread / block[0] / block[1]}));
    }
  run(program.code);
}
