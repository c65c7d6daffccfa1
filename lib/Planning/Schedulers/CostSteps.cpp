//===- CostSteps.cpp - The least cost as a function of the bytes ---------------------===//

#include "CostSteps.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace llmmem::planning;

const CostStep *CostSteps::at(int64_t bytes) const {
  auto next = llvm::upper_bound(
      steps, bytes, [](int64_t value, const CostStep &step) { return value < step.bytes; });
  return next == steps.begin() ? nullptr : &*std::prev(next);
}

bool CostSteps::isLowered(llvm::ArrayRef<CostStep> other) const {
  size_t index = 0; // steps[index - 1] holds at the bytes of the other's step
  for (const CostStep &step : other) {
    while (index < steps.size() && steps[index].bytes <= step.bytes)
      ++index;
    if (index == 0 || step.cost < steps[index - 1].cost)
      return true;
  }
  return false;
}

void CostSteps::lower(llvm::ArrayRef<CostStep> other) {
  if (!isLowered(other))
    return;
  std::vector<CostStep> merged;
  merged.reserve(steps.size() + other.size());
  const CostStep *mine = steps.data(), *mineEnd = mine + steps.size();
  const CostStep *theirs = other.begin();
  while (mine != mineEnd || theirs != other.end()) {
    const bool isMine = theirs == other.end() || (mine != mineEnd && mine->bytes <= theirs->bytes);
    const CostStep &next = isMine ? *mine++ : *theirs++;
    if (!merged.empty() && merged.back().cost <= next.cost)
      continue;
    if (!merged.empty() && merged.back().bytes == next.bytes)
      merged.back() = next;
    else
      merged.push_back(next);
  }
  steps.swap(merged);
}
