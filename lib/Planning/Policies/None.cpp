//===- None.cpp - Keep everything ---------------------------------------------===//

#include "FixedPolicies.h"

using namespace llmmem::planning;

void llmmem::planning::keepEverything(const Graph &, const Chain &, const Policy &, Retention &) {}
