//===- CanonicalProblem.cpp - The same numbering for all equal problems -------------===//

#include "CanonicalProblem.h"
#include "Colours.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <numeric>
#include <tuple>

using namespace llmmem::planning;

namespace {
/// The properties of an op that depend on the graph alone.
struct Standing {
  int32_t depth = 0, height = 0; // ops on the longest path from an input, and to the end
  uint64_t colour = 0;

  bool operator<(const Standing &other) const {
    return std::tie(depth, height, colour) < std::tie(other.depth, other.height, other.colour);
  }
};
} // namespace

static std::vector<Standing> findStandings(const Graph &graph) {
  constexpr int rounds = 12; // to the neighbouring block and back
  const std::vector<uint64_t> colours = findColours(graph, rounds);
  std::vector<Standing> standings(graph.numOps());
  for (OpIndex op = 0; op < graph.numOps(); ++op) {
    standings[op].colour = colours[op];
    for (ValueIndex value : graph.op(op).reads)
      if (const OpIndex writer = graph.writer(value); writer >= 0)
        standings[op].depth = std::max(standings[op].depth, standings[writer].depth + 1);
  }
  for (OpIndex op = graph.numOps() - 1; op >= 0; --op)
    for (ValueIndex value : graph.op(op).writes)
      for (OpIndex reader : graph.readers(value))
        standings[op].height = std::max(standings[op].height, standings[reader].height + 1);
  return standings;
}

namespace {
/// Numbers ops, and values by the first op that names them.
class Numberer {
public:
  explicit Numberer(const Graph &graph)
      : graph(graph), standings(findStandings(graph)), numberOf(graph.numValues(), -1) {}
  void run();

  std::vector<OpIndex> ops;
  std::vector<ValueIndex> values;

private:
  void name(ValueIndex value) {
    if (numberOf[value] >= 0)
      return;
    numberOf[value] = static_cast<ValueIndex>(values.size());
    values.push_back(value);
  }
  std::vector<ValueIndex> numbersRead(OpIndex op) const;
  std::vector<std::vector<ValueIndex>> numbersBeyond(ValueIndex value) const;
  std::vector<ValueIndex> orderResults(OpIndex op) const;
  void takeLevel(llvm::MutableArrayRef<OpIndex> level);

  const Graph &graph;
  const std::vector<Standing> standings;
  std::vector<ValueIndex> numberOf;
};
} // namespace

std::vector<ValueIndex> Numberer::numbersRead(OpIndex op) const {
  std::vector<ValueIndex> numbers;
  for (ValueIndex value : graph.op(op).reads)
    numbers.push_back(numberOf[value]);
  llvm::sort(numbers);
  return numbers;
}

/// Returns the numbers given so far that the readers of a value read, then those that their readers
/// do, and so on: the gradients of two alike products meet these products' weights a few ops on.
std::vector<std::vector<ValueIndex>> Numberer::numbersBeyond(ValueIndex value) const {
  constexpr int levels = 4;
  std::vector<std::vector<ValueIndex>> beyond;
  std::vector<ValueIndex> reached = {value};
  for (int level = 0; level < levels; ++level) {
    std::vector<ValueIndex> next;
    std::vector<ValueIndex> &numbers = beyond.emplace_back();
    for (ValueIndex each : reached)
      for (OpIndex reader : graph.readers(each)) {
        llvm::append_range(numbers, numbersRead(reader));
        llvm::append_range(next, graph.op(reader).writes);
      }
    llvm::sort(numbers);
    llvm::sort(next);
    next.erase(std::unique(next.begin(), next.end()), next.end());
    reached = std::move(next);
  }
  return beyond;
}

/// Orders the results of an op. Of those that are alike, the first is the one that is read together
/// with what came first.
std::vector<ValueIndex> Numberer::orderResults(OpIndex op) const {
  std::vector<ValueIndex> results = graph.op(op).writes;
  llvm::stable_sort(results, [&](ValueIndex a, ValueIndex b) {
    const int64_t bytesOfA = graph.bytes(a), bytesOfB = graph.bytes(b);
    return bytesOfA != bytesOfB ? bytesOfA < bytesOfB : numbersBeyond(a) < numbersBeyond(b);
  });
  return results;
}

/// Takes the ops of one depth. Of two that are alike, such as the gradients of two alike products,
/// the first is that of the product which came first, whatever made that one the first. So the
/// choices between alike ops agree with each other.
void Numberer::takeLevel(llvm::MutableArrayRef<OpIndex> level) {
  llvm::stable_sort(level, [&](OpIndex a, OpIndex b) {
    if (standings[a] < standings[b] || standings[b] < standings[a])
      return standings[a] < standings[b];
    return numbersRead(a) < numbersRead(b);
  });
  for (OpIndex op : level) {
    for (ValueIndex value : graph.op(op).reads)
      name(value);
    for (ValueIndex value : orderResults(op))
      name(value);
  }
}

void Numberer::run() {
  ops.resize(graph.numOps());
  std::iota(ops.begin(), ops.end(), 0);
  llvm::stable_sort(ops,
                    [&](OpIndex a, OpIndex b) { return standings[a].depth < standings[b].depth; });
  for (size_t begin = 0, end = 0; begin < ops.size(); begin = end) {
    while (end < ops.size() && standings[ops[end]].depth == standings[ops[begin]].depth)
      ++end;
    takeLevel(llvm::MutableArrayRef(ops).slice(begin, end - begin));
  }
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    name(value);
}

static Op renumbered(Op op, llvm::ArrayRef<ValueIndex> numberOf, llvm::ArrayRef<Value> values) {
  for (ValueIndex &value : op.reads)
    value = numberOf[value];
  for (ValueIndex &value : op.writes)
    value = numberOf[value];
  for (InPlace &pair : op.inPlace)
    pair = {numberOf[pair.write], numberOf[pair.read]};
  // Of two alike operands either may be named first. The size decides before the number, which is
  // alike in every block.
  auto bySize = [&](ValueIndex a, ValueIndex b) {
    const Value &first = values[a], &second = values[b];
    return std::tie(first.resident, first.bytes, a) < std::tie(second.resident, second.bytes, b);
  };
  llvm::sort(op.reads, bySize);
  llvm::sort(op.writes, bySize);
  llvm::sort(op.inPlace, [](const InPlace &a, const InPlace &b) {
    return std::tie(a.write, a.read) < std::tie(b.write, b.read);
  });
  op.block = op.microBatch = std::nullopt;
  op.phase = Phase::None;
  op.name.clear();
  return op;
}

static CanonicalProblem renumber(const Graph &graph, std::vector<OpIndex> ops,
                                 std::vector<ValueIndex> values) {
  CanonicalProblem canonical{{}, std::move(ops), std::move(values)};
  std::vector<ValueIndex> numberOf(graph.numValues());
  Problem &problem = canonical.problem;
  problem.budget = graph.problem().budget;
  problem.alignment = graph.problem().alignment;
  problem.moreMemories = graph.problem().moreMemories;
  for (const auto &[number, value] : llvm::enumerate(canonical.valueOf)) {
    numberOf[value] = static_cast<ValueIndex>(number);
    problem.values.push_back(graph.problem().values[value]);
  }
  for (OpIndex op : canonical.opOf)
    problem.ops.push_back(renumbered(graph.op(op), numberOf, problem.values));
  for (ValueIndex value : graph.problem().keep)
    problem.keep.push_back(numberOf[value]);
  llvm::sort(problem.keep);
  return canonical;
}

CanonicalProblem llmmem::planning::makeCanonical(const Graph &graph) {
  Numberer numberer(graph);
  numberer.run();
  return renumber(graph, std::move(numberer.ops), std::move(numberer.values));
}

void CanonicalProblem::restoreNumbers(Plan &plan) const {
  for (OpIndex &step : plan.steps)
    step = opOf[step];
  for (InstanceOffset &offset : plan.offsets)
    offset.value = valueOf[offset.value];
}
