//===- RoundBound.cpp - A bound on what runs again in round after round ---------===//

#include "RoundBound.h"
#include "llmmem/Planning/Proofs/Check.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Sequence.h"
#include <algorithm>
#include <numeric>

using namespace llmmem::planning;

namespace {

/// The longest run of equal blocks of a chain, and the ops of their forwards by position.
class EqualBlocks {
public:
  EqualBlocks(const Graph &graph, const Chain &chain);
  size_t count() const { return forwards.size(); }
  size_t numPositions() const { return forwards.front().size(); }
  OpIndex op(size_t block, size_t position) const { return forwards[block][position]; }
  int32_t stageOf(size_t block) const { return firstStage + static_cast<int32_t>(block); }

private:
  bool areEqual(const std::vector<OpIndex> &one, const std::vector<OpIndex> &other) const {
    return llvm::equal(one, other, [&](OpIndex a, OpIndex b) {
      return graph.cost(a) == graph.cost(b) && graph.writtenBytes(a) == graph.writtenBytes(b);
    });
  }

  const Graph &graph;
  int32_t firstStage = 0;
  std::vector<std::vector<OpIndex>> forwards;
};

/// Positions of a block that may stand next to each other in a chain, the earlier ones first.
using Parts = std::vector<std::vector<size_t>>;

/// Chooses the ops of which chains are made.
class ChainChoice {
public:
  explicit ChainChoice(const Graph &graph, const EqualBlocks &blocks);
  /// Returns chains through `count` parts of each block, or through fewer. The n-th chain has the
  /// n-th position of each part, counted around, or the next one that comes after the position
  /// before it. So most positions stand in some chain.
  std::vector<std::vector<OpIndex>> chains(size_t count) const;
  /// Returns how many parts there may be, 0 where there is no chain.
  size_t mostParts() const { return levels.size(); }
  /// Returns the last op of the last block that stands in a chain.
  OpIndex last() const { return blocks.op(blocks.count() - 1, levels.back().front()); }
  /// Returns about how many sums are compared for `count` parts, with so many bytes to hold.
  double workOf(size_t count, int64_t room) const;

private:
  Parts partsOf(size_t count) const;
  bool isBefore(size_t position, size_t other) const { return before[position][other]; }

  const Graph &graph;
  const EqualBlocks &blocks;
  std::vector<std::vector<bool>> before;   // per two positions of one block
  std::vector<std::vector<size_t>> levels; // positions by the longest way to them
  int64_t passing = INT64_MAX;             // bytes that pass from block to block
};

/// Chooses a program point for each block, and one before them.
class PointChoice {
public:
  PointChoice(const Graph &graph, const Chain &chain, const EqualBlocks &blocks);
  std::vector<OpIndex> points(OpIndex last) const;

private:
  void countGradients();
  OpIndex fullestOf(llvm::ArrayRef<OpIndex> ops, const std::vector<bool> &allowed) const;
  int64_t fullness(OpIndex op) const;

  const Graph &graph;
  const Chain &chain;
  const EqualBlocks &blocks;
  std::vector<std::vector<OpIndex>> segments;
  std::vector<int64_t> gradients; // per op: bytes of gradients that others hold while it runs
};

} // namespace

EqualBlocks::EqualBlocks(const Graph &graph, const Chain &chain) : graph(graph) {
  std::vector<std::vector<OpIndex>> stages(chain.numStages);
  for (OpIndex op : chain.order)
    if (chain.stageOf[op] >= 0)
      stages[chain.stageOf[op]].push_back(op);
  int32_t start = 0, longest = 0;
  for (int32_t stage = 0, from = 0; stage < chain.numStages; ++stage) {
    if (stages[stage].size() < 2 || stage == from || !areEqual(stages[stage], stages[stage - 1]))
      from = stage;
    if (stages[stage].size() >= 2 && stage - from + 1 > longest) {
      longest = stage - from + 1;
      start = from;
    }
  }
  firstStage = start;
  forwards.assign(stages.begin() + start, stages.begin() + start + longest);
}

ChainChoice::ChainChoice(const Graph &graph, const EqualBlocks &blocks)
    : graph(graph), blocks(blocks) {
  const size_t count = blocks.numPositions(), middle = blocks.count() / 2;
  std::vector<bool> serves(count, false); // whether the same op of the next block needs it
  for (size_t position = 0; position < count; ++position) {
    std::vector<bool> after(graph.numOps(), false);
    markDescendants(graph, blocks.op(middle - 1, position), after);
    serves[position] = after[blocks.op(middle, position)] &&
                       graph.mayRunAgain(blocks.op(middle - 1, position)) &&
                       graph.cost(blocks.op(middle - 1, position)) > 0;
    std::vector<bool> &row = before.emplace_back();
    for (size_t other = 0; other < count; ++other)
      row.push_back(after[blocks.op(middle - 1, other)]);
  }
  // What holds fewer bytes than what passes from block to block would make that look small.
  for (size_t position = 0; position < count; ++position)
    if (serves[position] && llvm::all_of(llvm::seq<size_t>(0, count), [&](size_t other) {
          return other == position || !serves[other] || before[position][other] ||
                 before[other][position];
        }))
      passing = std::min(passing, graph.writtenBytes(blocks.op(middle, position)));
  for (size_t position = 0; position < count; ++position) {
    if (!serves[position] || graph.writtenBytes(blocks.op(middle, position)) < passing)
      continue;
    size_t level = 0;
    for (size_t lower = 0; lower < levels.size(); ++lower)
      if (llvm::any_of(levels[lower], [&](size_t other) { return before[other][position]; }))
        level = lower + 1;
    if (level == levels.size())
      levels.emplace_back();
    levels[level].push_back(position);
  }
}

/// Divides the levels into parts of about equal cost.
Parts ChainChoice::partsOf(size_t count) const {
  auto costOf = [&](const std::vector<size_t> &level) {
    int64_t cost = 0;
    for (size_t position : level)
      cost += graph.cost(blocks.op(0, position));
    return cost;
  };
  int64_t total = 0, sum = 0;
  for (const std::vector<size_t> &level : levels)
    total += costOf(level);
  Parts parts;
  size_t last = SIZE_MAX;
  for (const std::vector<size_t> &level : levels) {
    const int64_t cost = costOf(level);
    const auto part = static_cast<size_t>(double(sum + cost / 2) / double(total) * double(count));
    if (part != last)
      parts.emplace_back();
    last = part;
    llvm::append_range(parts.back(), level);
    sum += cost;
  }
  return parts;
}

double ChainChoice::workOf(size_t count, int64_t room) const {
  size_t most = 0;
  for (const std::vector<size_t> &part : partsOf(count))
    most = std::max(most, part.size());
  const auto steps = double(count * blocks.count());
  const double units = 2 + double(std::max<int64_t>(room, 0)) / double(passing);
  return double(most) * units * steps * steps * steps / 3;
}

std::vector<std::vector<OpIndex>> ChainChoice::chains(size_t count) const {
  std::vector<std::vector<OpIndex>> result;
  const Parts parts = partsOf(count);
  size_t most = 0;
  for (const std::vector<size_t> &part : parts)
    most = std::max(most, part.size());
  for (size_t number = 0; number < most; ++number) {
    std::vector<size_t> positions;
    for (const std::vector<size_t> &part : parts)
      for (size_t index = 0; index < part.size(); ++index)
        if (const size_t next = part[(number + index) % part.size()];
            positions.empty() || isBefore(positions.back(), next)) {
          positions.push_back(next);
          break;
        }
    std::vector<OpIndex> &ops = result.emplace_back();
    for (size_t block = 0; block < blocks.count(); ++block)
      for (size_t position : positions)
        ops.push_back(blocks.op(block, position));
  }
  return result;
}

PointChoice::PointChoice(const Graph &graph, const Chain &chain, const EqualBlocks &blocks)
    : graph(graph), chain(chain), blocks(blocks), segments(chain.numSegments()),
      gradients(graph.numOps(), 0) {
  for (size_t index = 0; index < chain.order.size(); ++index)
    if (chain.stageOf[chain.order[index]] < 0)
      segments[chain.segmentOf[index]].push_back(chain.order[index]);
  countGradients();
}

void PointChoice::countGradients() {
  std::vector<int32_t> position(graph.numOps());
  for (size_t index = 0; index < chain.order.size(); ++index)
    position[chain.order[index]] = static_cast<int32_t>(index);
  std::vector<int64_t> change(chain.order.size() + 1, 0);
  for (ValueIndex value = 0; value < graph.numValues(); ++value) {
    const OpIndex writer = graph.writer(value);
    if (writer < 0 || chain.stageOf[writer] >= 0 || graph.isKept(value))
      continue;
    int32_t last = position[writer];
    for (OpIndex reader : graph.readers(value))
      last = std::max(last, position[reader]);
    change[position[writer]] += graph.bytes(value);
    change[last + 1] -= graph.bytes(value);
  }
  int64_t live = 0;
  for (size_t index = 0; index < chain.order.size(); ++index) {
    live += change[index];
    int64_t own = 0;
    const OpIndex op = chain.order[index];
    for (llvm::ArrayRef<ValueIndex> values : {graph.reads(op), graph.writes(op)})
      for (ValueIndex value : values)
        if (graph.writer(value) >= 0 && chain.stageOf[graph.writer(value)] < 0)
          own += graph.bytes(value);
    gradients[op] = live - own;
  }
}

int64_t PointChoice::fullness(OpIndex op) const {
  return graph.footprint(op) + std::max<int64_t>(gradients[op], 0);
}

OpIndex PointChoice::fullestOf(llvm::ArrayRef<OpIndex> ops,
                               const std::vector<bool> &allowed) const {
  OpIndex fullest = -1;
  for (OpIndex op : ops)
    if (allowed[op] && (fullest < 0 || fullness(op) > fullness(fullest)))
      fullest = op;
  return fullest;
}

/// `last` is the last op of the chains.
std::vector<OpIndex> PointChoice::points(OpIndex last) const {
  // The way to the op of the lowest block's backward that comes after the most ops.
  std::vector<bool> way;
  for (OpIndex op : segments[chain.backwardSegment(blocks.stageOf(0))]) {
    std::vector<bool> ancestors(graph.numOps(), false);
    markAncestors(graph, op, ancestors);
    ancestors[op] = true;
    if (way.empty() || llvm::count(ancestors, true) > llvm::count(way, true))
      way = std::move(ancestors);
  }
  if (way.empty())
    return {};
  std::vector<bool> after(graph.numOps(), false);
  markDescendants(graph, last, after);
  std::vector<OpIndex> points;
  auto addFrom = [&](llvm::ArrayRef<OpIndex> ops) {
    std::vector<bool> allowed(graph.numOps(), false);
    for (OpIndex op : ops)
      allowed[op] = way[op] && after[op];
    const OpIndex fullest = fullestOf(ops, allowed);
    if (fullest < 0)
      return;
    points.push_back(fullest);
    after.assign(graph.numOps(), false);
    markDescendants(graph, fullest, after);
  };
  std::vector<OpIndex> before;
  for (int32_t segment = 0; segment < chain.backwardSegment(blocks.stageOf(blocks.count() - 1));
       ++segment)
    llvm::append_range(before, segments[segment]);
  addFrom(before);
  for (size_t block = blocks.count(); block-- > 0;)
    addFrom(segments[chain.backwardSegment(blocks.stageOf(block))]);
  return points;
}

RoundArgument llmmem::planning::roundArgument(const Graph &graph, const BoundBasis &basis) {
  llvm::DenseMap<OpIndex, int64_t> shares;
  for (const std::vector<OpIndex> &chain : basis.chains)
    for (OpIndex op : chain)
      ++shares[op];
  RoundArgument argument{basis.ops, {}};
  for (const std::vector<OpIndex> &chain : basis.chains) {
    RoundChain &charged = argument.chains.emplace_back();
    for (OpIndex op : chain)
      charged.ops.push_back({op, graph.cost(op) / shares[op]});
  }
  return argument;
}

/// Returns how many sums may be compared: all, in some tenths of a second, where a quarter of the
/// step or more is left to prove, and as much less as less is left.
static double mostWork(const Graph &graph, const Plan &plan) {
  constexpr double all = 210e6;
  const int64_t left = plan.cost - plan.costLowerBound;
  return plan.steps.empty() ? all
                            : all * std::min(1.0, 4.0 * double(left) / double(graph.baseCost()));
}

void llmmem::planning::raiseByRounds(const Graph &graph, const Chain &chain, Plan &plan) {
  constexpr int64_t closeEnough = 200; // half a percent of the step
  constexpr size_t fewestBlocks = 3;
  constexpr int64_t mostPointsTimesOps = 4000000;
  if (!plan.steps.empty() && plan.cost - plan.costLowerBound <= graph.baseCost() / closeEnough)
    return;
  const EqualBlocks blocks(graph, chain);
  if (blocks.count() < fewestBlocks ||
      int64_t(blocks.count()) * graph.numOps() > mostPointsTimesOps)
    return;
  const ChainChoice choice(graph, blocks);
  if (choice.mostParts() == 0)
    return;
  BoundBasis basis{
      BoundBasis::Kind::Rounds, PointChoice(graph, chain, blocks).points(choice.last()), {}, {}};
  if (basis.ops.size() < 2)
    return;
  const int64_t budget = *graph.problem().budget;
  const int64_t room =
      budget - graph.residentBytes() - graph.footprint(basis.ops[basis.ops.size() / 2]);
  size_t parts = choice.mostParts();
  for (const double most = mostWork(graph, plan); parts > 0 && choice.workOf(parts, room) > most;)
    --parts;
  if (parts == 0)
    return;
  basis.chains = choice.chains(parts);
  const std::optional<int64_t> extra =
      costOfRounds(graph.problem(), roundArgument(graph, basis), budget);
  if (!extra || graph.baseCost() + *extra <= plan.costLowerBound)
    return;
  plan.costLowerBound = graph.baseCost() + *extra;
  plan.bound = "rounds between the first runs of " + std::to_string(basis.ops.size()) + " ops";
  plan.costBasis = std::move(basis);
}
