//===- CanonicalFrontier.cpp - Plans that do not depend on how a step is given ----===//

#include "CanonicalFrontier.h"
#include "Structure/StepChain.h"

using namespace llmmem::planning;

/// Returns the canonical problem in which the chain was found, where it was looked for in one.
static std::shared_ptr<const CanonicalProblem> canonicalOf(const Graph &original,
                                                           const Chain &outer) {
  if (outer.foundInCanonical)
    return {outer.foundInCanonical, &outer.foundInCanonical->canonical};
  return std::make_shared<const CanonicalProblem>(makeCanonical(original));
}

/// Returns the chain that was found, whatever footprint the canonical order happens to have, since
/// that order is never run.
static Chain chainOf(const Graph &graph, const Chain &outer) {
  std::optional<Chain> found =
      outer.foundInCanonical ? outer.foundInCanonical->chain : findStepChain(graph);
  return found && found->hasRepeats ? std::move(*found) : findChain(graph, givenOrder(graph));
}

CanonicalFrontier::CanonicalFrontier(const Graph &original, const BudgetSearch &outer,
                                     int64_t packWork)
    : canonical(canonicalOf(original, outer.mainChain())),
      graph(canonical->problem, original.cancellation()),
      search(graph, chainOf(graph, outer.mainChain()), outer.context().work),
      frontier(graph, search, packWork, Numbering::Canonical) {
  search.reportTo(outer.context().progress.target());
}

FootprintBound CanonicalFrontier::footprintBound() {
  FootprintBound bound = frontier.footprintBound();
  if (bound.op >= 0)
    bound.op = canonical->opOf[bound.op];
  for (OpIndex &op : bound.basis.ops)
    op = canonical->opOf[op];
  for (ValueIndex &value : bound.heldValues)
    value = canonical->valueOf[value];
  return bound;
}

PlacedPlan CanonicalFrontier::restored(const PlacedPlan &plan) const {
  if (!plan)
    return nullptr;
  auto other = std::make_shared<Plan>(*plan);
  canonical->restoreNumbers(*other);
  return other;
}
