//===- Blocks.cpp - The chain that a training step is -------------------------===//

#include "llmmem/Planning/Model/Blocks.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/Hashing.h"
#include <algorithm>
#include <map>

using namespace llmmem::planning;

namespace {
/// Cuts one order into a chain.
class ChainFinder {
public:
  ChainFinder(const Graph &graph, std::vector<OpIndex> order) : graph(graph) {
    chain.order = std::move(order);
    count = static_cast<int32_t>(chain.order.size());
    position.resize(graph.numOps());
    for (int32_t index = 0; index < count; ++index)
      position[chain.order[index]] = index;
    chain.partOf.assign(graph.numOps(), -1);
  }

  Chain run() {
    findCut();
    if (!partsFromLabels() && !partsFromRepeats()) {
      findCutByHeld();
      partsFromNarrowPoints();
    }
    assignStretches();
    return std::move(chain);
  }

private:
  const Op &opAt(int32_t index) const { return graph.op(chain.order[index]); }

  void findCut();
  void findCutByHeld();
  std::vector<int64_t> waitingBytes() const;
  bool partsFromLabels();
  bool partsFromRepeats();
  void partsFromNarrowPoints();
  void assignStretches();
  void setParts(llvm::ArrayRef<int32_t> starts, llvm::ArrayRef<bool> isBlock);
  struct Crossing {
    std::vector<int64_t> bytes;
    std::vector<int32_t> values;
  };
  Crossing crossing() const;
  uint64_t shapeOf(int32_t index) const;
  int32_t partServedBy(int32_t index) const;

  const Graph &graph;
  Chain chain;
  int32_t count = 0;
  std::vector<int32_t> position;
  std::map<int64_t, int32_t> partOfLabel;
};
} // namespace

/// Bytes between each two ops, the ones at index - 1 and index, that wait for their first reader.
std::vector<int64_t> ChainFinder::waitingBytes() const {
  constexpr int32_t soon = 8;
  std::vector<int64_t> waiting(count + 1, 0);
  for (ValueIndex value = 0; value < graph.numValues(); ++value) {
    OpIndex writer = graph.writer(value);
    if (writer < 0 || graph.readers(value).empty())
      continue;
    int32_t first = count;
    for (OpIndex reader : graph.readers(value))
      first = std::min(first, position[reader]);
    if (first - position[writer] > soon)
      continue; // saved for the backward alone: waits at the loss as everywhere
    waiting[position[writer] + 1] += graph.bytes(value);
    waiting[first + 1] -= graph.bytes(value);
  }
  for (int32_t index = 1; index < count; ++index)
    waiting[index] += waiting[index - 1];
  return waiting;
}

/// The forward ends where the labels say so; without labels, near the fullest moment of the order,
/// where the least is still waiting for its first reader (at the loss everything but a scalar has
/// been read).
void ChainFinder::findCut() {
  bool labelled = false;
  for (int32_t index = 0; index < count && !labelled; ++index)
    labelled = opAt(index).phase != Phase::None;
  if (labelled) {
    chain.cut = 0;
    while (chain.cut < count && opAt(chain.cut).phase != Phase::Backward &&
           opAt(chain.cut).phase != Phase::Update)
      ++chain.cut;
    return;
  }
  std::vector<int64_t> bytes = profile(graph, chain.order).bytes;
  int32_t fullest =
      static_cast<int32_t>(std::max_element(bytes.begin(), bytes.end()) - bytes.begin());
  std::vector<int64_t> waiting = waitingBytes();
  int32_t margin = std::clamp(count / 20, 2, 40);
  int64_t best = INT64_MAX;
  for (int32_t index = 0; index < count; ++index)
    if (std::abs(index - fullest) <= margin && waiting[index] < best) {
      best = waiting[index];
      chain.cut = index;
    }
}

/// Where nothing repeats and nothing is labelled, sizes are too unequal for the least that waits to
/// tell the loss from a narrow place in the backward. What is held between two ops still does: in a
/// chain it grows until the loss and shrinks from there.
void ChainFinder::findCutByHeld() {
  if (graph.numOps() == 0 ||
      llvm::any_of(chain.order, [&](OpIndex op) { return graph.op(op).phase != Phase::None; }))
    return;
  std::vector<int64_t> change(count + 1, 0);
  for (ValueIndex value = 0; value < graph.numValues(); ++value) {
    OpIndex writer = graph.writer(value);
    if (writer < 0 || graph.readers(value).empty())
      continue;
    int32_t last = 0;
    for (OpIndex reader : graph.readers(value))
      last = std::max(last, position[reader]);
    change[position[writer] + 1] += graph.bytes(value);
    change[last + 1] -= graph.bytes(value);
  }
  std::vector<int64_t> waiting = waitingBytes();
  std::pair<int64_t, int64_t> best{INT64_MIN, 0}; // most held, and of equals the least waiting
  int64_t held = 0;
  for (int32_t index = 0; index < count; ++index) {
    held += change[index];
    if (std::pair(held, -waiting[index]) > best) {
      best = {held, -waiting[index]};
      chain.cut = index;
    }
  }
}

void ChainFinder::setParts(llvm::ArrayRef<int32_t> starts, llvm::ArrayRef<bool> isBlock) {
  chain.numParts = static_cast<int32_t>(starts.size());
  chain.isBlock.assign(isBlock.begin(), isBlock.end());
  for (int32_t part = 0; part < chain.numParts; ++part) {
    int32_t end = part + 1 < chain.numParts ? starts[part + 1] : chain.cut;
    for (int32_t index = starts[part]; index < end; ++index)
      chain.partOf[chain.order[index]] = part;
  }
}

bool ChainFinder::partsFromLabels() {
  std::vector<int32_t> starts;
  llvm::SmallVector<bool, 64> isBlock;
  std::optional<int64_t> current;
  int32_t lastLabelled = -1;
  for (int32_t index = 0; index < chain.cut; ++index)
    if (opAt(index).block)
      lastLabelled = index;
  if (lastLabelled < 0)
    return false;
  for (int32_t index = 0; index < chain.cut; ++index) {
    std::optional<int64_t> label = opAt(index).block;
    bool startsHead = index == lastLabelled + 1;
    if (index == 0 || startsHead || (label && label != current)) {
      starts.push_back(index);
      isBlock.push_back(label.has_value());
    }
    if (label) {
      current = label;
      partOfLabel[*label] = static_cast<int32_t>(starts.size()) - 1;
    }
  }
  setParts(starts, isBlock);
  return true;
}

/// What repeats about an op: its cost, its sizes, and how far back its operands are written. Names
/// do not count (they carry layer numbers); far operands are shared ones (masks, tables).
uint64_t ChainFinder::shapeOf(int32_t index) const {
  constexpr int32_t farAway = 200;
  const Op &op = opAt(index);
  llvm::hash_code hash = llvm::hash_combine(op.cost, op.workspace, op.recompute, op.reads.size());
  for (ValueIndex value : op.reads) {
    OpIndex writer = graph.writer(value);
    int32_t distance = writer < 0 ? 0 : std::min(index - position[writer], farAway);
    hash = llvm::hash_combine(hash, graph.problem().values[value].bytes, distance);
  }
  for (ValueIndex value : op.writes)
    hash = llvm::hash_combine(hash, graph.problem().values[value].bytes);
  return hash;
}

/// What the forward carries over each position: written before it, read by the forward from it on.
ChainFinder::Crossing ChainFinder::crossing() const {
  std::vector<int64_t> change(chain.cut + 1, 0);
  std::vector<int32_t> number(chain.cut + 1, 0);
  for (ValueIndex value = 0; value < graph.numValues(); ++value) {
    OpIndex writer = graph.writer(value);
    if (writer < 0 || position[writer] >= chain.cut)
      continue;
    int32_t last = -1;
    for (OpIndex reader : graph.readers(value))
      if (position[reader] < chain.cut)
        last = std::max(last, position[reader]);
    if (last < 0)
      continue;
    change[position[writer] + 1] += graph.bytes(value);
    change[last + 1] -= graph.bytes(value);
    ++number[position[writer] + 1];
    --number[last + 1];
  }
  for (size_t index = 1; index < change.size(); ++index) {
    change[index] += change[index - 1];
    number[index] += number[index - 1];
  }
  return {std::move(change), std::move(number)};
}

TandemRepeat llmmem::planning::findTandemRepeat(llvm::ArrayRef<uint64_t> signature) {
  int32_t count = static_cast<int32_t>(signature.size());
  // The period separates neighbouring occurrences of any element of the repeat: only those
  // distances can be it.
  llvm::DenseMap<uint64_t, int32_t> last;
  std::map<int32_t, int32_t> votes;
  for (int32_t index = 0; index < count; ++index) {
    auto [it, isNew] = last.try_emplace(signature[index], index);
    if (!isNew) {
      ++votes[index - it->second];
      it->second = index;
    }
  }
  std::vector<std::pair<int32_t, int32_t>> candidates;
  for (auto [period, number] : votes)
    candidates.push_back({-number, period});
  std::sort(candidates.begin(), candidates.end());
  candidates.resize(std::min<size_t>(candidates.size(), 64));
  TandemRepeat best;
  int64_t bestCover = 0;
  for (auto [number, period] : candidates) {
    int32_t run = 0;
    for (int32_t index = 0; index + period <= count; ++index) {
      bool equal = index + period < count && signature[index] == signature[index + period];
      if (equal) {
        ++run;
        continue;
      }
      int32_t periods = run / period + 1;
      int64_t cover = int64_t(periods) * period;
      // Longer cover first; the shorter period on equal cover splits finer, but one that is a mere
      // repeated op inside a block covers less and loses.
      if (periods >= 2 && (cover > bestCover || (cover == bestCover && period < best.period))) {
        bestCover = cover;
        best = {index - run, period, periods};
      }
      run = 0;
    }
  }
  return best;
}

bool ChainFinder::partsFromRepeats() {
  std::vector<uint64_t> shapes(chain.cut);
  for (int32_t index = 0; index < chain.cut; ++index)
    shapes[index] = shapeOf(index);
  TandemRepeat repeat = findTandemRepeat(shapes);
  if (repeat.count < 2 || int64_t(repeat.count) * repeat.period * 2 < chain.cut)
    return false;
  // Any rotation of a repeat is a repeat: begin where the fewest bytes cross, that is at the
  // block's input.
  std::vector<int64_t> bytes = crossing().bytes;
  int32_t last = repeat.start + repeat.period * repeat.count;
  int32_t middle = repeat.start + repeat.period * ((repeat.count - 1) / 2);
  int32_t shift = 0;
  for (int32_t candidate = 1; candidate < repeat.period; ++candidate)
    if (bytes[middle + candidate] < bytes[middle + shift])
      shift = candidate;
  std::vector<int32_t> starts;
  llvm::SmallVector<bool, 64> isBlock;
  int32_t first = repeat.start + shift;
  // The first block may differ in where its operands come from, and so stand outside of the repeat.
  while (first - repeat.period >= 0 && first - repeat.period >= repeat.start - repeat.period / 2)
    first -= repeat.period;
  if (first > 0) {
    starts.push_back(0);
    isBlock.push_back(false);
  }
  int32_t at = first;
  for (; at + repeat.period <= last; at += repeat.period) {
    starts.push_back(at);
    isBlock.push_back(true);
  }
  if (at < chain.cut) {
    starts.push_back(at);
    isBlock.push_back(false);
  }
  setParts(starts, isBlock);
  return true;
}

/// Without repeats: a part ends wherever a single value crosses, however large, since stages of
/// unequal sizes are a chain; where that is too rare, wherever no more bytes cross than at the
/// narrowest quarter of all positions.
void ChainFinder::partsFromNarrowPoints() {
  constexpr size_t mostParts = 128, fewParts = 4;
  std::vector<int32_t> starts{0};
  if (chain.cut > 1) {
    auto [bytes, values] = crossing();
    for (int32_t index = 1; index < chain.cut; ++index)
      if (values[index] == 1)
        starts.push_back(index);
    std::vector<int64_t> sorted(bytes.begin() + 1, bytes.begin() + chain.cut);
    std::sort(sorted.begin(), sorted.end());
    int64_t limit = sorted[sorted.size() / 4];
    if (starts.size() < fewParts) {
      starts.resize(1);
      chain.isGuess = true;
      for (int32_t index = 1; index < chain.cut; ++index)
        if (bytes[index] <= limit)
          starts.push_back(index);
    }
    if (starts.size() > mostParts) {
      std::vector<int32_t> fewer;
      for (size_t index = 0; index < mostParts; ++index)
        fewer.push_back(starts[index * starts.size() / mostParts]);
      starts = std::move(fewer);
    }
  }
  llvm::SmallVector<bool, 64> isBlock(starts.size(), true);
  setParts(starts, isBlock);
}

/// The part whose backward the op at `index` belongs to, -1 where it does not say.
int32_t ChainFinder::partServedBy(int32_t index) const {
  const Op &op = opAt(index);
  if (op.phase == Phase::Update)
    return -1;
  if (op.block) {
    auto it = partOfLabel.find(*op.block);
    if (it != partOfLabel.end())
      return it->second;
  }
  int32_t part = -1;
  for (ValueIndex value : op.reads) {
    OpIndex writer = graph.writer(value);
    if (writer < 0 || chain.partOf[writer] < 0)
      continue;
    int32_t low = INT32_MAX, high = -1;
    for (OpIndex reader : graph.readers(value))
      if (chain.partOf[reader] >= 0) {
        low = std::min(low, chain.partOf[reader]);
        high = std::max(high, chain.partOf[reader]);
      }
    if (high < 0)
      low = high = chain.partOf[writer];
    if (high - low <= 1) // a value that many parts read says nothing
      part = std::max(part, high);
  }
  return part;
}

/// Stretches come from the longest non-increasing run of parts that the backward's ops serve, so
/// that single ops out of turn (deferred weight gradients, tied embeddings) do not tear the chain.
void ChainFinder::assignStretches() {
  chain.stretchOf.assign(count, 0);
  std::vector<int32_t> at, part;
  for (int32_t index = chain.cut; index < count; ++index)
    if (int32_t served = partServedBy(index); served >= 0) {
      at.push_back(index);
      part.push_back(served);
    }
  std::vector<int32_t> tails,
      previous(at.size(), -1); // patience: tails[l] ends the best run of length l + 1
  for (size_t index = 0; index < at.size(); ++index) {
    auto it = std::partition_point(tails.begin(), tails.end(),
                                   [&](int32_t tail) { return part[tail] >= part[index]; });
    if (it != tails.begin())
      previous[index] = *std::prev(it);
    if (it == tails.end())
      tails.push_back(static_cast<int32_t>(index));
    else
      *it = static_cast<int32_t>(index);
  }
  std::vector<int32_t> served(count, -1);
  for (int32_t index = tails.empty() ? -1 : tails.back(); index >= 0; index = previous[index])
    served[at[index]] = part[index];
  int32_t stretch = 1;
  int32_t updates = count; // the trailing run of updates
  while (updates > chain.cut && opAt(updates - 1).phase == Phase::Update)
    --updates;
  for (int32_t index = chain.cut; index < count; ++index) {
    if (served[index] >= 0)
      stretch = std::max(stretch, chain.backwardStretch(served[index]));
    chain.stretchOf[index] = index >= updates ? chain.numParts + 1 : stretch;
  }
}

Chain llmmem::planning::findChain(const Graph &graph, std::vector<OpIndex> order) {
  return ChainFinder(graph, std::move(order)).run();
}
