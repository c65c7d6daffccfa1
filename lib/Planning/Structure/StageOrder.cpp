//===- StageOrder.cpp - Better orders within the stages of a chain ------------------===//

#include "StageOrder.h"
#include "PeakMoves.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/bit.h"
#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

using namespace llmmem::planning;

namespace {
/// A list of ops as a problem of its own: what others write is an input, what others still read is
/// kept.
class Part {
public:
  /// `outlives`: whether a value is needed after the last of `ops`.
  Part(const Graph &graph, llvm::ArrayRef<OpIndex> ops,
       llvm::function_ref<bool(ValueIndex)> outlives);

  Graph makeGraph(Cancellation *cancellation) const { return Graph(problem, cancellation); }
  /// Describes the part by numbers that equal parts share.
  std::vector<int64_t> describe() const;
  /// The same, whatever the order is in which an op names its operands, results and pairs.
  std::vector<int64_t> describeUnordered() const;

  Problem problem; // its ops are numbered as in the list

private:
  std::vector<std::vector<int64_t>> describeValues() const;
};

/// What a stage's order is judged by; less is better.
using Score = std::tuple<int64_t, int64_t, int64_t>;
constexpr Score worstScore{INT64_MAX, INT64_MAX, INT64_MAX};

/// One stage and its backward: ops 0 to numForward - 1 are the forward.
class Stage {
public:
  Stage(const Graph &graph, const Part &whole, const Part &backward, int32_t numForward);
  ~Stage();

  /// Moves ops of the backward across its fullest steps until nothing improves or `work` (ops
  /// visited) is spent.
  void lowerPeaks(int64_t &work);
  /// Moves ops, those of the forward too where it `isFree`, until the same.
  void improve(bool isFree, int64_t &work);
  /// Moves ops of the backward that `needsGradient` does not name behind all that does not read
  /// them, where neither peak rises by it.
  void postpone(const std::vector<bool> &needsGradient, int64_t &work);
  /// The ops of the forward, then those of the backward.
  std::vector<OpIndex> order() const;

private:
  using Order = std::vector<OpIndex>;
  /// Both with the fullest step, a position in `backward`.
  struct Usage {
    Profile lean, full;
    int32_t fullestOfLean;
  };
  /// The work of one measurement.
  void spend(int64_t &work) const {
    graph.poll();
    work -= graph.numOps() + held.numOps();
  }
  Usage measure(int64_t &work, int64_t mostPeak = INT64_MAX);
  Score score(int64_t &work, const Score &best);
  const Profile &measureBackward();
  Order aloneOrder() const;
  bool moveAcrossFullest(Score &best, int64_t &work);
  std::vector<OpIndex> recomputing() const;
  bool improveEach(Order &list, Score &best, int64_t &work);
  class Window;
  Window &windowOf(int32_t begin, int32_t end);
  /// Ops of the forward, by their places: those that were recomputed, with all that they need.
  using There = llvm::SmallVector<uint64_t, 4>;
  static constexpr int32_t bitsOfWord = 64;
  There noneThere() const { return There(numWords, 0); }
  const uint64_t *neededBy(OpIndex op) const { return &needed[(op - numForward) * numWords]; }
  void markNeeded(OpIndex op, llvm::MutableArrayRef<uint64_t> marked) const;
  void numberForward();
  void recomputeFor(OpIndex op, There &isThere, Order &steps) const;
  bool dependsOn(OpIndex later, OpIndex earlier) const;
  bool moveBest(Order &list, int32_t from, Score &best, int64_t &work);

  const Graph graph, held; // the whole stage; its backward alone
  int32_t numForward;
  size_t numWords; // of a bit for each op of the forward
  Order forward, backward;
  Order numberedForward;        // the forward as it was when the next two were made
  std::vector<int32_t> place;   // per op of the forward: position in it
  std::vector<uint64_t> needed; // per op of the backward: what it needs of the forward
  Order measuredBackward;       // and its profile alone
  Profile backwardAlone;
  /// Per op: how many moves had been made when all of its own were tried, and the work of that.
  struct Tried {
    int64_t numMoves = -1, work = 0;
  };
  std::vector<Tried> tried;
  int64_t numMoves = 0;
  std::unique_ptr<Window> window;
};
} // namespace

Part::Part(const Graph &graph, llvm::ArrayRef<OpIndex> ops,
           llvm::function_ref<bool(ValueIndex)> outlives) {
  llvm::DenseMap<ValueIndex, ValueIndex> local;
  problem.alignment = graph.problem().alignment;
  auto valueOf = [&](ValueIndex value) {
    auto [it, isNew] = local.try_emplace(value, ValueIndex(problem.values.size()));
    if (isNew) {
      problem.values.push_back(graph.problem().values[value]);
      problem.values.back().name.clear();
      if (outlives(value))
        problem.keep.push_back(it->second);
    }
    return it->second;
  };
  for (OpIndex index : ops) {
    const Op &op = graph.op(index);
    Op copy;
    copy.cost = op.cost;
    copy.workspace = op.workspace;
    copy.recompute = op.recompute;
    for (ValueIndex value : op.reads)
      copy.reads.push_back(valueOf(value));
    for (ValueIndex value : op.writes)
      copy.writes.push_back(valueOf(value));
    for (const InPlace &pair : op.inPlace)
      copy.inPlace.push_back({valueOf(pair.write), valueOf(pair.read)});
    problem.ops.push_back(std::move(copy));
  }
}

std::vector<int64_t> Part::describe() const {
  std::vector<int64_t> text;
  for (const Op &op : problem.ops) {
    text.insert(text.end(), {op.cost, op.workspace, op.recompute, int64_t(op.reads.size()),
                             int64_t(op.writes.size()), int64_t(op.inPlace.size())});
    text.insert(text.end(), op.reads.begin(), op.reads.end());
    text.insert(text.end(), op.writes.begin(), op.writes.end());
    for (const InPlace &pair : op.inPlace)
      text.insert(text.end(), {pair.write, pair.read});
  }
  for (const Value &value : problem.values)
    text.insert(text.end(), {value.bytes, value.resident});
  text.insert(text.end(), problem.keep.begin(), problem.keep.end());
  return text;
}

/// Per value: what it says of itself, and the ops that name it.
std::vector<std::vector<int64_t>> Part::describeValues() const {
  std::vector<std::vector<int64_t>> texts;
  for (const Value &value : problem.values)
    texts.push_back({value.bytes, value.resident, false});
  for (ValueIndex value : problem.keep)
    texts[value].back() = true;
  for (const auto &[index, op] : llvm::enumerate(problem.ops)) {
    for (ValueIndex value : op.reads)
      texts[value].push_back(static_cast<int64_t>(2 * index));
    for (ValueIndex value : op.writes)
      texts[value].push_back(static_cast<int64_t>(2 * index + 1));
  }
  return texts;
}

/// Values are numbered by what describes them; those that nothing tells apart are exchangeable.
std::vector<int64_t> Part::describeUnordered() const {
  const std::vector<std::vector<int64_t>> texts = describeValues();
  std::vector<ValueIndex> values(texts.size()), numberOf(texts.size());
  std::iota(values.begin(), values.end(), 0);
  llvm::stable_sort(values, [&](ValueIndex a, ValueIndex b) { return texts[a] < texts[b]; });
  std::vector<int64_t> text;
  for (const auto &[number, value] : llvm::enumerate(values)) {
    numberOf[value] = static_cast<ValueIndex>(number);
    text.push_back(static_cast<int64_t>(texts[value].size()));
    llvm::append_range(text, texts[value]);
  }
  for (const Op &op : problem.ops) {
    std::vector<std::pair<int64_t, int64_t>> pairs;
    for (const InPlace &pair : op.inPlace)
      pairs.push_back({numberOf[pair.write], numberOf[pair.read]});
    llvm::sort(pairs);
    text.insert(text.end(), {op.cost, op.workspace, op.recompute, int64_t(pairs.size())});
    for (auto [write, read] : pairs)
      text.insert(text.end(), {write, read});
  }
  return text;
}

Stage::Stage(const Graph &whole, const Part &all, const Part &backwardAlone, int32_t numForward)
    : graph(all.makeGraph(whole.cancellation())),
      held(backwardAlone.makeGraph(whole.cancellation())), numForward(numForward),
      numWords(numForward / bitsOfWord + 1), place(numForward), tried(graph.numOps()) {
  for (OpIndex op = 0; op < graph.numOps(); ++op)
    (op < numForward ? forward : backward).push_back(op);
}

/// Marks what `op` needs of the forward, directly or not.
void Stage::markNeeded(OpIndex op, llvm::MutableArrayRef<uint64_t> marked) const {
  for (ValueIndex value : graph.reads(op)) {
    const OpIndex writer = graph.writer(value);
    if (writer < 0 || writer >= numForward)
      continue;
    uint64_t &word = marked[place[writer] / bitsOfWord];
    const uint64_t bit = uint64_t(1) << place[writer] % bitsOfWord;
    if (word & bit)
      continue;
    word |= bit;
    markNeeded(writer, marked);
  }
}

/// By the order of the forward, which has changed.
void Stage::numberForward() {
  if (numberedForward == forward && !needed.empty())
    return;
  numberedForward = forward;
  for (int32_t index = 0; index < numForward; ++index)
    place[forward[index]] = index;
  needed.assign(backward.size() * numWords, 0);
  for (OpIndex op : backward)
    markNeeded(op, llvm::MutableArrayRef(needed).slice((op - numForward) * numWords, numWords));
}

/// Adds `op`, and before it what it needs and is not there, in the order of the forward.
void Stage::recomputeFor(OpIndex op, There &isThere, Order &steps) const {
  const uint64_t *const needs = neededBy(op);
  for (size_t word = 0; word < numWords; ++word) {
    for (uint64_t missing = needs[word] & ~isThere[word]; missing; missing &= missing - 1)
      steps.push_back(forward[word * bitsOfWord + llvm::countr_zero(missing)]);
    isThere[word] |= needs[word];
  }
  steps.push_back(op);
}

/// The backward with the forward recomputed just in time, as Recompute.h realizes it.
std::vector<OpIndex> Stage::recomputing() const {
  Order steps;
  steps.reserve(graph.numOps());
  There isThere = noneThere();
  for (OpIndex op : backward)
    recomputeFor(op, isThere, steps);
  return steps;
}

/// The backward in the numbers of `held`.
Stage::Order Stage::aloneOrder() const {
  Order alone;
  for (OpIndex op : backward)
    alone.push_back(op - numForward);
  return alone;
}

/// Where the peak of `lean` is above `mostPeak`, nothing else is measured.
Stage::Usage Stage::measure(int64_t &work, int64_t mostPeak) {
  spend(work);
  numberForward();
  const Order steps = recomputing();
  Usage usage{profile(graph, steps, mostPeak), {}, 0};
  if (usage.lean.peak > mostPeak)
    return usage;
  usage.full = measureBackward();
  // What is recomputed belongs to the op that it is recomputed for.
  usage.fullestOfLean = static_cast<int32_t>(
      std::count_if(steps.begin(), steps.begin() + std::max(usage.lean.peakStep, 0),
                    [&](OpIndex op) { return op >= numForward; }));
  return usage;
}

/// Moves in the forward leave it as it is.
const Profile &Stage::measureBackward() {
  if (measuredBackward != backward) {
    measuredBackward = backward;
    backwardAlone = profile(held, aloneOrder());
  }
  return backwardAlone;
}

/// Of thousands of steps with terabytes each.
static int64_t sumOf(int64_t bytes) { return bytes / 64; }

/// No score that is worse than `best` is exact.
Score Stage::score(int64_t &work, const Score &best) {
  const Usage usage = measure(work, std::get<0>(best));
  int64_t sum = 0;
  for (const Profile *each : {&usage.lean, &usage.full})
    for (int64_t bytes : each->bytes)
      sum += sumOf(bytes);
  return {usage.lean.peak, usage.full.peak, sum};
}

/// The move that frees most and improves the order at all.
bool Stage::moveAcrossFullest(Score &best, int64_t &work) {
  const Usage usage = measure(work);
  for (int32_t fullest : {usage.fullestOfLean, usage.full.peakStep}) {
    if (fullest < 0)
      continue;
    for (const Order &alone : moveAcross(held, aloneOrder(), fullest)) {
      const Order before = backward;
      llvm::transform(alone, backward.begin(), [&](OpIndex op) { return op + numForward; });
      if (Score now = score(work, best); now < best) {
        best = now;
        return true;
      }
      backward = before;
      if (work <= 0)
        return false;
    }
  }
  return false;
}

void Stage::lowerPeaks(int64_t &work) {
  Score best = score(work, worstScore);
  while (work > 0 && moveAcrossFullest(best, work)) {
  }
}

/// Orders of the backward that have one op elsewhere between two of its positions. What runs for an
/// op and what is live there hang on which ops ran before, not on their order. So each op that the
/// moved one passes is measured once, with that one behind it or before it, for all positions.
class Stage::Window {
public:
  explicit Window(Stage &stage)
      : stage(stage), lean{stage.graph, true}, full{stage.held, false}, scan(stage.graph),
        scanOfMoved(stage.graph) {}
  /// Measures the order as it is now; an op moves within [begin, end).
  void renew(int32_t begin, int32_t end);
  bool isOf(int64_t moves, int32_t from, int32_t to) const {
    return numMoves == moves && begin <= from && to <= end;
  }

  /// As `Stage::score` would with the op at `from` moved to each position of [low, high], where
  /// that is not above the peak `mostPeak`; until the next call.
  llvm::ArrayRef<Score> score(int32_t from, int32_t low, int32_t high, int64_t mostPeak);

private:
  /// Of some steps.
  struct Sums {
    int64_t peak = 0, sum = 0;

    static Sums of(int64_t bytes) { return {bytes, sumOf(bytes)}; }
    Sums operator+(const Sums &other) const {
      return {std::max(peak, other.peak), sum + other.sum};
    }
  };
  /// Of the order as it is, at a position: what its steps before and behind it sum up to, and the
  /// scan of those behind.
  struct Place {
    Sums before, behind;
    BackwardScan scan;
  };
  /// The backward with the stage recomputed, or held.
  struct Side {
    const Graph &graph;
    bool recomputes;
    std::vector<Place> places{}; // at each position of [begin, end]
    std::vector<Sums> moved{};   // with the op moved to each position of [begin, end), so far
  };
  void measure(Side &side);
  const Place &at(const Side &side, int32_t position) const {
    return side.places[position - begin];
  }
  const uint64_t *isThereAt(int32_t position) const { return &isThere[position * stage.numWords]; }
  const uint64_t *isThereWithout(int32_t from, int32_t position) const {
    return &withoutMoved[(position - from - 1) * stage.numWords];
  }
  Sums run(const Side &side, BackwardScan &scan, OpIndex op, const uint64_t *isThere,
           const uint64_t *isThereToo) const;
  void moveEarlier(Side &side, int32_t from, int32_t low, int64_t mostPeak);
  void moveLater(Side &side, int32_t from, int32_t high, int64_t mostPeak);
  void findThereWithout(int32_t from, int32_t high);

  Stage &stage;
  int64_t numMoves = -1; // of the stage, when this was measured
  int32_t begin = 0, end = 0;
  std::vector<uint64_t> isThere; // at each position
  Side lean, full;
  BackwardScan scan, scanOfMoved;     // of a score, as are these
  std::vector<uint64_t> withoutMoved; // what is there at each position behind its own
  std::vector<Sums> passed;           // with the moved op behind them
  std::vector<Score> scores;
  std::vector<Sums> own; // per position; of a measurement
};

void Stage::Window::renew(int32_t from, int32_t to) {
  numMoves = stage.numMoves;
  begin = from;
  end = to;
  stage.numberForward();
  There there = stage.noneThere();
  isThere.clear();
  for (OpIndex op : stage.backward) {
    llvm::append_range(isThere, there);
    for (size_t word = 0; word < stage.numWords; ++word)
      there[word] |= stage.neededBy(op)[word];
  }
  measure(lean);
  measure(full);
}

void Stage::Window::measure(Side &side) {
  BackwardScan now(side.graph);
  side.places.resize(end + 1 - begin, {{}, {}, now});
  side.moved.resize(end - begin);
  own.resize(stage.backward.size());
  Sums behind{side.graph.residentBytes()};
  for (auto position = static_cast<int32_t>(own.size()); position >= 0; --position) {
    if (position >= begin && position <= end) {
      Place &place = side.places[position - begin];
      place.behind = behind;
      place.scan = now;
    }
    if (position == 0)
      break;
    const uint64_t *const there = isThereAt(position - 1);
    own[position - 1] = run(side, now, stage.backward[position - 1], there, there);
    behind = behind + own[position - 1];
  }
  Sums before;
  for (int32_t position = 0; position <= end; ++position) {
    if (position >= begin)
      side.places[position - begin].before = before;
    if (position < end)
      before = before + own[position];
  }
}

/// Of `op` just before what `scan` has visited, where some of the forward is there.
Stage::Window::Sums Stage::Window::run(const Side &side, BackwardScan &scan, OpIndex op,
                                       const uint64_t *isThere, const uint64_t *isThereToo) const {
  if (!side.recomputes)
    return Sums::of(scan.visit(op - stage.numForward));
  Sums sums = Sums::of(scan.visit(op));
  const uint64_t *const needs = stage.neededBy(op);
  for (size_t word = stage.numWords; word-- > 0;)
    for (uint64_t missing = needs[word] & ~(isThere[word] | isThereToo[word]); missing;) {
      const int last = bitsOfWord - 1 - llvm::countl_zero(missing);
      sums = sums + Sums::of(scan.visit(stage.forward[word * bitsOfWord + last]));
      missing ^= uint64_t(1) << last;
    }
  return sums;
}

/// To each position of [low, from), until all that are left are above `mostPeak`.
void Stage::Window::moveEarlier(Side &side, int32_t from, int32_t low, int64_t mostPeak) {
  const OpIndex op = stage.backward[from];
  Sums behind = at(side, from + 1).behind;
  scan = at(side, from + 1).scan;
  for (int32_t to = from - 1; to >= low; --to) {
    const uint64_t *const there = isThereAt(to);
    behind = behind + run(side, scan, stage.backward[to], there, stage.neededBy(op));
    if (behind.peak > mostPeak)
      return;
    scanOfMoved = scan;
    side.moved[to - begin] =
        at(side, to).before + run(side, scanOfMoved, op, there, there) + behind;
  }
}

/// To each position of (from, high], until the same.
void Stage::Window::moveLater(Side &side, int32_t from, int32_t high, int64_t mostPeak) {
  const OpIndex op = stage.backward[from];
  auto runWithout = [&](BackwardScan &scan, OpIndex op, int32_t position) {
    const uint64_t *const there = isThereWithout(from, position);
    return run(side, scan, op, there, there);
  };
  scan = at(side, high + 1).scan;
  const Sums last = runWithout(scan, op, high + 1);
  passed.resize(high + 1 - from);
  for (int32_t position = high; position > from; --position)
    passed[position - from] = runWithout(scan, stage.backward[position], position);
  Sums before = at(side, from).before;
  for (int32_t to = from + 1; to <= high; ++to) {
    before = before + passed[to - from];
    if (before.peak > mostPeak)
      return;
    const Place &place = at(side, to + 1);
    Sums own = last;
    if (to < high) {
      scanOfMoved = place.scan;
      own = runWithout(scanOfMoved, op, to + 1);
    }
    side.moved[to - begin] = before + own + place.behind;
  }
}

void Stage::Window::findThereWithout(int32_t from, int32_t high) {
  withoutMoved.assign(isThereAt(from), isThereAt(from) + stage.numWords);
  for (int32_t position = from + 1; position <= high; ++position) {
    const uint64_t *const needs = stage.neededBy(stage.backward[position]);
    for (size_t word = 0; word < stage.numWords; ++word)
      withoutMoved.push_back(withoutMoved[withoutMoved.size() - stage.numWords] | needs[word]);
  }
}

llvm::ArrayRef<Score> Stage::Window::score(int32_t from, int32_t low, int32_t high,
                                           int64_t mostPeak) {
  scores.assign(high + 1 - low, worstScore);
  for (int32_t to = low; to <= high; ++to)
    lean.moved[to - begin].peak = INT64_MAX;
  findThereWithout(from, high);
  moveEarlier(lean, from, low, mostPeak);
  moveLater(lean, from, high, mostPeak);
  // Where the peak of `lean` is above, nothing else is measured.
  auto isAbove = [&](int32_t to) { return lean.moved[to - begin].peak > mostPeak; };
  int32_t first = low, last = high;
  while (first < from && isAbove(first))
    ++first;
  while (last > from && isAbove(last))
    --last;
  moveEarlier(full, from, first, INT64_MAX);
  moveLater(full, from, last, INT64_MAX);
  for (int32_t to = first; to <= last; ++to) {
    const Sums &ofLean = lean.moved[to - begin], &ofFull = full.moved[to - begin];
    if (to != from)
      scores[to - low] = {ofLean.peak, ofFull.peak, ofLean.sum + ofFull.sum};
  }
  return scores;
}

/// Of the whole backward, which serves all ops until one moves, where its scans take little memory.
Stage::Window &Stage::windowOf(int32_t begin, int32_t end) {
  constexpr size_t mostOps = 1000;
  if (window && window->isOf(numMoves, begin, end))
    return *window;
  if (backward.size() <= mostOps) {
    begin = 0;
    end = static_cast<int32_t>(backward.size());
  }
  if (!window)
    window = std::make_unique<Window>(*this);
  window->renew(begin, end);
  return *window;
}

Stage::~Stage() = default;

bool Stage::dependsOn(OpIndex later, OpIndex earlier) const {
  return llvm::any_of(graph.reads(later),
                      [&](ValueIndex value) { return graph.writer(value) == earlier; });
}

/// Moves the op at `from` to the best place between its operands' writers and its readers.
bool Stage::moveBest(Order &list, int32_t from, Score &best, int64_t &work) {
  const OpIndex op = list[from];
  const int32_t count = static_cast<int32_t>(list.size());
  int32_t low = from, high = from, target = from;
  while (low > 0 && !dependsOn(op, list[low - 1]))
    --low;
  while (high + 1 < count && !dependsOn(list[high + 1], op))
    ++high;
  Window *const window = &list == &backward && low < high ? &windowOf(low, high + 1) : nullptr;
  auto move = [&](int32_t here, int32_t there) {
    const auto at = list.begin();
    here < there ? std::rotate(at + here, at + here + 1, at + there + 1)
                 : std::rotate(at + there, at + here, at + here + 1);
  };
  llvm::ArrayRef<Score> scores;
  if (window)
    scores = window->score(from, low, high, std::get<0>(best));
  auto scoreAt = [&](int32_t to) {
    if (window) {
      spend(work);
      return scores[to - low];
    }
    move(from, to);
    const Score found = score(work, best);
    move(to, from);
    return found;
  };
  for (int32_t to = low; to <= high && work > 0; ++to) {
    if (to == from)
      continue;
    if (const Score now = scoreAt(to); now < best) {
      best = now;
      target = to;
    }
  }
  move(from, target);
  return target != from;
}

/// An op whose moves were all tried since the last one that was made is not tried again.
bool Stage::improveEach(Order &list, Score &best, int64_t &work) {
  bool isImproved = false;
  for (int32_t index = 0; index < static_cast<int32_t>(list.size()) && work > 0; ++index) {
    Tried &last = tried[list[index]];
    if (last.numMoves == numMoves) {
      work -= last.work; // as if it had been
      continue;
    }
    const int64_t before = work;
    if (moveBest(list, index, best, work)) {
      isImproved = true;
      ++numMoves;
    } else {
      last = {numMoves, before - work};
    }
  }
  return isImproved;
}

void Stage::improve(bool isFree, int64_t &work) {
  Score best = score(work, worstScore);
  for (bool isImproved = true; isImproved && work > 0;) {
    isImproved = improveEach(backward, best, work);
    if (isFree)
      isImproved |= improveEach(forward, best, work);
  }
}

void Stage::postpone(const std::vector<bool> &needsGradient, int64_t &work) {
  const auto last = static_cast<int32_t>(backward.size()) - 1;
  for (int32_t from = last - 1; from >= 0 && work > 0; --from) {
    const OpIndex op = backward[from];
    int32_t to = from;
    while (!needsGradient[op] && to < last && !dependsOn(backward[to + 1], op))
      ++to;
    if (to == from)
      continue;
    const Score before = score(work, worstScore);
    const Order old = backward;
    std::rotate(backward.begin() + from, backward.begin() + from + 1, backward.begin() + to + 1);
    const Score after = score(work, worstScore);
    if (std::get<0>(after) > std::get<0>(before) || std::get<1>(after) > std::get<1>(before))
      backward = old;
  }
}

std::vector<OpIndex> Stage::order() const {
  Order all = forward;
  llvm::append_range(all, backward);
  return all;
}

namespace {
/// Orders the stages of a chain, equal ones once.
class StageSolver {
public:
  StageSolver(const Graph &graph, OpIndex turn, Chain &chain);
  void run();

private:
  /// What the search of a stage starts from, beside the work that is left.
  struct Start {
    Part whole;
    int32_t numForward;
    bool isFree, isLast; // the forward may move; the stage is where the chain turns
    std::vector<bool> needsGradient;

    std::vector<int64_t> describe() const;
  };
  void sortIntoStages();
  void solve(int32_t stage);
  const std::vector<OpIndex> &orderOf(const Start &start, llvm::function_ref<Part()> makeBackward);
  std::vector<OpIndex> replay(const Start &start, llvm::function_ref<Part()> makeBackward);
  std::vector<OpIndex> search(const Start &start, const Part &backward);

  struct Work {
    int64_t ofAll = 5000000, ofPeaks = 5000000; // ops visited, each a fraction of a second
  };
  /// An order, and the work that it took to find it.
  struct Found {
    std::vector<OpIndex> order;
    Work spent;
  };

  const Graph &graph;
  Chain &chain;
  std::vector<bool> needsGradient;                     // per op
  std::vector<int32_t> position;                       // per op
  std::vector<std::vector<int32_t>> forward, backward; // per stage: positions
  // Ops that run once stand between others that are moved without regard to them.
  std::vector<bool> hasFixed;
  Work left;
  std::map<std::vector<int64_t>, std::vector<OpIndex>> solved;
  std::map<std::vector<int64_t>, Found> searched; // without regard to the order of operands
};
} // namespace

StageSolver::StageSolver(const Graph &graph, OpIndex turn, Chain &chain)
    : graph(graph), chain(chain), needsGradient(graph.numOps(), false), position(graph.numOps()),
      forward(chain.numStages), backward(chain.numStages), hasFixed(chain.numStages, false) {
  markDescendants(graph, turn, needsGradient);
}

void StageSolver::sortIntoStages() {
  for (int32_t index = 0; index < graph.numOps(); ++index) {
    const OpIndex op = chain.order[index];
    position[op] = index;
    const int32_t stage = chain.stageOf[op], segment = chain.segmentOf[index];
    if (stage >= 0 && !graph.op(op).recompute)
      hasFixed[stage] = true;
    else if (stage >= 0)
      forward[stage].push_back(index);
    else if (stage < 0 && segment >= 1 && segment <= chain.numStages)
      backward[chain.numStages - segment].push_back(index);
  }
}

std::vector<int64_t> StageSolver::Start::describe() const {
  std::vector<int64_t> text = {numForward, isFree};
  text.insert(text.end(), needsGradient.begin(), needsGradient.end());
  return text;
}

std::vector<OpIndex> StageSolver::search(const Start &start, const Part &backward) {
  Stage stage(graph, start.whole, backward, start.numForward);
  stage.improve(start.isFree, left.ofAll);
  if (left.ofAll <= 0) // what was not tried may be what holds the peak
    stage.lowerPeaks(left.ofPeaks);
  if (start.isLast) // there all that is kept is held
    stage.postpone(start.needsGradient, left.ofPeaks);
  return stage.order();
}

/// Of stages that differ in the order in which operands are named, which the search does not see,
/// one is searched, where the work that is left ends no search of them. The others spend the same.
std::vector<OpIndex> StageSolver::replay(const Start &start,
                                         llvm::function_ref<Part()> makeBackward) {
  const bool isWorkLeft = left.ofAll > 0;
  auto isWhole = [&](const Work &after) {
    return (after.ofAll > 0) == isWorkLeft && after.ofPeaks > 0;
  };
  std::vector<int64_t> key = start.whole.describeUnordered();
  llvm::append_range(key, start.describe());
  key.insert(key.end(), {start.isLast, isWorkLeft});
  if (auto it = searched.find(key); it != searched.end()) {
    const auto &[order, spent] = it->second;
    const Work after{left.ofAll - spent.ofAll, left.ofPeaks - spent.ofPeaks};
    if (isWhole(after)) {
      left = after;
      return order;
    }
  }
  const Work before = left;
  std::vector<OpIndex> order = search(start, makeBackward());
  if (isWhole(left))
    searched[std::move(key)] = {order, {before.ofAll - left.ofAll, before.ofPeaks - left.ofPeaks}};
  return order;
}

const std::vector<OpIndex> &StageSolver::orderOf(const Start &start,
                                                 llvm::function_ref<Part()> makeBackward) {
  std::vector<int64_t> key = start.whole.describe();
  llvm::append_range(key, start.describe());
  auto [it, isNew] = solved.try_emplace(std::move(key));
  if (isNew)
    it->second = replay(start, makeBackward);
  return it->second;
}

void StageSolver::solve(int32_t stage) {
  std::vector<int32_t> places = forward[stage];
  llvm::append_range(places, backward[stage]);
  std::vector<OpIndex> ops;
  std::vector<bool> stageNeedsGradient;
  for (int32_t index : places) {
    ops.push_back(chain.order[index]);
    stageNeedsGradient.push_back(needsGradient[ops.back()]);
  }
  const int32_t last = places.back();
  auto outlives = [&](ValueIndex value) {
    const OpIndex writer = graph.writer(value);
    if (writer >= 0 && chain.stageOf[writer] == stage && graph.op(writer).recompute)
      return false; // recomputed for this segment alone
    return graph.isKept(value) || llvm::any_of(graph.readers(value), [&](OpIndex reader) {
             return position[reader] > last;
           });
  };
  const auto numForward = static_cast<int32_t>(forward[stage].size());
  auto makeBackward = [&] {
    return Part(graph, llvm::ArrayRef<OpIndex>(ops).drop_front(numForward), outlives);
  };
  const Start start{Part(graph, ops, outlives), numForward, !hasFixed[stage],
                    stage + 1 == chain.numStages, std::move(stageNeedsGradient)};
  const std::vector<OpIndex> &order = orderOf(start, makeBackward);
  for (size_t index = 0; index < places.size(); ++index)
    chain.order[places[index]] = ops[order[index]];
}

void StageSolver::run() {
  sortIntoStages();
  for (int32_t stage = chain.numStages - 1; stage >= 0; --stage)
    if (!backward[stage].empty())
      solve(stage);
}

void llmmem::planning::improveStages(const Graph &graph, OpIndex turn, Chain &chain) {
  StageSolver(graph, turn, chain).run();
}
