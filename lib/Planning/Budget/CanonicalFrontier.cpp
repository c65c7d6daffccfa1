//===- CanonicalFrontier.cpp - Plans that do not hang on how a step is handed over -===//

#include "CanonicalFrontier.h"
#include "Structure/StepChain.h"

using namespace llmmem::planning;

/// The one that the chain was found in, where it was looked for in one.
static std::shared_ptr<const CanonicalProblem> canonicalOf(const Graph &original,
                                                           const Chain &outer) {
  if (outer.foundInCanonical)
    return {outer.foundInCanonical, &outer.foundInCanonical->canonical};
  return std::make_shared<const CanonicalProblem>(makeCanonical(original));
}

/// What was found, whatever the canonical order happens to need, since that is nobody's order.
static Chain chainOf(const Graph &graph, const Chain &outer) {
  std::optional<Chain> found =
      outer.foundInCanonical ? outer.foundInCanonical->chain : findStepChain(graph);
  return found && found->hasRepeats ? std::move(*found) : findChain(graph, givenOrder(graph));
}

CanonicalFrontier::CanonicalFrontier(const Graph &original, const BudgetSearch &outer,
                                     int64_t packWork)
    : canonical(canonicalOf(original, outer.mainChain())),
      graph(canonical->problem, original.cancellation()),
      search(graph, chainOf(graph, outer.mainChain()), outer.workInAll()),
      frontier(Frontier::ofCanonical(graph, search, packWork)) {
  search.reportTo(outer.listener());
}

NeedBound CanonicalFrontier::needBound() {
  NeedBound bound = frontier.needBound();
  if (bound.op >= 0)
    bound.op = canonical->opOf[bound.op];
  for (OpIndex &op : bound.basis.ops)
    op = canonical->opOf[op];
  for (ValueIndex &value : bound.beside)
    value = canonical->valueOf[value];
  return bound;
}

std::shared_ptr<const Plan>
CanonicalFrontier::restored(const std::shared_ptr<const Plan> &plan) const {
  if (!plan)
    return nullptr;
  auto other = std::make_shared<Plan>(*plan);
  canonical->restoreNumbers(*other);
  return other;
}
