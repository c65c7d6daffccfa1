//===- OffloadSamples.cpp - More budget of the device, no longer step -------------===//

#include "OffloadSamples.h"
#include "OffloadBound.h"
#include "Overlap/OverlapSearch.h"
#include "Tuning/Constants.h"
#include <algorithm>
#include <cmath>

using namespace llmmem::planning;
using Answer = OffloadSamples::Answer;

bool llmmem::planning::isShorter(const Answer &a, const Answer &b) {
  return a && (!b || a->time < b->time);
}

Answer llmmem::planning::shorterOf(Answer a, Answer b) {
  return isShorter(b, a) ? std::move(b) : std::move(a);
}

OffloadSamples::OffloadSamples(const Problem &problem, const OffloadShape &shape,
                               const Graph &device, OffloadSchedules &schedules,
                               llvm::ArrayRef<OpIndex> programPoints, const OffloadOptions &options)
    : problem(problem), shape(shape), device(device), schedules(schedules),
      programPoints(programPoints), options(options) {}

Problem OffloadSamples::under(std::optional<int64_t> budget) const {
  Problem bounded = problem;
  bounded.budget = budget;
  return bounded;
}

CopySearch OffloadSamples::copiesOf(const Problem &bounded) const {
  return CopySearch(bounded, shape, device,
                    tuning::workFor(options.seconds, tuning::stepsPerSecond),
                    tuning::workFor(options.seconds, tuning::copyPackUnitsPerSecond));
}

Answer OffloadSamples::timed(std::optional<Plan> plan) const {
  if (!plan)
    return nullptr;
  const std::optional<int64_t> time = options.timeOf ? options.timeOf(*plan) : plan->time->time;
  if (!time)
    return nullptr;
  if (options.timeOf)
    plan->stepTime = time;
  const int64_t footprint = problem.residentBytes() + plan->arena;
  return std::make_shared<const TimedOffload>(TimedOffload{std::move(*plan), *time, footprint});
}

Answer OffloadSamples::withoutCopies(const Plan &ofDevice) const {
  const int64_t resident = problem.residentBytes(1);
  if (resident > problem.budgetOf(1).value_or(INT64_MAX))
    return nullptr;
  Plan plan = ofDevice;
  for (OpIndex &op : plan.steps)
    op = shape.opOf[op];
  plan.baseCost = device.baseCost();
  plan.moreMemories = {{resident, 0, resident}};
  plan.peakBasis = plan.costBasis = {};
  retime(problem, plan);
  return timed(std::move(plan));
}

/// Returns the schedule with which the copies of `plan` run.
std::vector<OpIndex> OffloadSamples::stepsOfDevice(const Plan &plan) const {
  std::vector<OpIndex> opOf(problem.ops.size(), -1), steps;
  for (OpIndex op = 0; op < device.numOps(); ++op)
    opOf[shape.opOf[op]] = op;
  for (OpIndex op : plan.steps)
    if (opOf[op] >= 0)
      steps.push_back(opOf[op]);
  return steps;
}

/// Searches under `budget`, and also starts from the schedule of the plan `known`, if there is one.
Answer OffloadSamples::search(int64_t budget, const Answer &known) {
  const Problem bounded = under(budget);
  CopySearch copies = copiesOf(bounded);
  if (known)
    copies.add(stepsOfDevice(known->plan));
  schedules.addTo(copies, budget);
  if (options.progress)
    options.progress("copies to the host");
  Answer found = timed(copies.shortest(Exchanges::OfBestAndOnce));
  if (const OffloadSchedules::Placed alone = schedules.at(budget))
    found = shorterOf(withoutCopies(*alone), std::move(found));
  return found;
}

Answer OffloadSamples::searchAt(int64_t budget) {
  const auto [it, isNew] = searched.try_emplace(budget);
  if (isNew)
    it->second = search(budget, nullptr);
  return it->second;
}

bool OffloadSamples::isProved(int64_t budget, int64_t time) const {
  constexpr size_t most = 12;
  const Problem bounded = under(budget);
  return OffloadBound(bounded, shape, device).takesAtLeast(programPoints.take_front(most), time);
}

/// Returns a lower bound on the footprint of every plan on the device.
int64_t OffloadSamples::footprintLowerBound() {
  if (!footprintLowerBoundOnce) {
    const Problem unbounded = under(std::nullopt);
    const int64_t bytes =
        OffloadBound(unbounded, shape, device).peakBound(programPoints).device.bytes;
    footprintLowerBoundOnce = std::max(problem.residentBytes(), bytes - paddingOf(shape.device));
  }
  return *footprintLowerBoundOnce;
}

bool OffloadSamples::isModelled() {
  if (!options.timeOf)
    return true;
  if (options.movesState) // which some plans overlap with compute and others do not
    return false;
  if (!modelled) {
    const Answer free = withoutCopies(*schedules.at(schedules.footprintWithoutRecomputation()));
    modelled = free && free->time == free->plan.time->time;
  }
  return *modelled;
}

/// Returns the number of samples for each halving of the arena. Where a step does work that is not
/// in the problem, such as copies of state, bounds do not end the search, so there are fewer
/// samples.
int64_t OffloadSamples::samplesOfHalving() {
  constexpr int64_t many = 8, few = 1;
  return isModelled() ? many : few;
}

const std::vector<int64_t> &OffloadSamples::samples() {
  if (!ladder.empty())
    return ladder;
  const int64_t resident = device.residentBytes(),
                most = schedules.footprintWithoutRecomputation() - resident;
  const double ratio = std::exp2(-1.0 / static_cast<double>(samplesOfHalving()));
  ladder.push_back(resident + most);
  double arena = static_cast<double>(most) * ratio;
  while (arena >= 1) {
    if (const int64_t sample = resident + static_cast<int64_t>(arena); sample < ladder.back())
      ladder.push_back(sample);
    arena *= ratio;
  }
  return ladder;
}

Answer OffloadSamples::least() {
  if (leastAnswer)
    return *leastAnswer;
  leastAnswer.emplace();
  const Problem unbounded = under(std::nullopt);
  CopySearch copies = copiesOf(unbounded);
  Problem alone = shape.device;
  alone.budget.reset();
  const Plan leastMemory = options.planOneMemory(alone, PolicyKind::LeastPeak);
  if (!leastMemory.steps.empty())
    copies.add(leastMemory.steps);
  schedules.addLeastMemoryTo(copies);
  Answer found = timed(copies.planOfLeastFootprint());
  if (Answer other = leastMemory.steps.empty() ? nullptr : withoutCopies(leastMemory);
      other && (!found || other->footprint < found->footprint))
    found = std::move(other);
  if (found) {
    auto shortest = std::make_shared<TimedOffload>(*shorterOf(found, searchAt(found->footprint)));
    shortest->footprint = found->footprint;
    leastAnswer = std::move(shortest);
  }
  return *leastAnswer;
}

/// Returns m(s) for the sample with this number, or for `budget` where the least footprint is below
/// all samples that have a plan. The search ends at a sample whose plans are proved to be no
/// shorter only if that sample has a plan. Otherwise it is not known yet whether all samples above
/// the least footprint lack one.
Answer OffloadSamples::bestFrom(size_t first, int64_t budget, int64_t known, bool &isWhole) {
  Answer best;
  isWhole = true;
  bool hasFailed = false;
  int64_t lowest = INT64_MAX; // the lowest sample that has a plan
  for (size_t at = first; at < samples().size(); ++at) {
    const int64_t sample = samples()[at];
    const int64_t limit = std::min(best ? best->time : INT64_MAX, known);
    if (limit < INT64_MAX && isProved(sample, limit) &&
        (schedules.at(sample) || searchAt(sample))) {
      isWhole = best && best->time <= known;
      return best;
    }
    if (hasFailed && sample < footprintLowerBound())
      break;
    if (Answer found = searchAt(sample)) {
      best = shorterOf(std::move(best), std::move(found));
      lowest = sample;
    } else {
      hasFailed = true;
    }
  }
  const Answer last = least();
  if (last && last->footprint < lowest && last->footprint <= budget)
    best = shorterOf(std::move(best), last);
  return best;
}

Answer OffloadSamples::bisect(int64_t budget, int64_t under, Answer low, int64_t above, Answer high,
                              int64_t known) {
  if (!isShorter(high, low))
    return low;
  // With many ops a search takes long, and between two plans of nearly the same time little can be
  // gained.
  constexpr int32_t few = 128;
  const bool hasFewOps = device.numOps() <= few;
  const int64_t leastGain = hasFewOps ? 0 : device.baseCost() >> 12;
  const int mostHalvings = hasFewOps ? 12 : samplesOfHalving() == 1 ? 6 : 3;
  for (int halving = 0; halving < mostHalvings; ++halving) {
    if (high->footprint <= budget)
      return high;
    if (high->time >= known || (low && low->time - high->time <= leastGain))
      break;
    above = std::min(above, high->footprint);
    const int64_t middle = under + (above - under) / 2;
    if (middle == under)
      break;
    // The search does not start from `low`, because how far that was searched depends on `known`.
    Answer found = search(middle, high);
    if (!isShorter(found, low) || isShorter(found, high))
      found = nullptr;
    if (budget >= middle) {
      under = middle;
      low = found ? std::move(found) : std::move(low);
    } else if (!found) {
      return low;
    } else if (budget >= found->footprint) {
      return found;
    } else {
      high = std::move(found);
    }
  }
  return high->footprint <= budget ? high : low;
}

Answer OffloadSamples::within(int64_t budget, int64_t known) {
  const std::vector<int64_t> &all = samples();
  const size_t below =
      llvm::partition_point(all, [&](int64_t it) { return it > budget; }) - all.begin();
  bool isWhole = true;
  Answer low = bestFrom(below, budget, known, isWhole);
  if (below == 0)
    return low;
  const int64_t under = below < all.size() ? all[below] : device.residentBytes();
  Answer found = bisect(budget, under, low, all[below - 1], searchAt(all[below - 1]), known);
  return found || !isWhole ? found : searchAt(budget);
}
