//===- Eviction.cpp - Recomputation on any graph ---------------------------------===//

#include "Eviction.h"
#include <algorithm>
#include <numeric>

using namespace llmmem::planning;

namespace {
/// Drop an instance at the peak step: run `ops` again before step `before`.
struct Proposal {
  double score; // cost per byte freed
  int32_t before;
  std::vector<OpIndex> ops; // in the order to run
};

/// Positions by value, in increasing order, in one array that is filled anew for each schedule.
class Positions {
public:
  explicit Positions(int32_t numValues) : end(numValues + 1) {}

  /// `visitAll` calls what it is given with each (value, position), positions in order.
  template <typename VisitAll>
  void assign(VisitAll visitAll) {
    std::fill(end.begin(), end.end(), 0);
    visitAll([&](ValueIndex value, int32_t) { ++end[value + 1]; });
    std::partial_sum(end.begin(), end.end(), end.begin());
    all.resize(end.back());
    // end[value] moves from where the value's positions begin to where they end.
    visitAll([&](ValueIndex value, int32_t position) { all[end[value]++] = position; });
  }
  llvm::ArrayRef<int32_t> of(ValueIndex value) const {
    const int32_t begin = value == 0 ? 0 : end[value - 1];
    return llvm::ArrayRef<int32_t>(all).slice(begin, end[value] - begin);
  }

private:
  std::vector<int32_t> end, all;
};

class Evictor {
public:
  Evictor(const Graph &graph, std::vector<OpIndex> &steps, int64_t capacity, int deepest,
          int64_t &work)
      : graph(graph), steps(steps), capacity(capacity), deepest(deepest), work(work),
        rangesOf(graph.numValues()), readsOf(graph.numValues()), lastProposal(graph.numOps(), 0) {}
  bool run();

private:
  std::vector<Proposal> propose(const Profile &usage);
  bool addRepeat(ValueIndex value, int32_t before, int32_t fullest, int depth,
                 std::vector<OpIndex> &ops);
  int32_t nextRead(ValueIndex value, int32_t step) const;
  int64_t excess(const Profile &usage) const;
  void index();

  const Graph &graph;
  std::vector<OpIndex> &steps;
  int64_t capacity;
  int deepest;
  int64_t &work;
  int64_t visited = 0; // ops considered for repeats since the last count of work
  std::vector<Instance> liveRanges;
  Positions rangesOf;                // in liveRanges
  Positions readsOf;                 // steps
  std::vector<int64_t> lastProposal; // per op: the last one that runs it again
  int64_t numProposals = 0;
};
} // namespace

void Evictor::index() {
  liveRanges = instances(graph, steps);
  rangesOf.assign([&](auto visit) {
    for (size_t at = 0; at < liveRanges.size(); ++at)
      visit(liveRanges[at].value, static_cast<int32_t>(at));
  });
  readsOf.assign([&](auto visit) {
    for (int32_t step = 0; step < static_cast<int32_t>(steps.size()); ++step)
      for (ValueIndex value : graph.op(steps[step]).reads)
        visit(value, step);
  });
}

int32_t Evictor::nextRead(ValueIndex value, int32_t step) const {
  const llvm::ArrayRef<int32_t> reads = readsOf.of(value);
  auto it = llvm::upper_bound(reads, step);
  return it == reads.end() ? -1 : *it;
}

/// Bytes above the capacity, summed over all steps: decreases with each proposal that is accepted.
int64_t Evictor::excess(const Profile &usage) const {
  int64_t sum = 0;
  for (int64_t bytes : usage.bytes)
    if (bytes > capacity && sum < INT64_MAX / 4)
      sum += bytes - capacity;
  return sum;
}

/// Appends the ops that must run before step `before` so that `value` is live there, without
/// holding anything more at step `fullest`.
bool Evictor::addRepeat(ValueIndex value, int32_t before, int32_t fullest, int depth,
                        std::vector<OpIndex> &ops) {
  ++visited;
  OpIndex writer = graph.writer(value);
  if (writer < 0 || !graph.op(writer).recompute || depth > deepest)
    return false;
  if (lastProposal[writer] == numProposals)
    return true;
  for (ValueIndex read : graph.op(writer).reads) {
    if (graph.problem().values[read].resident)
      continue;
    // The instance that is current just before `before`.
    const Instance *current = nullptr;
    for (int32_t at : rangesOf.of(read))
      if (liveRanges[at].from < before)
        current = &liveRanges[at];
    // Held at the peak step anyway, or written after it: holding it longer adds nothing there.
    bool isFree =
        current && (current->to >= fullest || current->from > fullest || graph.bytes(read) == 0);
    if (!isFree && !addRepeat(read, before, fullest, depth + 1, ops))
      return false;
  }
  ops.push_back(writer);
  lastProposal[writer] = numProposals;
  return true;
}

std::vector<Proposal> Evictor::propose(const Profile &usage) {
  std::vector<Proposal> proposals;
  int32_t fullest = usage.peakStep;
  for (const Instance &instance : liveRanges) {
    if (instance.from >= fullest || instance.to <= fullest || graph.bytes(instance.value) == 0)
      continue;
    const Op &op = graph.op(steps[fullest]);
    if (llvm::is_contained(op.reads, instance.value))
      continue;
    int32_t before = nextRead(instance.value, fullest);
    if (before < 0)
      before = static_cast<int32_t>(steps.size()); // kept to the end
    Proposal proposal{0, before, {}};
    ++numProposals;
    if (!addRepeat(instance.value, before, fullest, 0, proposal.ops))
      continue;
    int64_t cost = 0;
    for (OpIndex again : proposal.ops)
      cost += graph.op(again).cost;
    // A long idle range is slightly better: dropping it lowers other full steps too.
    double idle = double(before - fullest) / double(steps.size());
    proposal.score = (double(cost) + 1e-3) / (double(graph.bytes(instance.value)) * (1 + idle));
    proposals.push_back(std::move(proposal));
  }
  constexpr int64_t opsPerStep = 8; // considered in the time of one visited step
  work -= visited / opsPerStep;
  visited %= opsPerStep;
  llvm::stable_sort(proposals,
                    [](const Proposal &a, const Proposal &b) { return a.score < b.score; });
  return proposals;
}

bool Evictor::run() {
  Profile usage = profile(graph, steps);
  int64_t over = excess(usage);
  while (over > 0) {
    index();
    bool progressed = false;
    for (const Proposal &proposal : propose(usage)) {
      std::vector<OpIndex> changed = steps;
      changed.insert(changed.begin() + proposal.before, proposal.ops.begin(), proposal.ops.end());
      graph.poll();
      Profile now = profile(graph, changed);
      work -= static_cast<int64_t>(changed.size());
      int64_t left = excess(now);
      if (left < over) {
        steps = std::move(changed);
        usage = std::move(now);
        over = left;
        progressed = true;
        break;
      }
      if (work < 0)
        return false;
    }
    if (!progressed || work < 0)
      return false;
  }
  return true;
}

bool llmmem::planning::evictUntilFits(const Graph &graph, std::vector<OpIndex> &steps,
                                      int64_t capacity, int deepest, int64_t &work) {
  bool fits = Evictor(graph, steps, capacity, deepest, work).run();
  dropUselessRepeats(graph, steps);
  return fits;
}
