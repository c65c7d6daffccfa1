//===- FoundStructure.cpp - What plans of a problem are made along --------------===//

#include "llmmem/Planning/Model/FoundStructure.h"
#include "StepChain.h"

using namespace llmmem::planning;

FoundStructure llmmem::planning::findStructure(const Problem &problem) {
  const Chain chain = chooseChain(Graph(problem));
  FoundStructure found{chain.numStages, 0, 0, chain.hasRepeats};
  const bool isLabelled =
      llvm::any_of(problem.ops, [](const Op &op) { return op.block.has_value(); });
  if (!isLabelled && !found.repeats)
    return found; // cut where few bytes cross: no stage equals another
  found.numBlocks = chain.numBlocks();
  std::vector<int32_t> ops(chain.numStages, 0);
  for (int32_t stage : chain.stageOf)
    if (stage >= 0)
      ++ops[stage];
  for (int32_t stage = 0; stage < chain.numStages; ++stage)
    if (chain.isBlock[stage])
      found.opsOfBlock = std::max(found.opsOfBlock, ops[stage]);
  return found;
}

std::string llmmem::planning::structureText(const FoundStructure &structure) {
  auto counted = [](int32_t count, const char *what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
  };
  const std::string stages = counted(structure.numStages, "stage");
  if (structure.numBlocks == 0)
    return "no blocks, " + stages;
  return counted(structure.numBlocks, structure.repeats ? "equal block" : "block") + " of " +
         counted(structure.opsOfBlock, "op") + ", " + stages;
}
