//===- Blocks.cpp - A training step as a chain of stages ----------------------===//

#include "llmmem/Planning/Model/Blocks.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Hashing.h"
#include <algorithm>
#include <map>

using namespace llmmem::planning;

namespace {
/// Cuts one order into a chain.
class ChainFinder {
public:
  ChainFinder(const Graph &graph, std::vector<OpIndex> order, std::optional<int32_t> cut)
      : graph(graph), knownCut(cut) {
    chain.order = std::move(order);
    count = static_cast<int32_t>(chain.order.size());
    position.resize(graph.numOps());
    for (int32_t index = 0; index < count; ++index)
      position[chain.order[index]] = index;
    chain.stageOf.assign(graph.numOps(), -1);
  }

  Chain run() {
    findCut();
    if (!stagesFromLabels() && !stagesFromRepeats()) {
      findCutByHeld();
      stagesFromNarrowPoints();
    }
    assignSegments();
    return std::move(chain);
  }

private:
  const Op &opAt(int32_t index) const { return graph.op(chain.order[index]); }

  void findCut();
  void findCutByHeld();
  std::vector<int64_t> unreadBytes() const;
  bool stagesFromLabels();
  bool stagesFromRepeats();
  void stagesFromNarrowPoints();
  void assignSegments();
  void setStages(llvm::ArrayRef<int32_t> starts, llvm::ArrayRef<bool> isBlock);
  struct Crossing {
    std::vector<int64_t> bytes;
    std::vector<int32_t> values;
  };
  Crossing crossing() const;
  struct Blocks {
    int32_t first, count;
  };
  Blocks blocksOf(const TandemRepeat &repeat, int32_t shift) const;
  Blocks bestRotation(const TandemRepeat &repeat) const;
  uint64_t shapeOf(int32_t index) const;
  bool areAlike(int32_t first, int32_t second, int32_t length) const;
  int32_t stageServedBy(int32_t index) const;
  std::vector<int64_t> gradientBytes() const;
  void splitGaps(llvm::ArrayRef<int32_t> served);

  const Graph &graph;
  std::optional<int32_t> knownCut;
  Chain chain;
  int32_t count = 0;
  std::vector<int32_t> position;
  std::map<int64_t, int32_t> stageOfLabel;
};
} // namespace

/// Returns, for each pair of neighbouring ops (index - 1, index), the bytes written and not yet
/// read by any op.
std::vector<int64_t> ChainFinder::unreadBytes() const {
  constexpr int32_t soon = 8;
  std::vector<int64_t> unread(count + 1, 0);
  for (ValueIndex value = 0; value < graph.numValues(); ++value) {
    OpIndex writer = graph.writer(value);
    if (writer < 0 || graph.readers(value).empty())
      continue;
    int32_t first = count;
    for (OpIndex reader : graph.readers(value))
      first = std::min(first, position[reader]);
    if (first - position[writer] > soon)
      continue; // It is saved for the backward alone, so it is live at the loss and everywhere
                // else.
    unread[position[writer] + 1] += graph.bytes(value);
    unread[first + 1] -= graph.bytes(value);
  }
  for (int32_t index = 1; index < count; ++index)
    unread[index] += unread[index - 1];
  return unread;
}

/// Labels say where the forward ends. Without labels it ends near the step that holds most, at the
/// position where the fewest bytes have no reader yet (at the loss everything but a scalar has been
/// read), the nearest one on a tie.
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
  if (knownCut) {
    chain.cut = *knownCut;
    return;
  }
  std::vector<int64_t> bytes = profile(graph, chain.order).bytes;
  int32_t fullest =
      static_cast<int32_t>(std::max_element(bytes.begin(), bytes.end()) - bytes.begin());
  std::vector<int64_t> unread = unreadBytes();
  int32_t margin = std::clamp(count / 20, 2, 40);
  std::pair<int64_t, int32_t> best{INT64_MAX, 0}; // in a chain of equal ops all positions tie
  for (int32_t index = 0; index < count; ++index) {
    const int32_t distance = std::abs(index - fullest);
    if (distance <= margin && std::pair(unread[index], distance) < best) {
      best = {unread[index], distance};
      chain.cut = index;
    }
  }
}

/// Without labels and repeats, sizes are too unequal for the fewest unread bytes to tell the loss
/// from a narrow position in the backward. The bytes held between two ops still tell: in a chain
/// they grow up to the loss and shrink after it.
void ChainFinder::findCutByHeld() {
  if (graph.numOps() == 0 || knownCut ||
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
  std::vector<int64_t> unread = unreadBytes();
  std::pair<int64_t, int64_t> best{INT64_MIN, 0}; // most bytes held; on a tie, fewest bytes unread
  int64_t held = 0;
  for (int32_t index = 0; index < count; ++index) {
    held += change[index];
    if (std::pair(held, -unread[index]) > best) {
      best = {held, -unread[index]};
      chain.cut = index;
    }
  }
}

void ChainFinder::setStages(llvm::ArrayRef<int32_t> starts, llvm::ArrayRef<bool> isBlock) {
  chain.numStages = static_cast<int32_t>(starts.size());
  chain.isBlock.assign(isBlock.begin(), isBlock.end());
  for (int32_t stage = 0; stage < chain.numStages; ++stage) {
    int32_t end = stage + 1 < chain.numStages ? starts[stage + 1] : chain.cut;
    for (int32_t index = starts[stage]; index < end; ++index)
      chain.stageOf[chain.order[index]] = stage;
  }
}

bool ChainFinder::stagesFromLabels() {
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
      stageOfLabel[*label] = static_cast<int32_t>(starts.size()) - 1;
    }
  }
  setStages(starts, isBlock);
  return true;
}

/// Returns a hash of what equal ops of two blocks have in common: cost, sizes, and how far back the
/// operands are written, in whatever order they are listed. Names are left out, as they carry layer
/// numbers. Operands from far away are shared ones (masks, tables).
uint64_t ChainFinder::shapeOf(int32_t index) const {
  constexpr int32_t farAway = 200;
  const Op &op = opAt(index);
  llvm::SmallVector<std::pair<int64_t, int32_t>, 8> operands;
  for (ValueIndex value : op.reads) {
    OpIndex writer = graph.writer(value);
    int32_t distance = writer < 0 ? 0 : std::min(index - position[writer], farAway);
    operands.push_back({graph.problem().values[value].bytes, distance});
  }
  llvm::sort(operands);
  llvm::hash_code hash = llvm::hash_combine(op.cost, op.workspace, op.recompute, op.reads.size());
  for (auto [bytes, distance] : operands)
    hash = llvm::hash_combine(hash, bytes, distance);
  for (ValueIndex value : op.writes)
    hash = llvm::hash_combine(hash, graph.problem().values[value].bytes);
  return hash;
}

/// Says whether the ops of two ranges have equal costs and sizes, wherever their operands come
/// from.
bool ChainFinder::areAlike(int32_t first, int32_t second, int32_t length) const {
  auto sizes = [&](const Op &op) {
    llvm::SmallVector<int64_t, 16> all{op.cost, op.workspace, int64_t(op.recompute),
                                       int64_t(op.reads.size())};
    for (const std::vector<ValueIndex> *values : {&op.reads, &op.writes}) {
      const size_t start = all.size();
      for (ValueIndex value : *values)
        all.push_back(graph.problem().values[value].bytes);
      std::sort(all.begin() + start, all.end());
    }
    return all;
  };
  for (int32_t index = 0; index < length; ++index)
    if (sizes(opAt(first + index)) != sizes(opAt(second + index)))
      return false;
  return true;
}

/// Returns, per position, what crosses it in the forward: the values written before it and read by
/// the forward after it.
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
  // Only a distance between neighbouring occurrences of an element can be the period.
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
      // The longest cover wins; on a tie the shorter period, which splits finer. An op repeated
      // inside a block covers less and loses.
      if (periods >= 2 && (cover > bestCover || (cover == bestCover && period < best.period))) {
        bestCover = cover;
        best = {index - run, period, periods};
      }
      run = 0;
    }
  }
  return best;
}

/// Returns the blocks of a repeat that begin `shift` after its start. The first block's operands
/// may come from elsewhere, which leaves it outside of the repeat; so do operands from far away in
/// the last one.
ChainFinder::Blocks ChainFinder::blocksOf(const TandemRepeat &repeat, int32_t shift) const {
  const int32_t period = repeat.period;
  int32_t first = repeat.start + shift, last = repeat.start + period * repeat.count;
  while (first - period >= 0 &&
         (first - period >= repeat.start - period / 2 || areAlike(first - period, first, period)))
    first -= period;
  while (last + period <= chain.cut && areAlike(last - period, last, period))
    last += period;
  if (int32_t rest = (last - first) % period)
    if (int32_t end = last - rest; end + period <= chain.cut && areAlike(end - period, end, period))
      last = end + period;
  return {first, (last - first) / period};
}

/// Chooses a rotation of the repeat; any rotation is a repeat. It begins at the position that the
/// fewest bytes cross, which is the block's input. The residual crosses between attention and
/// feed-forward too, where blocks leave halves of blocks at both ends. So among equal positions it
/// takes the one that gives the most blocks.
ChainFinder::Blocks ChainFinder::bestRotation(const TandemRepeat &repeat) const {
  const std::vector<int64_t> bytes = crossing().bytes;
  const int32_t middle = repeat.start + repeat.period * ((repeat.count - 1) / 2);
  const int64_t fewest =
      *std::min_element(bytes.begin() + middle, bytes.begin() + middle + repeat.period);
  Blocks best{0, 0};
  for (int32_t shift = 0; shift < repeat.period; ++shift)
    if (bytes[middle + shift] == fewest)
      if (const Blocks blocks = blocksOf(repeat, shift); blocks.count > best.count)
        best = blocks;
  return best;
}

bool ChainFinder::stagesFromRepeats() {
  std::vector<uint64_t> shapes(chain.cut);
  for (int32_t index = 0; index < chain.cut; ++index)
    shapes[index] = shapeOf(index);
  TandemRepeat repeat = findTandemRepeat(shapes);
  if (repeat.count < 2 || int64_t(repeat.count) * repeat.period * 2 < chain.cut)
    return false;
  chain.hasRepeats = true;
  const Blocks blocks = bestRotation(repeat);
  std::vector<int32_t> starts;
  llvm::SmallVector<bool, 64> isBlock;
  if (blocks.first > 0) {
    starts.push_back(0);
    isBlock.push_back(false);
  }
  int32_t at = blocks.first;
  for (int32_t block = 0; block < blocks.count; ++block, at += repeat.period) {
    starts.push_back(at);
    isBlock.push_back(true);
  }
  if (at < chain.cut) {
    starts.push_back(at);
    isBlock.push_back(false);
  }
  setStages(starts, isBlock);
  return true;
}

/// Without repeats, a stage ends wherever a single value crosses, however large, since stages of
/// unequal sizes still form a chain. Where that is too rare, a stage ends wherever no more bytes
/// cross than at the narrowest quarter of all positions.
void ChainFinder::stagesFromNarrowPoints() {
  constexpr size_t mostStages = 128, fewStages = 4;
  std::vector<int32_t> starts{0};
  if (chain.cut > 1) {
    auto [bytes, values] = crossing();
    for (int32_t index = 1; index < chain.cut; ++index)
      if (values[index] == 1)
        starts.push_back(index);
    std::vector<int64_t> sorted(bytes.begin() + 1, bytes.begin() + chain.cut);
    std::sort(sorted.begin(), sorted.end());
    int64_t limit = sorted[sorted.size() / 4];
    if (starts.size() < fewStages) {
      starts.resize(1);
      chain.isGuess = true;
      for (int32_t index = 1; index < chain.cut; ++index)
        if (bytes[index] <= limit)
          starts.push_back(index);
    }
    if (starts.size() > mostStages) {
      std::vector<int32_t> fewer;
      for (size_t index = 0; index < mostStages; ++index)
        fewer.push_back(starts[index * starts.size() / mostStages]);
      starts = std::move(fewer);
    }
  }
  llvm::SmallVector<bool, 64> isBlock(starts.size(), true);
  setStages(starts, isBlock);
}

/// Returns the stage whose backward the op at `index` belongs to, or -1 where its operands do not
/// tell.
int32_t ChainFinder::stageServedBy(int32_t index) const {
  const Op &op = opAt(index);
  if (op.phase == Phase::Update)
    return -1;
  if (op.block) {
    auto it = stageOfLabel.find(*op.block);
    if (it != stageOfLabel.end())
      return it->second;
  }
  int32_t stage = -1;
  for (ValueIndex value : op.reads) {
    OpIndex writer = graph.writer(value);
    if (writer < 0 || chain.stageOf[writer] < 0 || graph.bytes(value) == 0)
      continue; // a token of order ties an update to a forward that it does not serve
    int32_t low = INT32_MAX, high = -1;
    for (OpIndex reader : graph.readers(value))
      if (chain.stageOf[reader] >= 0) {
        low = std::min(low, chain.stageOf[reader]);
        high = std::max(high, chain.stageOf[reader]);
      }
    if (high < 0)
      low = high = chain.stageOf[writer];
    if (high - low <= 1) // a value that many stages read belongs to none of them
      stage = std::max(stage, high);
  }
  return stage;
}

/// Segments come from the longest non-increasing subsequence of the stages that the backward's ops
/// belong to, so that single ops out of order (deferred weight gradients, tied embeddings) do not
/// break the chain.
void ChainFinder::assignSegments() {
  chain.segmentOf.assign(count, 0);
  std::vector<int32_t> at, stage;
  for (int32_t index = chain.cut; index < count; ++index)
    if (int32_t served = stageServedBy(index); served >= 0) {
      at.push_back(index);
      stage.push_back(served);
    }
  std::vector<int32_t> tails,
      previous(at.size(), -1); // patience sorting: tails[l] ends the best run of length l + 1
  for (size_t index = 0; index < at.size(); ++index) {
    auto it = std::partition_point(tails.begin(), tails.end(),
                                   [&](int32_t tail) { return stage[tail] >= stage[index]; });
    if (it != tails.begin())
      previous[index] = *std::prev(it);
    if (it == tails.end())
      tails.push_back(static_cast<int32_t>(index));
    else
      *it = static_cast<int32_t>(index);
  }
  // In random layered graphs, at most three quarters of the ops that tell their stage are in turn;
  // in training steps all of them are.
  chain.isInTurn = !at.empty() && tails.size() * 10 >= at.size() * 9;
  std::vector<int32_t> served(count, -1);
  for (int32_t index = tails.empty() ? -1 : tails.back(); index >= 0; index = previous[index])
    served[at[index]] = stage[index];
  int32_t segment = 1;
  int32_t updates = count; // the trailing run of updates
  while (updates > chain.cut && opAt(updates - 1).phase == Phase::Update)
    --updates;
  for (int32_t index = chain.cut; index < count; ++index) {
    if (served[index] >= 0)
      segment = std::max(segment, chain.backwardSegment(served[index]));
    chain.segmentOf[index] = index >= updates ? chain.numStages + 1 : segment;
  }
  if (stageOfLabel.empty())
    splitGaps(served);
}

/// Returns, for each pair of neighbouring ops (index - 1, index), the bytes that the backward has
/// written before and reads after.
std::vector<int64_t> ChainFinder::gradientBytes() const {
  std::vector<int64_t> bytes(count + 1, 0);
  for (ValueIndex value = 0; value < graph.numValues(); ++value) {
    const OpIndex writer = graph.writer(value);
    if (writer < 0 || position[writer] < chain.cut)
      continue;
    int32_t last = position[writer];
    for (OpIndex reader : graph.readers(value))
      last = std::max(last, position[reader]);
    bytes[position[writer] + 1] += graph.bytes(value);
    bytes[last + 1] -= graph.bytes(value);
  }
  for (int32_t index = 1; index <= count; ++index)
    bytes[index] += bytes[index - 1];
  return bytes;
}

/// Assigns a segment to ops that read nothing of the forward. Such an op, for example the product
/// that takes a block's gradient to that of its last weight's input, does not say to which segment
/// it belongs. Between the last op of one segment and the first op that is known to belong to the
/// next, the next one begins where the fewest bytes cross.
void ChainFinder::splitGaps(llvm::ArrayRef<int32_t> served) {
  const std::vector<int64_t> bytes = gradientBytes();
  int32_t last = chain.cut - 1; // the last op whose segment is known
  for (int32_t index = chain.cut; index < count; ++index) {
    if (served[index] < 0)
      continue;
    const int32_t segment = chain.segmentOf[index];
    if (last >= chain.cut ? chain.segmentOf[last] < segment : segment > 1) {
      int32_t start = index;
      for (int32_t candidate = index - 1; candidate > last; --candidate)
        if (bytes[candidate] < bytes[start])
          start = candidate;
      std::fill(chain.segmentOf.begin() + start, chain.segmentOf.begin() + index, segment);
    }
    last = index;
  }
}

Chain llmmem::planning::findChain(const Graph &graph, std::vector<OpIndex> order,
                                  std::optional<int32_t> cut) {
  return ChainFinder(graph, std::move(order), cut).run();
}
