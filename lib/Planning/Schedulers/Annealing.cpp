//===- Annealing.cpp - Order and recomputation by simulated annealing -----------------===//

#include "Annealing.h"
#include "ScheduleMove.h"
#include "llmmem/Support/Random.h"
#include <algorithm>
#include <cmath>

using namespace llmmem;
using namespace llmmem::planning;

namespace {
/// The weights of the objective, which is a weighted sum; the temperature allows moves that raise
/// it.
struct Weights {
  double cost, excess;
};

class Annealer {
public:
  Annealer(const Graph &graph, llvm::ArrayRef<OpIndex> steps, int seed = 0)
      : graph(graph), random(kSearchSeed * (2 * uint64_t(seed) + 1)), state(graph, steps) {}

  /// Each of these evaluates a random move and accepts or rejects it.
  void relocateRun(double temperature, Weights weights);
  void tryMove(double temperature, Weights weights);

private:
  void decide(std::optional<ScheduleMove::Effect> effect, double temperature, Weights weights);
  void repeatOp(double temperature, Weights weights);
  void removeRepeat(double temperature, Weights weights);

  const Graph &graph;
  Random random;

public:
  ScheduleMove state;
};
} // namespace

void Annealer::decide(std::optional<ScheduleMove::Effect> effect, double temperature,
                      Weights weights) {
  if (!effect)
    return;
  double worse = weights.cost * double(effect->cost) + weights.excess * double(effect->excess);
  constexpr double tiny = 1e-300; // keeps the logarithm finite
  if (worse > 0 && worse > -temperature * std::log(random.unit() + tiny))
    state.reject();
  else
    state.accept();
}

void Annealer::relocateRun(double temperature, Weights weights) {
  int32_t run = state.runAt(random.below(state.numSteps()));
  auto [first, last] = state.range(run);
  if (first >= last)
    return;
  int32_t from = state.stepOf(run), to = first + random.below(last - first);
  to += to >= from;
  decide(state.evaluateRelocation(run, to > from ? to + 1 : to), temperature, weights);
}

/// Repeats an op just before a reader of what it writes.
void Annealer::repeatOp(double temperature, Weights weights) {
  int32_t step = random.below(state.numSteps());
  const std::vector<ValueIndex> &reads = graph.op(state.opOf(state.runAt(step))).reads;
  if (reads.empty())
    return;
  OpIndex writer = graph.writer(reads[random.below(static_cast<int>(reads.size()))]);
  if (writer >= 0 && graph.op(writer).recompute)
    decide(state.evaluateRepeat(writer, step), temperature, weights);
}

void Annealer::removeRepeat(double temperature, Weights weights) {
  // Few runs are repeats, so this samples a few runs to find one.
  for (int tries = 8; tries > 0; --tries)
    if (int32_t run = state.runAt(random.below(state.numSteps()));
        state.isRepeated(state.opOf(run))) {
      decide(state.evaluateRemoval(run), temperature, weights);
      return;
    }
}

void Annealer::tryMove(double temperature, Weights weights) {
  int kind = random.below(4);
  if (kind < 2)
    relocateRun(temperature, weights);
  else if (kind == 2)
    repeatOp(temperature, weights);
  else
    removeRepeat(temperature, weights);
}

/// Returns the mean over the steps of the bytes held, without the resident ones.
static double averageBytes(const Graph &graph, llvm::ArrayRef<OpIndex> steps) {
  double average = 0;
  for (int64_t bytes : profile(graph, steps).bytes)
    average += double(bytes - graph.residentBytes()) / double(steps.size());
  return average;
}

void llmmem::planning::annealOrder(const Graph &graph, std::vector<OpIndex> &order,
                                   int64_t lowerBound, int64_t work) {
  if (order.size() < 2)
    return;
  Annealer annealer(graph, order);
  ScheduleMove &state = annealer.state;
  int64_t best = state.peak();
  const double average = averageBytes(graph, order);
  constexpr int64_t rounds = 8, hundredth = 100;
  const double hottest = average / 32, coldest = average / 4096;
  for (int64_t left = work; left > 0 && best > lowerBound;) {
    int64_t less = std::max<int64_t>(1, (best - graph.residentBytes()) / hundredth);
    state.setTarget(std::max(best - less, lowerBound));
    int64_t quota = std::min(left, work / rounds + 1);
    for (int64_t spent = 0; spent < quota && state.excess() > 0; ++spent, --left) {
      graph.poll();
      annealer.relocateRun(hottest * std::pow(coldest / hottest, double(spent) / double(quota)),
                           {.cost = 0, .excess = 1});
    }
    if (state.peak() < best) {
      best = state.peak();
      order = state.steps();
    }
  }
}

/// Returns the mean cost of an op for each mean byte of a value.
static double costPerByte(const Graph &graph) {
  double bytes = 0;
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    bytes += double(graph.bytes(value));
  return double(graph.baseCost()) / double(graph.numOps()) * double(graph.numValues()) /
         std::max(bytes, 1.0);
}

bool llmmem::planning::annealSchedule(const Graph &graph, std::vector<OpIndex> &steps,
                                      int64_t capacity, int64_t enough, int64_t work, int seed) {
  if (steps.empty())
    return graph.residentBytes() <= capacity;
  Annealer annealer(graph, steps, seed);
  ScheduleMove &state = annealer.state;
  state.setTarget(capacity);
  bool fits = state.excess() == 0;
  int64_t best = fits ? state.cost() : INT64_MAX;
  // Bytes above the capacity have a small weight at first, so that cheap repeats are found where
  // they are needed, and a large one in the end, so that none are left. The weights are tuned on
  // random graphs.
  constexpr double firstWeight = 1.0 / 64, lastWeight = 128;
  constexpr double weightRatio = lastWeight / firstWeight;
  const double mean = double(graph.baseCost()) / double(graph.numOps()) + 1e-9;
  const double hottest = mean / 10, coldest = mean / 50, perByte = costPerByte(graph) * firstWeight;
  for (int64_t spent = 0; spent < work && best > enough; ++spent) {
    graph.poll();
    const double done = double(spent) / double(work);
    annealer.tryMove(hottest * std::pow(coldest / hottest, done),
                     {.cost = 1, .excess = perByte * std::pow(weightRatio, done)});
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

/// Makes one attempt. Returns false where steps that rose above `peak` did not return below it.
static bool flatten(const Graph &graph, std::vector<OpIndex> &steps, int64_t peak, int64_t work,
                    int seed, double hottest, double coldest) {
  Annealer annealer(graph, steps, seed);
  ScheduleMove &state = annealer.state;
  // The excess counts bytes above seven tenths of the peak. A byte above the peak itself has so
  // large a weight that few are left in the end.
  constexpr int64_t tenths = 7, steepness = 64;
  const int64_t held = peak - graph.residentBytes();
  state.setTarget(peak, peak - held / 10 * (10 - tenths), steepness);
  for (int64_t spent = 0; spent < work; ++spent) {
    graph.poll();
    annealer.relocateRun(hottest * std::pow(coldest / hottest, double(spent) / double(work)),
                         {.cost = 0, .excess = 1});
  }
  state.setTarget(peak);
  for (int64_t spent = 0; spent < work / 4 && state.excess() > 0; ++spent)
    annealer.relocateRun(coldest, {.cost = 0, .excess = 1});
  if (state.excess() > 0)
    return false;
  steps = state.steps();
  return true;
}

void llmmem::planning::makeHeadroom(const Graph &graph, std::vector<OpIndex> &steps, int64_t limit,
                                    int64_t work, int seed) {
  if (steps.empty())
    return;
  const int64_t peak = std::max(limit, profile(graph, steps).peak);
  const double average = averageBytes(graph, steps);
  // A hot start finds more headroom, but does not always return below the peak.
  for (double hottest : {average / 256, average / 2048})
    if (flatten(graph, steps, peak, work, seed, hottest, average / 8192))
      return;
}
