//===- EachMicroBatch.cpp - A fixed policy where several micro-batches run --------===//

#include "FixedPolicies.h"
#include "MicroBatches/MicroBatches.h"
#include "llmmem/Planning/Model/Schedule.h"

using namespace llmmem::planning;

std::vector<OpIndex> llmmem::planning::decideFixed(FixedPolicy decide, const Graph &graph,
                                                   const Policy &policy) {
  const std::optional<MicroBatches> found = findMicroBatches(graph);
  if (!found)
    return decide(graph, policy);
  const MicroBatchProblem one(graph, *found);
  const Problem problem = one.problemOfTasks();
  const Graph graphOfOne(problem, graph.cancellation());
  Policy policyOfOne = policy;
  policyOfOne.selected = one.inOne(policy.selected);
  const std::vector<OpIndex> steps = decide(graphOfOne, policyOfOne);
  std::vector<OpIndex> all = one.forAllHolding(steps);
  dropUselessRepeats(graph, all);
  return all.empty() ? decide(graph, policy) : all;
}
