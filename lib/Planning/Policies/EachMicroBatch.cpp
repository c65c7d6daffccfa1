//===- EachMicroBatch.cpp - The steps of a fixed policy, for each micro-batch ------===//

#include "FixedPolicies.h"
#include "MicroBatches/MicroBatches.h"
#include "llmmem/Planning/Model/Schedule.h"

using namespace llmmem::planning;

std::vector<bool> llmmem::planning::chosenBlocks(const Chain &chain, const Policy &policy) {
  std::vector<bool> chosen(chain.numStages, false);
  int64_t block = 0;
  for (int32_t stage = 0; stage < chain.numStages; ++stage)
    if (chain.isBlock[stage]) {
      ++block;
      chosen[stage] =
          block % policy.blocks.every == 0 && block <= policy.blocks.first.value_or(block);
    }
  return chosen;
}

RecomputeOnce::RecomputeOnce(const Graph &graph, const Chain &chain, Retention &retention)
    : chain(chain), retention(retention), firstRead(graph.numValues(), chain.numSegments()) {
  for (size_t at = chain.order.size(); at-- > static_cast<size_t>(chain.cut);)
    for (ValueIndex value : graph.reads(chain.order[at]))
      firstRead[value] = chain.segmentOf[at];
}

void RecomputeOnce::discard(ValueIndex value, int32_t firstStage, int32_t lastStage) {
  if (retention.subject[value])
    return;
  const int32_t segment = chain.backwardSegment(lastStage);
  retention.discard(value);
  retention.hold(value, segment, chain.numSegments());
  if (firstRead[value] > chain.backwardSegment(firstStage) &&
      firstRead[value] < chain.numSegments())
    retention.makeAhead(value, segment);
}

/// Returns the steps where one forward and one backward run.
static std::vector<OpIndex> decideOnce(FixedPolicy decide, const Graph &graph,
                                       const Policy &policy) {
  if (policy.kind == PolicyKind::None && !policy.reshards)
    return givenOrder(graph);
  const Chain chain = findChain(graph, givenOrder(graph));
  Retention retention(graph);
  decide(graph, chain, policy, retention);
  if (policy.reshards)
    gatherAgain(graph, chain, retention);
  return realize(graph, chain, retention).steps;
}

/// Returns the steps in which each of `found` runs as the policy has it, and all else once.
static std::vector<OpIndex> decideEach(FixedPolicy decide, const Graph &graph, const Policy &policy,
                                       const MicroBatches &found) {
  const MicroBatchProblem one(graph, found);
  const Problem problem = one.problemOfTasks();
  const Graph graphOfOne(problem, graph.cancellation());
  Policy policyOfOne = policy;
  policyOfOne.selected = one.inOne(policy.selected);
  const std::vector<OpIndex> steps = decideOnce(decide, graphOfOne, policyOfOne);
  return one.forAllHolding(steps);
}

/// Adds the repeats of `steps` to those that stand before each op in program order: `repeats` has
/// one list for each op. Returns whether `steps` are the program with repeats in between.
static bool addRepeats(llvm::ArrayRef<OpIndex> steps, std::vector<std::vector<OpIndex>> &repeats) {
  OpIndex next = 0;
  for (OpIndex op : steps) {
    if (op == next)
      ++next;
    else if (op < next && next < static_cast<OpIndex>(repeats.size()))
      repeats[next].push_back(op);
    else
      return false;
  }
  return next == static_cast<OpIndex>(repeats.size());
}

/// Returns the steps where micro-batches are of several kinds, as in DualPipe, whose two directions
/// have other chunks, and in a V, whose last micro-batches run their gradients of weights in
/// another order. What is repeated for each kind is put into one program.
static std::vector<OpIndex> decideKinds(FixedPolicy decide, const Graph &graph,
                                        const Policy &policy, llvm::ArrayRef<MicroBatches> kinds) {
  std::vector<std::vector<OpIndex>> repeats(graph.numOps());
  for (const MicroBatches &kind : kinds)
    if (!addRepeats(decideEach(decide, graph, policy, kind), repeats))
      return {};
  std::vector<OpIndex> all;
  for (OpIndex op = 0; op < graph.numOps(); ++op) {
    llvm::append_range(all, repeats[op]);
    all.push_back(op);
  }
  return all;
}

std::vector<OpIndex> llmmem::planning::decideFixed(FixedPolicy decide, const Graph &graph,
                                                   const Policy &policy) {
  const std::vector<MicroBatches> kinds = findKindsOfMicroBatches(graph);
  std::vector<OpIndex> all;
  if (kinds.size() == 1)
    all = decideEach(decide, graph, policy, kinds.front());
  else if (!kinds.empty())
    all = decideKinds(decide, graph, policy, kinds);
  dropUselessRepeats(graph, all);
  return all.empty() ? decideOnce(decide, graph, policy) : all;
}
