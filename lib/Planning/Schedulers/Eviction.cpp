//===- Eviction.cpp - Recomputation on any graph ---------------------------------===//

#include "Eviction.h"
#include "GrowingSchedule.h"
#include <algorithm>
#include <limits>
#include <optional>

using namespace llmmem::planning;

namespace {
/// A proposal drops an instance at the peak step and runs ops again before step `before`.
struct Proposal {
  double score; // cost per byte freed
  int32_t before;
  size_t from,
      to; // a range of the ops in the repeats of all proposals of one look, in the order to run

  /// Returns the score of running ops of `cost` again, which rises with it.
  static double scoreOf(int64_t cost, double bytesFreed) {
    return (double(cost) + 1e-3) / bytesFreed;
  }
};
} // namespace

namespace llmmem::planning {
/// What may run again so that a full step holds less.
class Proposer {
public:
  /// At most `deepest` ancestors in a row run again for one value.
  Proposer(const Graph &graph, int deepest)
      : graph(graph), deepest(deepest), lastProposal(graph.numOps(), 0) {}

  /// Returns the first of the proposals of the least score. It is mostly accepted, so nothing is
  /// needed about the others except that they are more expensive.
  std::optional<Proposal> best(const GrowingSchedule &schedule, int32_t fullest);
  /// Returns all proposals, those of the least score first.
  std::vector<Proposal> all(const GrowingSchedule &schedule, int32_t fullest);
  /// Returns the ops of one of the last proposals.
  llvm::ArrayRef<OpIndex> repeatsOf(const Proposal &proposal) const {
    return llvm::ArrayRef(repeats).slice(proposal.from, proposal.to - proposal.from);
  }
  /// Returns the work done, in steps visited, since it was last asked.
  int64_t takeWork();

  int64_t visited = 0; // ops considered for repeats of which the work was not taken yet

private:
  template <typename Visit>
  void forEach(const GrowingSchedule &schedule, int32_t fullest, Visit visit);
  bool addRepeat(const GrowingSchedule &schedule, ValueIndex value, int32_t before, int32_t fullest,
                 int depth);
  /// Says whether the ops of the current proposal cost as much as `mostScore` allows.
  bool isTooDear() const { return Proposal::scoreOf(repeatCost, bytesFreed) >= mostScore; }

  const Graph &graph;
  int deepest;
  std::vector<int64_t> lastProposal; // per op: the last proposal that runs it again
  int64_t numProposals = 0;
  std::vector<OpIndex> repeats; // repeats of all proposals
  // The cost of the current proposal.
  int64_t repeatCost = 0;
  double bytesFreed = 0, mostScore = 0;
};

class Evictor {
public:
  Evictor(const Graph &graph, std::vector<OpIndex> &steps, int64_t capacity, int deepest,
          int64_t &work)
      : graph(graph), steps(steps), capacity(capacity), work(work), proposer(graph, deepest) {}
  /// Runs from the start of a path, where there is one.
  bool run(EvictionPath *from = nullptr);

private:
  enum class Way : uint8_t { AtEnd, Aside, Nowhere };
  Way follow(EvictionPath &path);
  bool isSame(const EvictionPath::Stop &stop) const;
  bool evictOnce();
  bool acceptsAny(int32_t fullest);
  bool accepts(const Proposal &proposal);
  bool acceptsAt(const Proposal &proposal, int32_t place);
  bool writesFor(int32_t step, int32_t before, llvm::ArrayRef<OpIndex> ops) const;
  bool isOver(const Profile &usage) const { return usage.peakStep >= 0 && usage.peak > capacity; }
  bool areLess(llvm::ArrayRef<EvictionPath::Change> changes) const;

  const Graph &graph;
  std::vector<OpIndex> &steps; // the schedule at the start, and at the end
  std::optional<GrowingSchedule> schedule;
  int64_t capacity;
  int64_t &work;
  Proposer proposer;
  EvictionPath *path = nullptr; // remembers what is done, at its end
  EvictionPath::Stop next;      // the way from the schedule, with the proposals so far
};
} // namespace llmmem::planning

/// Says whether the bytes above the capacity, summed over all steps, become less. They do with each
/// proposal that is accepted.
bool Evictor::areLess(llvm::ArrayRef<EvictionPath::Change> changes) const {
  __int128 sum = 0;
  for (const EvictionPath::Change &change : changes)
    sum += std::max(change.then, capacity) - std::max(change.now, capacity);
  return sum < 0;
}

/// Appends to the repeats the ops that must run before step `before` so that `value` is live there,
/// without holding anything more at step `fullest`. It fails as soon as they are too expensive.
bool Proposer::addRepeat(const GrowingSchedule &schedule, ValueIndex value, int32_t before,
                         int32_t fullest, int depth) {
  ++visited;
  OpIndex writer = graph.writer(value);
  if (writer < 0 || !graph.mayRunAgain(writer) || depth > deepest)
    return false;
  if (lastProposal[writer] == numProposals)
    return true;
  // The cost counts before that of its operands: a sum that is too large already needs no further
  // look.
  repeatCost += graph.cost(writer);
  if (isTooDear())
    return false;
  for (ValueIndex read : graph.reads(writer)) {
    // Resident values have no bytes; for most other values this shows that they are not resident.
    if (graph.bytes(read) == 0 && graph.problem().values[read].resident)
      continue;
    const std::optional<Instance> current = schedule.liveRanges().currentBefore(read, before);
    // The value is held at the peak step anyway, or written after it: holding it longer adds
    // nothing there.
    bool isFree =
        current && (current->to >= fullest || current->from > fullest || graph.bytes(read) == 0);
    if (!isFree && !addRepeat(schedule, read, before, fullest, depth + 1))
      return false;
  }
  repeats.push_back(writer);
  lastProposal[writer] = numProposals;
  return true;
}

/// Calls `visit` with a proposal for each value that is held at step `fullest` and not read there.
/// The proposal writes it again just before the step that reads it next.
template <typename Visit>
void Proposer::forEach(const GrowingSchedule &schedule, int32_t fullest, Visit visit) {
  const int32_t numSteps = schedule.numSteps();
  const llvm::ArrayRef<ValueIndex> reads = graph.reads(schedule.steps()[fullest]);
  mostScore = std::numeric_limits<double>::infinity();
  repeats.clear();
  schedule.liveRanges().forEachHeldOver(graph, schedule.steps(), fullest, [&](ValueIndex value) {
    if (graph.bytes(value) == 0 || llvm::is_contained(reads, value))
      return;
    int32_t before = schedule.readSteps().nextAfter(value, fullest);
    if (before < 0)
      before = numSteps; // it is kept to the end
    // A long idle range is slightly better: dropping it lowers other full steps too.
    double idle = double(before - fullest) / double(numSteps);
    ++numProposals;
    repeatCost = 0;
    bytesFreed = double(graph.bytes(value)) * (1 + idle);
    const size_t from = repeats.size();
    if (addRepeat(schedule, value, before, fullest, 0))
      visit(Proposal{Proposal::scoreOf(repeatCost, bytesFreed), before, from, repeats.size()});
    else
      repeats.resize(from);
  });
}

int64_t Proposer::takeWork() {
  constexpr int64_t opsPerStep = 8; // ops considered in the time of one visited step
  const int64_t work = visited / opsPerStep;
  visited %= opsPerStep;
  return work;
}

std::optional<Proposal> Proposer::best(const GrowingSchedule &schedule, int32_t fullest) {
  std::optional<Proposal> best;
  forEach(schedule, fullest, [&](const Proposal &proposal) {
    mostScore = proposal.score;
    best = proposal;
  });
  return best;
}

std::vector<Proposal> Proposer::all(const GrowingSchedule &schedule, int32_t fullest) {
  std::vector<Proposal> proposals;
  forEach(schedule, fullest, [&](const Proposal &proposal) { proposals.push_back(proposal); });
  llvm::stable_sort(proposals,
                    [](const Proposal &a, const Proposal &b) { return a.score < b.score; });
  return proposals;
}

/// Says whether the run at `step` writes, for the op at `before`, what may not be written again,
/// and nothing that `ops` read.
bool Evictor::writesFor(int32_t step, int32_t before, llvm::ArrayRef<OpIndex> ops) const {
  const std::vector<OpIndex> &now = schedule->steps();
  auto isRead = [&](ValueIndex value) {
    return graph.bytes(value) > 0 && llvm::is_contained(graph.reads(now[before]), value);
  };
  auto isReadHere = [&](ValueIndex value) {
    return llvm::any_of(ops,
                        [&](OpIndex op) { return llvm::is_contained(graph.reads(op), value); });
  };
  return !graph.mayRunAgain(now[step]) && llvm::any_of(graph.writes(now[step]), isRead) &&
         llvm::none_of(graph.writes(now[step]), isReadHere);
}

/// Takes `proposal` where fewer bytes are above the capacity then. What its reader has from the
/// runs just before it cannot be dropped while the repeats run, so they may run ahead of those.
bool Evictor::accepts(const Proposal &proposal) {
  if (acceptsAt(proposal, proposal.before))
    return true;
  int32_t ahead = proposal.before;
  if (ahead < schedule->numSteps())
    while (ahead - 1 > schedule->usage().peakStep &&
           writesFor(ahead - 1, proposal.before, proposer.repeatsOf(proposal)))
      --ahead;
  return ahead < proposal.before && acceptsAt(proposal, ahead);
}

bool Evictor::acceptsAt(const Proposal &proposal, int32_t place) {
  graph.poll();
  work -= static_cast<int64_t>(schedule->bytesWith(proposer.repeatsOf(proposal), place).size());
  const size_t first = next.changes.size();
  schedule->forEachChange([&](int64_t now, int64_t then) {
    if (std::max(now, then) > next.least)
      next.changes.push_back({now, then});
  });
  const bool helps = areLess(llvm::ArrayRef(next.changes).drop_front(first));
  if (path)
    next.ends.push_back(next.changes.size());
  else
    next.changes.resize(first);
  if (!helps)
    return false;
  schedule->insert();
  next.added = proposer.repeatsOf(proposal);
  next.place = place;
  return true;
}

/// Says whether the same proposals help, and do not help, as on the way to `stop`.
bool Evictor::isSame(const EvictionPath::Stop &stop) const {
  if (work < stop.work)
    return false;
  size_t first = 0;
  for (size_t at = 0; at < stop.ends.size(); ++at) {
    const bool helped = !stop.added.empty() && at + 1 == stop.ends.size();
    if (areLess(llvm::ArrayRef(stop.changes).slice(first, stop.ends[at] - first)) != helped)
      return false;
    first = stop.ends[at];
  }
  return true;
}

/// Follows a path as far as it is the same for this capacity. `Nowhere` says that nothing helps
/// there. Stops that do not say whether they are the same are forgotten, and remembered anew.
Evictor::Way Evictor::follow(EvictionPath &path) {
  steps = path.start();
  for (size_t at = 0; at < path.stops.size(); ++at) {
    const EvictionPath::Stop &stop = path.stops[at];
    if (stop.peak <= capacity)
      return Way::Aside;
    if (capacity < stop.least) {
      path.forgetFrom(at);
      return Way::AtEnd;
    }
    if (!isSame(stop))
      return Way::Aside;
    work -= stop.work;
    proposer.visited = stop.visited;
    if (stop.added.empty())
      return Way::Nowhere;
    steps.insert(steps.begin() + stop.place, stop.added.begin(), stop.added.end());
  }
  return Way::AtEnd;
}

/// Makes the best proposal that helps.
bool Evictor::acceptsAny(int32_t fullest) {
  const std::optional<Proposal> best = proposer.best(*schedule, fullest);
  work -= proposer.takeWork();
  if (!best)
    return false;
  bool progressed = accepts(*best);
  if (!progressed && work >= 0) {
    // The best proposal comes first, and it was tried.
    const std::vector<Proposal> others = proposer.all(*schedule, fullest);
    work -= proposer.takeWork();
    for (size_t at = 1; at < others.size() && !progressed && work >= 0; ++at)
      progressed = accepts(others[at]);
  }
  return progressed;
}

/// Evicts once. Returns whether it helps and work is left.
bool Evictor::evictOnce() {
  next.added.clear();
  next.changes.clear();
  next.ends.clear();
  next.peak = schedule->usage().peak;
  const int64_t before = work;
  const bool progressed = acceptsAny(schedule->usage().peakStep);
  next.work = before - work;
  next.visited = proposer.visited;
  if (path && (work < 0 || !path->add(next)))
    path = nullptr;
  return progressed && work >= 0;
}

bool Evictor::run(EvictionPath *from) {
  const Way way = from ? follow(*from) : Way::Aside;
  if (way == Way::Nowhere)
    return false;
  Profile usage = profile(graph, steps);
  if (!isOver(usage))
    return true;
  schedule.emplace(graph, std::move(steps), std::move(usage));
  path = way == Way::AtEnd ? from : nullptr;
  // The capacities of a path are less than a level apart (BudgetSearch::levelAbove).
  constexpr int64_t nearby = 8; // part of the arena
  next.least = capacity;
  if (path)
    next.least -= std::max<int64_t>(0, capacity - graph.residentBytes()) / nearby;
  bool goesOn = true;
  while (goesOn && isOver(schedule->usage()))
    goesOn = evictOnce();
  steps = schedule->steps();
  return goesOn;
}

size_t EvictionPath::sizeOf(const Stop &stop) {
  return stop.added.size() + 2 * stop.changes.size() + stop.ends.size();
}

bool EvictionPath::add(const Stop &stop) {
  constexpr size_t mostSize = 1 << 21;
  if (size + sizeOf(stop) >= mostSize)
    return false;
  size += sizeOf(stop);
  stops.push_back(stop);
  return true;
}

void EvictionPath::forgetFrom(size_t at) {
  for (; stops.size() > at; stops.pop_back())
    size -= sizeOf(stops.back());
}

bool llmmem::planning::evictUntilFits(const Graph &graph, std::vector<OpIndex> &steps,
                                      int64_t capacity, int deepest, int64_t &work) {
  bool fits = Evictor(graph, steps, capacity, deepest, work).run();
  dropUselessRepeats(graph, steps);
  return fits;
}

bool llmmem::planning::evictUntilFits(const Graph &graph, EvictionPath &path, int64_t capacity,
                                      int deepest, int64_t &work, std::vector<OpIndex> &steps) {
  const bool fits = Evictor(graph, steps, capacity, deepest, work).run(&path);
  dropUselessRepeats(graph, steps);
  return fits;
}
