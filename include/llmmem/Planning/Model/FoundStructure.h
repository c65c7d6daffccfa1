//===- FoundStructure.h - The structure along which the planner plans ------------===//
//
// Example: the step of GPT-2 124M, without labels: 12 equal blocks in 14 stages, the other two
// being what comes before and after the blocks.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_MODEL_FOUNDSTRUCTURE_H
#define LLMMEM_PLANNING_MODEL_FOUNDSTRUCTURE_H

#include "llmmem/Planning/Model/Problem.h"

namespace llmmem::planning {

struct FoundStructure {
  int32_t numStages = 0;  // 1: the forward is not cut, or there is none
  int32_t numBlocks = 0;  // stages that are labelled, or repeat each other
  int32_t opsOfBlock = 0; // ops of the forward in the largest block
  bool repeats = false;   // the blocks are repeats of equal ops
};

/// Returns the structure of the chain of stages that the planner uses for a valid `problem`. It
/// follows the labels of the problem or, without labels, the repeats in its graph.
LLMMEM_EXPORT FoundStructure findStructure(const Problem &problem);

/// Describes the structure for people: "12 equal blocks of 61 ops, 14 stages".
LLMMEM_EXPORT std::string structureText(const FoundStructure &structure);

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_MODEL_FOUNDSTRUCTURE_H
