//===- Selective.cpp - Recompute the results of chosen modules ------------------===//
//
// Korthikanti et al., "Reducing activation recomputation in large transformer models" (2022): core
// attention holds most bytes for the least work. Modules.h says which other modules there are.
//
//===----------------------------------------------------------------------===//

#include "FixedPolicies.h"
#include "ModuleValues.h"

using namespace llmmem::planning;

void llmmem::planning::recomputeSelected(const Graph &graph, const Chain &chain,
                                         const Policy &policy, Retention &retention) {
  const std::vector<bool> chosen = chosenBlocks(chain, policy);
  RecomputeOnce once(graph, chain, retention);
  const ModuleValues values(graph, chain);
  for (const ModuleEntry &module : moduleTable()) {
    const bool isDefault = policy.modules.empty() && module.rule == ModuleRule::CoreAttention;
    if (!isDefault && !llvm::is_contained(policy.modules, module.name))
      continue;
    for (ValueIndex value : values.of(module, policy.selected)) {
      const int32_t stage = chain.stageOf[graph.writer(value)];
      if (chosen[stage] || !chain.isBlock[stage])
        once.discard(value, stage, stage);
    }
  }
}
