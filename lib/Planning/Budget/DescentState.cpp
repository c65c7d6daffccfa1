//===- DescentState.cpp - The best plan on the way to the least memory ------------===//

#include "DescentState.h"

using namespace llmmem::planning;

bool DescentState::isWorthPlacing(const Candidate &candidate) const {
  return candidate.steps.size() <= tuning::manyStepsToPlace ||
         footprint() - candidate.peak > tolerance() ||
         plan->cost - candidate.cost > shared.graph.baseCost() >> tuning::finestDescentShift;
}

bool DescentState::mayBeOfUse(const Candidate &candidate) const {
  const int64_t least = shared.placer.leastFootprintOf(candidate);
  return least + ((least - shared.graph.residentBytes()) >> tuning::finestDescentShift) < enough;
}

bool DescentState::isBetter(const Plan &other) const {
  return std::pair(shared.placer.footprintOf(other), other.cost) <
         std::pair(footprint(), plan->cost);
}
