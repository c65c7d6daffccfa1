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

std::vector<OpIndex> llmmem::planning::decideFixed(FixedPolicy decide, const Graph &graph,
                                                   const Policy &policy) {
  const std::optional<MicroBatches> found = findMicroBatches(graph);
  if (!found)
    return decideOnce(decide, graph, policy);
  const MicroBatchProblem one(graph, *found);
  const Problem problem = one.problemOfTasks();
  const Graph graphOfOne(problem, graph.cancellation());
  Policy policyOfOne = policy;
  policyOfOne.selected = one.inOne(policy.selected);
  const std::vector<OpIndex> steps = decideOnce(decide, graphOfOne, policyOfOne);
  std::vector<OpIndex> all = one.forAllHolding(steps);
  dropUselessRepeats(graph, all);
  return all.empty() ? decideOnce(decide, graph, policy) : all;
}
