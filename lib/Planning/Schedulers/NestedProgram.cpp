//===- NestedProgram.cpp - Recomputation within recomputation ------------------===//

#include "NestedProgram.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include <algorithm>
#include <numeric>

using namespace llmmem::planning;

NestedProgram::NestedProgram(const Graph &graph, const Chain &chain, const ChainOptions &options,
                             int64_t capacity, int32_t numLevels)
    : graph(graph), chain(chain), options(options), parts(chain.numParts), levels(numLevels) {
  findBoundaries();
  base = INT64_MAX;
  for (const std::vector<PartOption> &choice : options.options)
    for (const PartOption &option : choice)
      if (option.backwardPeak > 0) // a part without a backward says nothing
        base = std::min({base, option.forwardPeak, option.backwardPeak});
  base = std::min(base, capacity);
  chooseStep(capacity - base);
  findLeaves();
  findRows();
  tabulate();
}

/// Rounding errors add up over as many inputs as the chain has parts: the step divides all sizes
/// where that gives few levels, else the commonest input's size.
void NestedProgram::chooseStep(int64_t room) {
  // Rows grow with the parts, and each looks at every split.
  constexpr int64_t work = 300000000;
  const int64_t mostLevels =
      std::clamp<int64_t>(work / (int64_t(parts) * parts + 1), std::min(levels, 160), 1500);
  int64_t divisor = 0;
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    divisor = std::gcd(divisor, graph.bytes(value));
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    divisor = std::gcd(divisor, graph.workspace(op));
  if (divisor > 0 && room / divisor < mostLevels) {
    step = divisor; // no rounding at all
    levels = static_cast<int32_t>(room / step + 1);
    return;
  }
  std::vector<int64_t> sizes;
  for (const std::vector<ValueIndex> &values : inputs) {
    int64_t bytes = 0;
    for (ValueIndex value : values)
      bytes += graph.bytes(value);
    if (bytes > 0)
      sizes.push_back(bytes);
  }
  step = std::max<int64_t>(1, room / std::max(levels - 1, 1));
  if (!sizes.empty()) {
    std::nth_element(sizes.begin(), sizes.begin() + sizes.size() / 2, sizes.end());
    int64_t input = sizes[sizes.size() / 2];
    int64_t divided = input / std::max<int64_t>(1, (input + step / 2) / step);
    if (divided > 0 && room / divided < mostLevels)
      step = divided;
  }
  step = std::max(step, room / mostLevels);
  levels = static_cast<int32_t>(std::min<int64_t>(room / step + 1, mostLevels));
}

void NestedProgram::findBoundaries() {
  inputs.assign(parts, {});
  isShared.assign(graph.numValues(), false);
  forwardCost.assign(parts + 1, 0);
  written.assign(parts, {});
  constexpr int32_t farthest = 2; // a value that parts farther apart read is shared by the chain
  for (ValueIndex value = 0; value < graph.numValues(); ++value) {
    OpIndex writer = graph.writer(value);
    if (writer < 0 || chain.partOf[writer] < 0)
      continue;
    int32_t from = chain.partOf[writer], to = from;
    if (options.subject[value])
      written[from].push_back(value);
    for (OpIndex reader : graph.readers(value))
      to = std::max(to, chain.partOf[reader]);
    isShared[value] = to - from > farthest;
    for (int32_t part = from + 1; part <= to && !isShared[value]; ++part)
      inputs[part].push_back(value);
  }
  // A forward that saves nothing runs what the next part's input needs, and no more.
  for (int32_t part = 0; part < parts; ++part) {
    int64_t cost = 0;
    std::vector<OpIndex> worklist;
    llvm::SmallDenseSet<OpIndex, 64> seen;
    auto want = [&](ValueIndex value) {
      OpIndex writer = graph.writer(value);
      if (writer < 0 || chain.partOf[writer] != part || !seen.insert(writer).second)
        return;
      worklist.push_back(writer);
      cost += graph.op(writer).cost;
    };
    if (part + 1 < parts)
      llvm::for_each(inputs[part + 1], want);
    while (!worklist.empty()) {
      OpIndex op = worklist.back();
      worklist.pop_back();
      llvm::for_each(graph.op(op).reads, want);
    }
    forwardCost[part + 1] = forwardCost[part] + cost;
  }
}

void NestedProgram::findLeaves() {
  auto rounded = [&](int64_t bytes) {
    constexpr int64_t never = 1 << 30; // more levels than any table has
    return static_cast<int32_t>(std::clamp((bytes + step / 2) / step, -never, never));
  };
  // Gradients on their way: written in an earlier stretch of the backward, read in a later one.
  std::vector<int64_t> change(chain.numStretches() + 1, 0);
  std::vector<int32_t> stretchOfOp(graph.numOps(), 0);
  for (size_t index = 0; index < chain.order.size(); ++index)
    stretchOfOp[chain.order[index]] = chain.stretchOf[index];
  for (ValueIndex value = 0; value < graph.numValues(); ++value) {
    OpIndex writer = graph.writer(value);
    if (writer < 0 || chain.partOf[writer] >= 0)
      continue;
    int32_t last = stretchOfOp[writer];
    for (OpIndex reader : graph.readers(value))
      last = std::max(last, stretchOfOp[reader]);
    change[stretchOfOp[writer] + 1] += graph.bytes(value);
    change[last + 1] -= graph.bytes(value);
  }
  for (size_t stretch = 1; stretch < change.size(); ++stretch)
    change[stretch] += change[stretch - 1];
  waiting.assign(parts, 0);
  for (int32_t part = 0; part < parts; ++part)
    waiting[part] = rounded(change[chain.backwardStretch(part)]);
  inputSize.assign(parts, 0);
  passingSize.assign(parts, 0);
  leaves.assign(parts, {});
  lean.clear();
  forwardPeak.clear();
  for (int32_t part = 0; part < parts; ++part) {
    int64_t bytes = 0, passing = 0;
    for (ValueIndex value : inputs[part]) {
      bytes += graph.bytes(value);
      // Without a reader in the backward it is not held over the cut: the peaks count it, and the
      // recursion does.
      if (llvm::all_of(graph.readers(value), [&](OpIndex op) { return chain.partOf[op] >= 0; }))
        passing += graph.bytes(value);
    }
    inputSize[part] = rounded(bytes);
    int64_t taken = 0; // passed through, the input dies where it may leave its bytes to a result
    for (ValueIndex value : inputs[part])
      for (OpIndex reader : graph.readers(value))
        for (InPlace pair : graph.op(reader).inPlace)
          if (pair.read == value && chain.partOf[reader] == part)
            taken += std::min(graph.bytes(pair.write), graph.bytes(value));
    passingSize[part] = rounded(std::max<int64_t>(bytes - taken, 0));
    const PartOption &alone = options.options.back()[part];
    forwardPeak.push_back(rounded(std::max<int64_t>(alone.forwardPeak - passing - base, 0)));
    lean.push_back({options.numChoices() - 1, 0, 0,
                    rounded(std::max<int64_t>(alone.backwardPeak - base, 0)), alone.cost});
    for (int32_t choice : options.useful[part]) {
      // The recursion counts on the next part's input being there.
      bool holdsNext = part + 1 == parts || llvm::all_of(inputs[part + 1], [&](ValueIndex value) {
                         return chain.partOf[graph.writer(value)] != part ||
                                !options.subject[value] || options.held[choice][value];
                       });
      if (!holdsNext)
        continue;
      const PartOption &option = options.options[choice][part];
      int64_t peak = std::max(option.forwardPeak - passing, option.backwardPeak) - base;
      Leaf leaf{choice, rounded(option.held),
                rounded(std::max<int64_t>(option.forwardPeak - passing - base, 0)),
                rounded(std::max<int64_t>(peak, 0)), option.cost};
      bool isBeaten = llvm::any_of(leaves[part], [&](const Leaf &other) {
        return other.held <= leaf.held && other.forward <= leaf.forward &&
               other.peak <= leaf.peak && other.cost <= leaf.cost;
      });
      if (!isBeaten)
        leaves[part].push_back(leaf);
    }
  }
}

void NestedProgram::findRows() {
  // endOfRun[p]: the last part of the run of equal parts that p stands in.
  std::vector<int32_t> endOfRun(parts), kind(parts, 0);
  auto isEqual = [&](int32_t a, int32_t b) {
    return leaves[a] == leaves[b] && lean[a] == lean[b] && forwardPeak[a] == forwardPeak[b] &&
           waiting[a] == waiting[b] && passingSize[a] == passingSize[b] &&
           inputSize[a] == inputSize[b] &&
           forwardCost[a + 1] - forwardCost[a] == forwardCost[b + 1] - forwardCost[b];
  };
  for (int32_t part = parts - 1; part >= 0; --part) {
    bool continues = part + 1 < parts && isEqual(part, part + 1);
    endOfRun[part] = continues ? endOfRun[part + 1] : part;
    kind[part] = endOfRun[part];
  }
  numRows = size_t(parts);
  rowOf.assign(size_t(parts) * parts, 0);
  llvm::DenseMap<std::pair<int32_t, int32_t>, size_t> shared; // (run, length)
  for (int32_t from = 0; from < parts; ++from)
    for (int32_t to = from; to < parts; ++to) {
      bool isInRun = to <= endOfRun[from];
      auto [it, isNew] = shared.try_emplace(
          isInRun ? std::pair(kind[from], to - from) : std::pair(-1 - from, to), numRows);
      numRows += isNew;
      rowOf[size_t(from) * parts + to] = static_cast<int32_t>(it->second);
    }
}

/// The best option of the first part of a stretch, the rest solved already.
void NestedProgram::takeOption(Cell &cell, int32_t repeats, int32_t from, int32_t to,
                               int32_t level) const {
  if (repeats && from == to) { // all is rebuilt just in time, whatever an option would hold
    if (lean[from].peak <= level && lean[from].cost < cell.cost)
      cell = {lean[from].cost, lean[from].choice};
    return;
  }
  for (const Leaf &leaf : leaves[from]) {
    if (leaf.peak > level || (repeats && leaf.forward + waiting[to] > level))
      continue;
    int64_t cost = leaf.cost + costOf(repeats, from + 1, to, level - leaf.held);
    if (repeats)
      cost += forwardCost[from + 1] - forwardCost[from];
    if (cost < cell.cost)
      cell = {cost, leaf.choice};
  }
}

/// Fills the row of a stretch, at all levels together: a split asks two other rows for them.
void NestedProgram::fillRow(int32_t repeats, int32_t from, int32_t to) {
  Cell *cells = &at(repeats, from, to, 0);
  for (int32_t level = 0; level < levels; ++level)
    takeOption(cells[level], repeats, from, to, level);
  int32_t lowest = 0;
  for (int32_t split = from + 1; split <= to; ++split) {
    // Running forward to the split passes through the part before it: beside that part's own input
    // and what it makes, the gradient for the end of the stretch waits.
    int32_t passed = split - 1, held = inputSize[split];
    if (repeats)
      lowest = std::max(lowest, forwardPeak[passed] + waiting[to] +
                                    (passed > from ? passingSize[passed] : 0));
    if (lowest >= levels)
      return;
    const Cell *tail = &at(repeats, split, to, 0), *head = &at(1, from, passed, 0);
    int64_t forward = repeats ? forwardCost[split] - forwardCost[from] : 0;
    for (int32_t level = std::max(lowest, held); level < levels; ++level) {
      int64_t cost = tail[level - held].cost;
      if (cost >= cells[level].cost)
        continue;
      cost += head[level].cost + forward;
      if (cost < cells[level].cost)
        cells[level] = {cost, from - split};
    }
  }
}

void NestedProgram::tabulate() {
  table.assign(numRows * levels, {impossible, 0});
  std::vector<bool> isDone(numRows, false);
  for (int32_t length = 0; length < parts; ++length)
    for (int32_t from = 0; from + length < parts; ++from)
      for (int32_t repeats : {1, 0}) {
        int32_t to = from + length;
        if ((repeats == 0 && to + 1 != parts) || isDone[row(repeats, from, to)])
          continue;
        isDone[row(repeats, from, to)] = true;
        fillRow(repeats, from, to);
      }
}

int32_t NestedProgram::levelOf(int64_t capacity) const {
  return static_cast<int32_t>(std::clamp<int64_t>((capacity - base) / step, 0, levels - 1));
}

int64_t NestedProgram::cost(int32_t level) const {
  int64_t cost = costOf(0, 0, parts - 1, level);
  return cost >= impossible ? -1 : cost;
}

void NestedProgram::unfold(Retention &retention, int32_t repeats, int32_t from, int32_t to,
                           int32_t level, int32_t stretch) const {
  if (from > to)
    return;
  int32_t decision = at(repeats, from, to, level).decision;
  if (decision < 0) {
    int32_t split = from - decision;
    for (ValueIndex value : inputs[split])
      retention.hold(value, stretch, chain.backwardStretch(split));
    unfold(retention, repeats, split, to, level - inputSize[split], stretch);
    unfold(retention, 1, from, split - 1, level, chain.backwardStretch(split - 1));
    return;
  }
  if (repeats && from == to)
    return; // recomputed just in time, in its own stretch: nothing is held from one to another
  const std::vector<bool> &held = options.held[decision];
  for (ValueIndex value : written[from])
    if (held[value])
      retention.hold(value, stretch, chain.backwardStretch(from));
  auto leaf =
      llvm::find_if(leaves[from], [&](const Leaf &other) { return other.choice == decision; });
  unfold(retention, repeats, from + 1, to, level - leaf->held, stretch);
}

Realization NestedProgram::realizeLevel(int32_t level) const {
  Retention retention(graph);
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    if (options.subject[value] && !isShared[value])
      retention.discard(value);
  unfold(retention, 0, 0, parts - 1, level, 0);
  return realize(graph, chain, retention);
}
