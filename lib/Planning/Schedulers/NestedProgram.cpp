//===- NestedProgram.cpp - Recomputation within recomputation ------------------===//

#include "NestedProgram.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include <algorithm>
#include <numeric>

using namespace llmmem::planning;

NestedStages::NestedStages(const Graph &graph, const Chain &chain, const ChainOptions &options,
                           int64_t capacity, int32_t numLevels)
    : graph(graph), chain(chain), options(options), stages(chain.numStages),
      shared(graph.numValues(), false), costBefore(chain.numStages + 1, 0), levels(numLevels) {
  findInputs();
  addForwardCosts();
  base = INT64_MAX;
  for (const std::vector<StageOption> &choice : options.options)
    for (const StageOption &option : choice)
      if (option.backwardPeak > 0) // a stage without a backward has no peaks of its own
        base = std::min({base, option.forwardPeak, option.backwardPeak});
  base = std::min(base, capacity);
  chooseStep(capacity - base);
  roundGradients();
  for (int32_t stage = 0; stage < size(); ++stage)
    findLeaves(stage);
}

/// Chooses the step of the table. Rounding errors add up over the inputs of all stages. So the step
/// divides all sizes where that gives few levels; else it is the median size of a stage's input.
void NestedStages::chooseStep(int64_t range) {
  // The number of rows grows with the stages, and each row tries every split.
  constexpr int64_t work = 300000000;
  const int64_t mostLevels =
      std::clamp<int64_t>(work / (int64_t(size()) * size() + 1), std::min(levels, 160), 1500);
  int64_t divisor = 0;
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    divisor = std::gcd(divisor, graph.bytes(value));
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    divisor = std::gcd(divisor, graph.workspace(op));
  if (divisor > 0 && range / divisor < mostLevels) {
    step = divisor; // no rounding at all
    levels = static_cast<int32_t>(range / step + 1);
    return;
  }
  std::vector<int64_t> sizes;
  for (const NestedStage &stage : stages) {
    int64_t bytes = 0;
    for (ValueIndex value : stage.inputs)
      bytes += graph.bytes(value);
    if (bytes > 0)
      sizes.push_back(bytes);
  }
  step = std::max<int64_t>(1, range / std::max(levels - 1, 1));
  if (!sizes.empty()) {
    std::nth_element(sizes.begin(), sizes.begin() + sizes.size() / 2, sizes.end());
    int64_t input = sizes[sizes.size() / 2];
    int64_t divided = input / std::max<int64_t>(1, (input + step / 2) / step);
    if (divided > 0 && range / divided < mostLevels)
      step = divided;
  }
  step = std::max(step, range / mostLevels);
  levels = static_cast<int32_t>(std::min<int64_t>(range / step + 1, mostLevels));
}

void NestedStages::findInputs() {
  constexpr int32_t farthest = 2; // a value read farther from its writer is shared by the chain
  for (ValueIndex value = 0; value < graph.numValues(); ++value) {
    OpIndex writer = graph.writer(value);
    if (writer < 0 || chain.stageOf[writer] < 0)
      continue;
    int32_t from = chain.stageOf[writer], to = from;
    if (options.subject[value])
      stages[from].written.push_back(value);
    for (OpIndex reader : graph.readers(value))
      to = std::max(to, chain.stageOf[reader]);
    shared[value] = to - from > farthest;
    for (int32_t stage = from + 1; stage <= to && !shared[value]; ++stage)
      stages[stage].inputs.push_back(value);
  }
}

/// A forward that saves nothing runs only the ops that the next stage's input needs.
void NestedStages::addForwardCosts() {
  for (int32_t stage = 0; stage < size(); ++stage) {
    int64_t cost = 0;
    std::vector<OpIndex> worklist;
    llvm::SmallDenseSet<OpIndex, 64> seen;
    auto want = [&](ValueIndex value) {
      OpIndex writer = graph.writer(value);
      if (writer < 0 || chain.stageOf[writer] != stage || !seen.insert(writer).second)
        return;
      worklist.push_back(writer);
      cost += graph.op(writer).cost;
    };
    if (stage + 1 < size())
      llvm::for_each(stages[stage + 1].inputs, want);
    while (!worklist.empty()) {
      OpIndex op = worklist.back();
      worklist.pop_back();
      llvm::for_each(graph.op(op).reads, want);
    }
    costBefore[stage + 1] = costBefore[stage] + cost;
  }
}

int32_t NestedStages::rounded(int64_t bytes) const {
  constexpr int64_t never = 1 << 30; // more levels than any table has
  return static_cast<int32_t>(std::clamp((bytes + step / 2) / step, -never, never));
}

/// Rounds the gradients that are live between segments: those written in an earlier segment of the
/// backward and read in a later one.
void NestedStages::roundGradients() {
  std::vector<int64_t> change(chain.numSegments() + 1, 0);
  std::vector<int32_t> segmentOfOp(graph.numOps(), 0);
  for (size_t index = 0; index < chain.order.size(); ++index)
    segmentOfOp[chain.order[index]] = chain.segmentOf[index];
  for (ValueIndex value = 0; value < graph.numValues(); ++value) {
    OpIndex writer = graph.writer(value);
    if (writer < 0 || chain.stageOf[writer] >= 0)
      continue;
    int32_t last = segmentOfOp[writer];
    for (OpIndex reader : graph.readers(value))
      last = std::max(last, segmentOfOp[reader]);
    change[segmentOfOp[writer] + 1] += graph.bytes(value);
    change[last + 1] -= graph.bytes(value);
  }
  for (size_t segment = 1; segment < change.size(); ++segment)
    change[segment] += change[segment - 1];
  for (int32_t stage = 0; stage < size(); ++stage)
    stages[stage].gradients = rounded(change[chain.backwardSegment(stage)]);
}

/// Returns the bytes of the stage's input that the backward does not read, so that they are not
/// held over the cut: the peaks count them, and so does the recursion.
int64_t NestedStages::passingBytes(int32_t stage) const {
  int64_t passing = 0;
  for (ValueIndex value : stages[stage].inputs)
    if (llvm::all_of(graph.readers(value), [&](OpIndex op) { return chain.stageOf[op] >= 0; }))
      passing += graph.bytes(value);
  return passing;
}

/// Returns the bytes of the stage's input that its results may take in place, where the input dies
/// there.
int64_t NestedStages::bytesTakenInPlace(int32_t stage) const {
  int64_t taken = 0;
  for (ValueIndex value : stages[stage].inputs)
    for (OpIndex reader : graph.readers(value))
      for (InPlace pair : graph.op(reader).inPlace)
        if (pair.read == value && chain.stageOf[reader] == stage)
          taken += std::min(graph.bytes(pair.write), graph.bytes(value));
  return taken;
}

/// Says whether the choice holds the next stage's input, as the recursion relies on that being
/// live.
bool NestedStages::holdsNextInput(int32_t stage, int32_t choice) const {
  return stage + 1 == size() || llvm::all_of(stages[stage + 1].inputs, [&](ValueIndex value) {
           return chain.stageOf[graph.writer(value)] != stage || !options.subject[value] ||
                  options.held[choice][value];
         });
}

NestedStage::Leaf NestedStages::leafOf(int32_t stage, int32_t choice, int64_t passing) const {
  const StageOption &option = options.options[choice][stage];
  int64_t peak = std::max(option.forwardPeak - passing, option.backwardPeak) - base;
  return {choice, rounded(option.held),
          rounded(std::max<int64_t>(option.forwardPeak - passing - base, 0)),
          rounded(std::max<int64_t>(peak, 0)), option.cost};
}

void NestedStages::findLeaves(int32_t number) {
  NestedStage &stage = stages[number];
  int64_t bytes = 0;
  const int64_t passing = passingBytes(number);
  for (ValueIndex value : stage.inputs)
    bytes += graph.bytes(value);
  stage.inputSize = rounded(bytes);
  stage.passingSize = rounded(std::max<int64_t>(bytes - bytesTakenInPlace(number), 0));
  const StageOption &alone = options.options.back()[number];
  stage.forwardPeak = rounded(std::max<int64_t>(alone.forwardPeak - passing - base, 0));
  stage.leastMemoryLeaves = {options.numChoices() - 1, 0, 0,
                             rounded(std::max<int64_t>(alone.backwardPeak - base, 0)), alone.cost};
  for (int32_t choice : options.useful[number]) {
    if (!holdsNextInput(number, choice))
      continue;
    const NestedStage::Leaf leaf = leafOf(number, choice, passing);
    if (llvm::none_of(stage.leaves, [&](const NestedStage::Leaf &other) {
          return other.held <= leaf.held && other.forward <= leaf.forward &&
                 other.peak <= leaf.peak && other.cost <= leaf.cost;
        }))
      stage.leaves.push_back(leaf);
  }
}

bool NestedStages::areEqual(int32_t a, int32_t b) const {
  const NestedStage &one = stages[a], &other = stages[b];
  return one.leaves == other.leaves && one.leastMemoryLeaves == other.leastMemoryLeaves &&
         one.forwardPeak == other.forwardPeak && one.gradients == other.gradients &&
         one.passingSize == other.passingSize && one.inputSize == other.inputSize &&
         forwardCost(a, a + 1) == forwardCost(b, b + 1);
}

NestedProgram::NestedProgram(const Graph &graph, const Chain &chain, const ChainOptions &options,
                             int64_t capacity, int32_t numLevels)
    : graph(graph), chain(chain), options(options),
      stages(graph, chain, options, capacity, numLevels), levels(stages.numLevels()) {
  findRows();
  tabulate();
}

void NestedProgram::findRows() {
  const int32_t count = stages.size();
  // endOfRun[p] is the last stage of the run of equal stages that contains p.
  std::vector<int32_t> endOfRun(count), kind(count, 0);
  for (int32_t stage = count - 1; stage >= 0; --stage) {
    bool continues = stage + 1 < count && stages.areEqual(stage, stage + 1);
    endOfRun[stage] = continues ? endOfRun[stage + 1] : stage;
    kind[stage] = endOfRun[stage];
  }
  numRows = size_t(count);
  rowOf.assign(size_t(count) * count, 0);
  llvm::DenseMap<std::pair<int32_t, int32_t>, size_t> shared; // (run, length)
  for (int32_t from = 0; from < count; ++from)
    for (int32_t to = from; to < count; ++to) {
      bool isInRun = to <= endOfRun[from];
      auto [it, isNew] = shared.try_emplace(
          isInRun ? std::pair(kind[from], to - from) : std::pair(-1 - from, to), numRows);
      numRows += isNew;
      rowOf[size_t(from) * count + to] = static_cast<int32_t>(it->second);
    }
}

/// Returns the least level at which the sub-chain may begin with an option of its first stage. The
/// later stages are solved.
int64_t NestedProgram::leastOf(const Leaf &leaf, int32_t repeats, int32_t from, int32_t to) const {
  if (repeats && from == to) // all is recomputed just in time, whatever an option would hold
    return leaf.peak;
  int64_t least = leaf.peak;
  if (repeats)
    least = std::max(least, int64_t(leaf.forward) + stages[to].gradients);
  if (from < to)
    least = std::max(least, int64_t(leaf.held) + leastLevel[row(repeats, from + 1, to)]);
  return least;
}

/// Calls `visit` with each split of a sub-chain and the least level at which it has a plan.
template <typename Visit>
void NestedProgram::forEachSplit(int32_t repeats, int32_t from, int32_t to, Visit visit) const {
  int64_t lowest = 0;
  for (int32_t split = from + 1; split <= to; ++split) {
    // The forward up to the split runs the stage before it. That stage's input and results are live
    // then, as is the gradient of the end of the sub-chain.
    const int32_t passed = split - 1;
    if (repeats)
      lowest = std::max(lowest, int64_t(stages[passed].forwardPeak) + stages[to].gradients +
                                    (passed > from ? stages[passed].passingSize : 0));
    if (lowest >= levels)
      return;
    visit(split,
          std::max({lowest, int64_t(stages[split].inputSize) + leastLevel[row(repeats, split, to)],
                    int64_t(leastLevel[row(1, from, passed)])}));
  }
}

llvm::ArrayRef<NestedProgram::Leaf> NestedProgram::leavesOf(int32_t repeats, int32_t from,
                                                            int32_t to) const {
  return repeats && from == to ? llvm::ArrayRef<Leaf>(stages[from].leastMemoryLeaves)
                               : llvm::ArrayRef<Leaf>(stages[from].leaves);
}

/// Finds the least level of a row. More bytes never take a plan away, so it is known without a
/// table where there is no plan.
void NestedProgram::findLeastLevel(int32_t repeats, int32_t from, int32_t to) {
  int64_t least = levels;
  for (const Leaf &leaf : leavesOf(repeats, from, to))
    least = std::min(least, leastOf(leaf, repeats, from, to));
  forEachSplit(repeats, from, to,
               [&](int32_t, int64_t ofSplit) { least = std::min(least, ofSplit); });
  leastLevel[row(repeats, from, to)] = static_cast<int32_t>(least);
}

/// Takes the decision at each level from `least` on where it costs less than the cell. More bytes
/// never cost more, by the decision or by what the cells have: so where the decision costs as much
/// at the last of a few levels as the cell of the first, these cells keep what they have.
template <typename CostAt>
void NestedProgram::improve(llvm::MutableArrayRef<Cell> cells, int64_t least, int32_t decision,
                            CostAt costAt) {
  constexpr int64_t few = 16;
  const auto end = static_cast<int64_t>(cells.size());
  for (int64_t level = least, last; level < end; level = last + 1) {
    last = std::min(level + few, end) - 1;
    if (costAt(last) >= cells[level].cost)
      continue;
    for (; level <= last; ++level)
      if (const int64_t cost = costAt(level); cost < cells[level].cost)
        cells[level] = {cost, decision};
  }
}

/// Fills the row of a sub-chain at all levels together: a split reads two other rows.
void NestedProgram::fillRow(int32_t repeats, int32_t from, int32_t to) {
  graph.poll();
  const llvm::MutableArrayRef<Cell> cells(&at(repeats, from, to, 0), levels);
  const bool isAlone = from == to;
  for (const Leaf &leaf : leavesOf(repeats, from, to)) {
    const bool isAgain = repeats && !isAlone;
    const int64_t own = leaf.cost + (isAgain ? stages.forwardCost(from, from + 1) : 0);
    const Cell *rest = isAlone ? nullptr : &at(repeats, from + 1, to, 0);
    improve(cells, leastOf(leaf, repeats, from, to), leaf.choice,
            [&](int64_t level) { return own + (rest ? rest[level - leaf.held].cost : 0); });
  }
  forEachSplit(repeats, from, to, [&](int32_t split, int64_t least) {
    const int32_t held = stages[split].inputSize;
    const Cell *tail = &at(repeats, split, to, 0), *head = &at(1, from, split - 1, 0);
    const int64_t forward = repeats ? stages.forwardCost(from, split) : 0;
    improve(cells, least, from - split,
            [&](int64_t level) { return tail[level - held].cost + head[level].cost + forward; });
  });
}

/// Calls `visit` with each row once, those of shorter sub-chains first.
template <typename Visit>
void NestedProgram::forEachRow(Visit visit) {
  std::vector<bool> isDone(numRows, false);
  for (int32_t length = 0; length < stages.size(); ++length)
    for (int32_t from = 0; from + length < stages.size(); ++from)
      for (int32_t repeats : {1, 0}) {
        int32_t to = from + length;
        if ((repeats == 0 && to + 1 != stages.size()) || isDone[row(repeats, from, to)])
          continue;
        isDone[row(repeats, from, to)] = true;
        visit(repeats, from, to);
      }
}

void NestedProgram::tabulate() {
  leastLevel.assign(numRows, levels);
  forEachRow([&](int32_t repeats, int32_t from, int32_t to) { findLeastLevel(repeats, from, to); });
  if (!hasPlan())
    return;
  table.assign(numRows * levels, {impossible, 0});
  forEachRow([&](int32_t repeats, int32_t from, int32_t to) { fillRow(repeats, from, to); });
}

int64_t NestedProgram::cost(int32_t level) const {
  return level < leastLevel[row(0, 0, stages.size() - 1)] ? -1
                                                          : at(0, 0, stages.size() - 1, level).cost;
}

void NestedProgram::unfold(Retention &retention, int32_t repeats, int32_t from, int32_t to,
                           int32_t level, int32_t segment) const {
  if (from > to)
    return;
  int32_t decision = at(repeats, from, to, level).decision;
  if (decision < 0) {
    int32_t split = from - decision;
    for (ValueIndex value : stages[split].inputs)
      retention.hold(value, segment, chain.backwardSegment(split));
    unfold(retention, repeats, split, to, level - stages[split].inputSize, segment);
    unfold(retention, 1, from, split - 1, level, chain.backwardSegment(split - 1));
    return;
  }
  if (repeats && from == to)
    return; // recomputed just in time within its own segment, so nothing is held across segments
  const std::vector<bool> &held = options.held[decision];
  for (ValueIndex value : stages[from].written)
    if (held[value])
      retention.hold(value, segment, chain.backwardSegment(from));
  auto leaf = llvm::find_if(stages[from].leaves,
                            [&](const Leaf &other) { return other.choice == decision; });
  unfold(retention, repeats, from + 1, to, level - leaf->held, segment);
}

Realization NestedProgram::realizeLevel(int32_t level) const {
  Retention retention(graph);
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    if (options.subject[value] && !stages.isShared(value))
      retention.discard(value);
  unfold(retention, 0, 0, stages.size() - 1, level, 0);
  return realize(graph, chain, retention);
}
