//===- None.cpp - Keep everything ---------------------------------------------===//

#include "Policies.h"

using namespace llmmem::planning;

std::vector<OpIndex> llmmem::planning::keepEverything(const Graph &graph, const Policy &) {
  return givenOrder(graph);
}
