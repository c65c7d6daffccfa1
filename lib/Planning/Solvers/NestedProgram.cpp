//===- NestedProgram.cpp - Recomputation within recomputation ------------------===//

#include "NestedProgram.h"
#include <algorithm>

using namespace llmmem::planning;

NestedProgram::NestedProgram(const Graph &graph, const Chain &chain, const ChainOptions &options,
                             int64_t capacity, int32_t numLevels)
    : graph(graph), chain(chain), options(options), parts(chain.numParts), levels(numLevels) {
  findBoundaries();
  int64_t base = INT64_MAX;
  for (const std::vector<PartOption> &choice : options.options)
    for (const PartOption &option : choice)
      base = std::min(base, std::max(option.forwardPeak, option.backwardPeak));
  base = std::min(base, capacity);
  int64_t step = std::max<int64_t>(1, (capacity - base) / std::max(levels - 1, 1));
  findLeaves(base, step);
  tabulate();
}

void NestedProgram::findBoundaries() {
  inputs.assign(parts, {});
  isShared.assign(graph.numValues(), false);
  forwardCost.assign(parts + 1, 0);
  constexpr int32_t farthest = 2; // a value that parts farther apart read is shared by the chain
  for (ValueIndex value = 0; value < graph.numValues(); ++value) {
    OpIndex writer = graph.writer(value);
    if (writer < 0 || chain.partOf[writer] < 0)
      continue;
    int32_t from = chain.partOf[writer], to = from;
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
    llvm::SmallVector<OpIndex, 64> seen;
    auto want = [&](ValueIndex value) {
      OpIndex writer = graph.writer(value);
      if (writer < 0 || chain.partOf[writer] != part || llvm::is_contained(seen, writer))
        return;
      seen.push_back(writer);
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

void NestedProgram::findLeaves(int64_t base, int64_t step) {
  auto rounded = [&](int64_t bytes) { return static_cast<int32_t>((bytes + step / 2) / step); };
  inputSize.assign(parts, 0);
  leaves.assign(parts, {});
  for (int32_t part = 0; part < parts; ++part) {
    int64_t bytes = 0;
    for (ValueIndex value : inputs[part])
      bytes += graph.bytes(value);
    inputSize[part] = rounded(bytes);
    for (int32_t choice : options.useful[part]) {
      // The recursion counts on the next part's input being there.
      bool holdsNext = part + 1 == parts || llvm::all_of(inputs[part + 1], [&](ValueIndex value) {
        return chain.partOf[graph.writer(value)] != part || !options.subject[value] ||
               options.held[choice][value];
      });
      if (!holdsNext)
        continue;
      const PartOption &option = options.options[choice][part];
      int64_t peak = std::max(option.forwardPeak, option.backwardPeak) - base;
      Leaf leaf{choice, rounded(option.held), rounded(std::max<int64_t>(peak, 0)), option.cost};
      bool isBeaten = llvm::any_of(leaves[part], [&](const Leaf &other) {
        return other.held <= leaf.held && other.peak <= leaf.peak && other.cost <= leaf.cost;
      });
      if (!isBeaten)
        leaves[part].push_back(leaf);
    }
  }
}

void NestedProgram::improve(Cell &cell, int32_t repeats, int32_t from, int32_t to,
                            int32_t level) const {
  for (const Leaf &leaf : leaves[from]) {
    if (leaf.peak > level)
      continue;
    int64_t cost = leaf.cost + costOf(repeats, from + 1, to, level - leaf.held);
    if (repeats)
      cost += forwardCost[from + 1] - forwardCost[from];
    if (cost < cell.cost)
      cell = {cost, leaf.choice};
  }
  for (int32_t split = from + 1; split <= to; ++split) {
    int64_t cost = costOf(repeats, split, to, level - inputSize[split]);
    if (cost >= cell.cost)
      continue;
    cost += costOf(1, from, split - 1, level);
    if (repeats)
      cost += forwardCost[split] - forwardCost[from];
    if (cost < cell.cost)
      cell = {cost, -split};
  }
}

void NestedProgram::tabulate() {
  table.assign(size_t(2) * parts * parts * levels, {impossible, 0});
  for (int32_t length = 0; length < parts; ++length)
    for (int32_t from = 0; from + length < parts; ++from)
      for (int32_t repeats : {1, 0}) {
        if (repeats == 0 && from + length + 1 != parts)
          continue; // the original pass always runs to the end of the chain
        for (int32_t level = 0; level < levels; ++level)
          improve(at(repeats, from, from + length, level), repeats, from, from + length, level);
      }
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
    int32_t split = -decision;
    for (ValueIndex value : inputs[split])
      retention.hold(value, stretch, chain.backwardStretch(split));
    unfold(retention, repeats, split, to, level - inputSize[split], stretch);
    unfold(retention, 1, from, split - 1, level, chain.backwardStretch(split - 1));
    return;
  }
  const std::vector<bool> &held = options.held[decision];
  for (OpIndex op : chain.order) {
    if (chain.partOf[op] != from)
      continue;
    for (ValueIndex value : graph.op(op).writes)
      if (held[value])
        retention.hold(value, stretch, chain.backwardStretch(from));
  }
  auto leaf = llvm::find_if(leaves[from],
                            [&](const Leaf &other) { return other.choice == decision; });
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
