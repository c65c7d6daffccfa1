//===- FrontierContext.cpp - What the parts of one frontier share -----------------===//

#include "FrontierContext.h"
#include "CanonicalFrontier.h"
#include <algorithm>
#include <numeric>

using namespace llmmem::planning;

/// Returns a divisor of every arena: the common divisor of all sizes where the alignment divides
/// it, else the common divisor of these two.
static int64_t commonUnit(const Graph &graph) {
  const Problem &problem = graph.problem();
  int64_t unit = 0, alignment = std::max<int64_t>(problem.alignment, 1);
  for (const Value &value : problem.values)
    if (!value.resident)
      unit = std::gcd(unit, value.bytes);
  for (const Op &op : problem.ops)
    unit = std::gcd(unit, op.workspace);
  if (unit % alignment != 0)
    unit = std::gcd(unit, alignment);
  return std::max<int64_t>(unit, 1);
}

BudgetGrid::BudgetGrid(const Graph &graph)
    : resident(graph.residentBytes()), unit(commonUnit(graph)) {}

FrontierContext::FrontierContext(const Graph &graph, BudgetSearch &search, int64_t packWork,
                                 Numbering numbering)
    : graph(graph), search(search), placer(graph, search, packWork), grid(graph),
      numbering(numbering) {}

FrontierContext::~FrontierContext() = default;

Candidates FrontierContext::under(int64_t capacity, bool deeply, int64_t &work) {
  if (!hasDeferred) {
    hasDeferred = true;
    deferred = search.deferred();
  }
  if (!deferred) {
    Candidates found = search.under(capacity, deeply);
    work += search.workOfLast();
    return found;
  }
  Candidates found = deferred->under(capacity, /*deeply=*/false);
  const int64_t known = found.empty() ? INT64_MAX : found.front().cost;
  for (Candidate &candidate : search.under(capacity, deeply, known))
    found.push_back(std::move(candidate));
  work += deferred->workOfLast() + search.workOfLast();
  llvm::stable_sort(found, isCheaper);
  return found;
}

const FootprintBound &FrontierContext::footprintBound() {
  if (!provedFootprint && hasNothingToChoose())
    provedFootprint = footprintOfOneOp(graph);
  if (!provedFootprint)
    provedFootprint = isOfGraph()
                          ? canonicalFrontier()->footprintBound()
                          : footprintOfEverySchedule(graph, search.leastMemory().front().steps);
  return *provedFootprint;
}

CanonicalFrontier *FrontierContext::canonicalFrontier() {
  if (!canonical && numbering == Numbering::AsGiven && !isAnnealed() && !search.microBatches() &&
      !tuning::isOff("canonical numbers"))
    canonical = std::make_unique<CanonicalFrontier>(graph, search, placer.packWork);
  return canonical.get();
}

CanonicalFrontier *FrontierContext::repeatingFrontier() {
  CanonicalFrontier *other = canonicalFrontier();
  return other && other->hasRepeats() ? other : nullptr;
}

/// Returns the canonical plan of the least memory. Where half of the step runs again, searches from
/// two orders or numberings end at different schedules.
PlacedPlan FrontierContext::canonicalLeast() {
  CanonicalFrontier *other = repeatingFrontier();
  return other ? other->least() : nullptr;
}

bool FrontierContext::isOfGraph() const {
  return numbering == Numbering::AsGiven && !search.microBatches() &&
         search.mainChain().isOfGraph && !tuning::isOff("canonical numbers");
}
