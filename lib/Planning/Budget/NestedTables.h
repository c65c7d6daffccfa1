//===- NestedTables.h - Tables of the recursion at fixed capacities ---------------===//
//
// The recursion over a chain (Schedulers/NestedProgram.h) is tabulated at capacities that depend on
// the chain alone, so that the answer at one budget does not depend on another. Smaller capacities
// have finer tables. A table is made when it is first needed.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_PLANNING_BUDGET_NESTEDTABLES_H
#define LLMMEM_LIB_PLANNING_BUDGET_NESTEDTABLES_H

#include "Schedulers/NestedProgram.h"
#include "SearchContext.h"

namespace llmmem::planning {

class NestedTables {
public:
  explicit NestedTables(SearchContext &context) : context(context) {}

  /// Says whether the chain is tabulated. Longer chains are not: the work is quadratic in the
  /// number of stages even where they are all equal.
  bool isOffered() const;
  /// Returns the number of the smallest table that is no smaller than `capacity`, else that of the
  /// last one.
  size_t numberFor(int64_t capacity);
  NestedProgram &table(size_t number);
  int64_t capacityOf(size_t number) const { return capacities[number]; }

private:
  SearchContext &context;
  std::vector<int64_t> capacities; // increasing
  std::vector<std::unique_ptr<NestedProgram>> tables;
};

} // namespace llmmem::planning

#endif // LLMMEM_LIB_PLANNING_BUDGET_NESTEDTABLES_H
