//===- Annealing.cpp - Order and recomputation together, by small random changes ------===//

#include "Annealing.h"
#include "llmmem/Support/Random.h"
#include "ScheduleChange.h"
#include <algorithm>
#include <cmath>

using namespace llmmem;
using namespace llmmem::planning;

namespace {
/// What a change is worth is a weighted sum; heat lets it be worse.
struct Weights {
  double cost, excess;
};

class Annealer {
public:
  Annealer(const Graph &graph, llvm::ArrayRef<OpIndex> steps, int luck = 0)
      : graph(graph), random(0x9E3779B97F4A7C15ULL * (2 * uint64_t(luck) + 1)),
        state(graph, steps) {}

  /// A change drawn at random, taken or not.
  void moveRun(double heat, Weights weights);
  void changeAny(double heat, Weights weights);

private:
  void accept(std::optional<ScheduleChange::Effect> effect, double heat, Weights weights);
  void repeatOp(double heat, Weights weights);
  void removeRepeat(double heat, Weights weights);

  const Graph &graph;
  Random random;

public:
  ScheduleChange state;
};
} // namespace

void Annealer::accept(std::optional<ScheduleChange::Effect> effect, double heat, Weights weights) {
  if (!effect)
    return;
  double worse = weights.cost * double(effect->cost) + weights.excess * double(effect->excess);
  constexpr double noLuck = 1e-300; // the logarithm of nothing
  if (worse > 0 && worse > -heat * std::log(random.unit() + noLuck))
    state.drop();
  else
    state.take();
}

void Annealer::moveRun(double heat, Weights weights) {
  int32_t run = state.runAt(random.below(state.numSteps()));
  auto [first, last] = state.range(run);
  if (first >= last)
    return;
  int32_t from = state.stepOf(run), to = first + random.below(last - first);
  to += to >= from;
  accept(state.weighMove(run, to > from ? to + 1 : to), heat, weights);
}

/// An op runs again just before a reader of what it writes.
void Annealer::repeatOp(double heat, Weights weights) {
  int32_t step = random.below(state.numSteps());
  const std::vector<ValueIndex> &reads = graph.op(state.opOf(state.runAt(step))).reads;
  if (reads.empty())
    return;
  OpIndex writer = graph.writer(reads[random.below(static_cast<int>(reads.size()))]);
  if (writer >= 0 && graph.op(writer).recompute)
    accept(state.weighRepeat(writer, step), heat, weights);
}

void Annealer::removeRepeat(double heat, Weights weights) {
  // Few runs are repeats: a few draws find one.
  for (int tries = 8; tries > 0; --tries)
    if (int32_t run = state.runAt(random.below(state.numSteps()));
        state.isRepeated(state.opOf(run))) {
      accept(state.weighRemoval(run), heat, weights);
      return;
    }
}

void Annealer::changeAny(double heat, Weights weights) {
  int kind = random.below(4);
  if (kind < 2)
    moveRun(heat, weights);
  else if (kind == 2)
    repeatOp(heat, weights);
  else
    removeRepeat(heat, weights);
}

/// What a step holds beside the resident bytes, in the mean.
static double averageBytes(const Graph &graph, llvm::ArrayRef<OpIndex> steps) {
  double average = 0;
  for (int64_t bytes : profile(graph, steps).bytes)
    average += double(bytes - graph.residentBytes()) / double(steps.size());
  return average;
}

void llmmem::planning::annealOrder(const Graph &graph, std::vector<OpIndex> &order, int64_t floor,
                                   int64_t work) {
  if (order.size() < 2)
    return;
  Annealer annealer(graph, order);
  ScheduleChange &state = annealer.state;
  int64_t best = state.peak();
  const double average = averageBytes(graph, order);
  constexpr int64_t rounds = 8, hundredth = 100;
  const double hottest = average / 32, coldest = average / 4096;
  for (int64_t left = work; left > 0 && best > floor;) {
    int64_t less = std::max<int64_t>(1, (best - graph.residentBytes()) / hundredth);
    state.aimAt(std::max(best - less, floor));
    int64_t share = std::min(left, work / rounds + 1);
    for (int64_t spent = 0; spent < share && state.excess() > 0; ++spent, --left)
      annealer.moveRun(hottest * std::pow(coldest / hottest, double(spent) / double(share)),
                       {.cost = 0, .excess = 1});
    if (state.peak() < best) {
      best = state.peak();
      order = state.steps();
    }
  }
}

/// The mean cost of an op for each mean byte of a value.
static double costPerByte(const Graph &graph) {
  double bytes = 0;
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    bytes += double(graph.bytes(value));
  return double(graph.baseCost()) / double(graph.numOps()) * double(graph.numValues()) /
         std::max(bytes, 1.0);
}

bool llmmem::planning::annealSchedule(const Graph &graph, std::vector<OpIndex> &steps,
                                      int64_t capacity, int64_t enough, int64_t work, int luck) {
  if (steps.empty())
    return graph.residentBytes() <= capacity;
  Annealer annealer(graph, steps, luck);
  ScheduleChange &state = annealer.state;
  state.aimAt(capacity);
  bool fits = state.excess() == 0;
  int64_t best = fits ? state.cost() : INT64_MAX;
  // Bytes above the capacity weigh little at first, for cheap repeats to be found where they are
  // needed, and so much in the end that none are left. Found by trial on random graphs.
  constexpr double lightest = 1.0 / 64, heaviest = 128;
  constexpr double heavier = heaviest / lightest;
  const double mean = double(graph.baseCost()) / double(graph.numOps()) + 1e-9;
  const double hottest = mean / 10, coldest = mean / 50, perByte = costPerByte(graph) * lightest;
  for (int64_t spent = 0; spent < work && best > enough; ++spent) {
    const double done = double(spent) / double(work);
    annealer.changeAny(hottest * std::pow(coldest / hottest, done),
                       {.cost = 1, .excess = perByte * std::pow(heavier, done)});
    if (state.excess() == 0 && state.cost() < best && state.cost() >= enough) {
      best = state.cost();
      steps = state.steps();
      fits = true;
    }
  }
  if (!fits)
    steps = state.steps();
  return fits;
}

/// One attempt: false where what rose above `peak` did not come back below it.
static bool flatten(const Graph &graph, std::vector<OpIndex> &steps, int64_t peak, int64_t work,
                    int luck, double hottest, double coldest) {
  Annealer annealer(graph, steps, luck);
  ScheduleChange &state = annealer.state;
  // Fullness is what lies above seven tenths of the peak. A byte above the peak itself weighs so
  // much that few are left in the end.
  constexpr int64_t tenths = 7, steepness = 64;
  const int64_t held = peak - graph.residentBytes();
  state.aimAt(peak, peak - held / 10 * (10 - tenths), steepness);
  for (int64_t spent = 0; spent < work; ++spent)
    annealer.moveRun(hottest * std::pow(coldest / hottest, double(spent) / double(work)),
                     {.cost = 0, .excess = 1});
  state.aimAt(peak);
  for (int64_t spent = 0; spent < work / 4 && state.excess() > 0; ++spent)
    annealer.moveRun(coldest, {.cost = 0, .excess = 1});
  if (state.excess() > 0)
    return false;
  steps = state.steps();
  return true;
}

void llmmem::planning::makeRoom(const Graph &graph, std::vector<OpIndex> &steps, int64_t limit,
                                int64_t work, int luck) {
  if (steps.empty())
    return;
  const int64_t peak = std::max(limit, profile(graph, steps).peak);
  const double average = averageBytes(graph, steps);
  // A hot start finds more room, but not always the way back.
  for (double hottest : {average / 256, average / 2048})
    if (flatten(graph, steps, peak, work, luck, hottest, average / 8192))
      return;
}
