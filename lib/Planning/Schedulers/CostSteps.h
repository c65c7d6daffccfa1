//===- CostSteps.h - The least cost as a function of the bytes -----------------------===//
//
// A function that falls in steps: with at least so many bytes a cost can be reached. It is held as
// the list of its steps, so bytes are exact and no table has levels. Each step remembers the
// decision that leads to it.
//
// Example: {(3, 10), (5, 7)} costs 10 with 3 or 4 bytes and 7 with 5 or more.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_SCHEDULERS_COSTSTEPS_H
#define LLMMEM_LIB_PLANNING_SCHEDULERS_COSTSTEPS_H

#include "llvm/ADT/ArrayRef.h"
#include <algorithm>
#include <cstdint>
#include <vector>

namespace llmmem::planning {

struct CostStep {
  int64_t bytes, cost;
  uint32_t decision;
};

class CostSteps {
public:
  CostSteps() = default;
  /// A function of one step.
  CostSteps(int64_t bytes, int64_t cost) : steps{{bytes, cost, 0}} {}

  llvm::ArrayRef<CostStep> all() const { return steps; }
  bool isEmpty() const { return steps.empty(); }
  /// Returns the step that holds at `bytes`, or null where there is none.
  const CostStep *at(int64_t bytes) const;
  /// Takes the lower of both functions everywhere. `other` falls in steps, too.
  void lower(llvm::ArrayRef<CostStep> other);
  /// Keeps the first `most` steps.
  void truncate(size_t most) { steps.resize(std::min(most, steps.size())); }

private:
  bool isLowered(llvm::ArrayRef<CostStep> other) const;
  std::vector<CostStep> steps; // bytes increase, costs decrease
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_SCHEDULERS_COSTSTEPS_H
