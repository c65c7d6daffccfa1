//===- NestedTables.cpp - Tables of the recursion at fixed capacities -------------===//

#include "NestedTables.h"
#include "Tuning/Constants.h"
#include <algorithm>

using namespace llmmem::planning;

bool NestedTables::isOffered() const { return context.chain.numStages <= tuning::mostNestedStages; }

size_t NestedTables::numberFor(int64_t capacity) {
  if (capacities.empty()) {
    const int64_t low = context.graph.residentBytes(), flat = context.stageInputs().peak;
    for (int index = tuning::nestedTableHalvings; index >= 0; --index)
      capacities.push_back(low + (((flat - low) / 8 * 9) >> index));
    while (capacities.back() < context.ofChain().peak)
      capacities.push_back(capacities.back() + (capacities.back() - low) / 3 + 1);
    tables.resize(capacities.size());
  }
  const size_t number = llvm::lower_bound(capacities, capacity) - capacities.begin();
  return std::min(number, tables.size() - 1);
}

NestedProgram &NestedTables::table(size_t number) {
  if (!tables[number])
    tables[number] = std::make_unique<NestedProgram>(
        context.graph, context.chain, context.options(), capacities[number], tuning::nestedLevels);
  return *tables[number];
}
