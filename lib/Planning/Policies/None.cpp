//===- None.cpp - Keep everything ---------------------------------------------===//

#include "FixedPolicies.h"
#include "llmmem/Planning/Schedulers/Recompute.h"

using namespace llmmem::planning;

std::vector<OpIndex> llmmem::planning::keepEverything(const Graph &graph, const Policy &) {
  return givenOrder(graph);
}
