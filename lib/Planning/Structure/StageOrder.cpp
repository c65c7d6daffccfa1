//===- StageOrder.cpp - Better orders within the stages of a chain ------------------===//

#include "StageOrder.h"
#include "Stage.h"
#include <map>

using namespace llmmem::planning;

namespace {
/// Orders the stages of a chain, equal ones once.
class StageSolver {
public:
  StageSolver(const Graph &graph, OpIndex turn, Chain &chain);
  void run();

private:
  /// What the search of a stage starts from, in addition to the work that is left.
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
  // Says where ops that run once lie between others that are moved without regard to them.
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
  if (left.ofAll <= 0) // the ops that were not tried may hold the peak
    stage.lowerPeaks(left.ofPeaks);
  if (start.isLast) // there all that is kept is held
    stage.postpone(start.needsGradient, left.ofPeaks);
  return stage.order();
}

/// Replays a search. The search does not depend on the order in which an op names its operands. So
/// of stages that differ in that order alone, only one is searched, unless the remaining work would
/// end the search. The others count the same work.
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
